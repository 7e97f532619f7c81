"""What a record has that counts only if the user names it: paths elsewhere, other models, servers, keys, own data."""

from __future__ import annotations

from ragsweep.core.errors import ConfigError

MOST_NAMED = 10  # settings in a message
OUTSIDE = "outside the project"


class ToBeNamed:
    """The settings of a record that the user has to name."""

    def __init__(self) -> None:
        self.found: dict[str, tuple[str, str, str]] = {}  # by name: the value, why it does not count, what to give

    def note(self, name: str, value: str, reason: str, stand_in: str) -> None:
        """Add a setting; a noted one keeps its reason."""
        self.found.setdefault(name, (value, reason, stand_in))

    def refuse(self) -> None:
        """Raise `ConfigError` that names all settings, each by its shortest name."""
        is_part = {name: any(name.endswith(f".{other}") for other in self.found) for name in self.found}
        settings = [(name, *found) for name, found in self.found.items() if not is_part[name]][:MOST_NAMED]
        if not settings:
            return
        parts = []
        for reason in dict.fromkeys(why for _, _, why, _ in settings):
            those = ", ".join(f"{name}: found {value!r}" for name, value, why, _ in settings if why == reason)
            parts.append(f"{those}, {reason}" if reason == OUTSIDE else f"{those}; {reason}")
        given = " ".join(f"{name}={stand_in}" for name, _, _, stand_in in settings)
        one = len(settings) == 1
        if {why for _, _, why, _ in settings} == {OUTSIDE}:
            raise ConfigError(f"{parts[0]}; say where {'it is' if one else 'they are'} here: {given}")
        raise ConfigError(f"{'; '.join(parts)}: allow {'it' if one else 'them'} by {given}")
