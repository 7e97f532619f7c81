"""What a component says of itself, with the base and without it."""

from typing import ClassVar

import pytest

from ragsweep.store.component import Component, declared


class Apart:
    libraries: ClassVar = ("numpy",)

    @property
    def fingerprint(self):
        return self.absent


def test_a_class_without_the_base_has_its_defaults():
    assert declared(Apart(), "libraries") == ("numpy",)
    assert declared(Apart(), "without_effect") == Component().without_effect == ()


def test_what_a_property_raises_is_not_taken_for_a_default():
    with pytest.raises(AttributeError, match="absent"):
        declared(Apart(), "fingerprint")
