"""What must hold of every class that a configuration composes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest

from ragsweep.config.annotations import signature_of
from ragsweep.store.stage_store import Store


class ComponentContract:
    """What must hold of every component.

    Attributes:
        component: Your class.
        settings: What it is built with. A parameter `store` need not be among them.
    """

    component: ClassVar[Callable[..., Any]]
    settings: ClassVar[Mapping[str, Any]] = {}

    @pytest.fixture
    def store(self, tmp_path: Path) -> Store:
        """An empty store."""
        return Store(str(tmp_path / "store"))

    @pytest.fixture
    def made(self, store: Store) -> Any:
        """The component, with an empty store if it takes one."""
        return self.make(store)

    def make(self, store: Store, **settings: Any) -> Any:
        """Build the component with a store, and with settings in place of the class's own."""
        if "component" not in {*dir(type(self))}:
            pytest.fail(f"{type(self).__name__} does not name the class to test: set `component`", pytrace=False)
        kept = {"store": store} if "store" in inspect.signature(self.component).parameters else {}
        return self.component(**{**kept, **self.settings, **settings})

    def test_every_setting_has_an_annotation(self) -> None:
        """A wrong value is refused by it before anything runs."""
        parameters = signature_of(self.component).parameters
        assert [name for name, each in parameters.items() if each.hint is None] == []
