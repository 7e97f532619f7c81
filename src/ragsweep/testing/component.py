"""Tests of every class that a configuration composes, and the corpus on which contracts run."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest

from ragsweep.config.annotations import signature_of
from ragsweep.retrieval import Search
from ragsweep.store.stage_store import Store

SEARCH = Search(
    passages=(
        "Anaemia in pregnancy is a haemoglobin below 11 g/dl; below 7 g/dl it is severe.",
        "Iron and folic acid tablets are taken daily from the second trimester, not with tea.",
        "A child with fast breathing and chest indrawing has pneumonia and is referred at once.",
        "Oral rehydration salts are given after each loose stool; zinc for fourteen days.",
        "Measure blood pressure at every visit: 140/90 or more needs a second reading.",
        "Vaccines are kept between 2 and 8 degrees; a frozen vial is shaken and discarded.",
        "Iron and folic acid tablets are taken daily from the second trimester, not with tea.",
        "Exclusive breastfeeding for six months; nothing else, not even water.",
        "À 38,5 °C, on donne du paracétamol : 15 mg/kg.",
        "Malaria is found with a rapid test. Treat at once and give the whole course.",
        "—",
        "Dengue makes the platelets fall. Watch for bleeding and belly pain.",
    ),
    queries=(
        "When are iron tablets taken?",
        "Which test finds malaria?",
        "paracétamol 38,5 °C",
        "???",
        "A woman is pale and tired: what is her haemoglobin?",
        "When are iron tablets taken?",
    ),
)


class ComponentContract:
    """Tests of every component.

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
        parameters = signature_of(self.component).parameters
        assert [name for name, setting in parameters.items() if setting.hint is None] == []
