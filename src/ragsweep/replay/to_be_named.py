"""What a record has that counts only if the user names it: paths elsewhere, other models, servers, keys, own data."""

from __future__ import annotations

from dataclasses import dataclass, field

from ragsweep.core.errors import ConfigError

MOST_NAMED = 10  # settings in a message
OUTSIDE = "outside the project"


@dataclass(frozen=True)
class ToBeNamed:
    """The settings of a record that the user has to name.

    Attributes:
        found: What the record has, by the name of the setting.
        reasons: Why it does not count.
        stand_ins: What the user gives in its place.
    """

    found: dict[str, str] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    stand_ins: dict[str, str] = field(default_factory=dict)

    def note(self, name: str, value: str, reason: str, stand_in: str) -> None:
        """Add a setting; a noted one keeps its reason."""
        self.found.setdefault(name, value)
        self.reasons.setdefault(name, reason)
        self.stand_ins.setdefault(name, stand_in)

    def refuse(self) -> None:
        """Raise `ConfigError` that names all settings, each by its shortest name."""
        found = self.found
        names = [name for name in found if not any(name.endswith(f".{other}") for other in found)][:MOST_NAMED]
        if not names:
            return
        parts = []
        for reason in dict.fromkeys(self.reasons[name] for name in names):
            those = ", ".join(f"{name}: found {found[name]!r}" for name in names if self.reasons[name] == reason)
            parts.append(f"{those}, {reason}" if reason == OUTSIDE else f"{those}; {reason}")
        given = " ".join(f"{name}={self.stand_ins[name]}" for name in names)
        one = len(names) == 1
        if {self.reasons[name] for name in names} == {OUTSIDE}:
            raise ConfigError(f"{parts[0]}; say where {'it is' if one else 'they are'} here: {given}")
        raise ConfigError(f"{'; '.join(parts)}: allow {'it' if one else 'them'} by {given}")
