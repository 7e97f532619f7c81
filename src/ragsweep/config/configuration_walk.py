"""One walk over a configuration: checks every setting that is used, builds the objects, and records what was used.

What refers to a group or setting as a whole, as `encoder: ${encoder}` does, is built once, and its settings have the
names under which they are written: `encoder.device`, whoever uses the encoder.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pkgutil import resolve_name
from typing import Any, get_origin

from omegaconf import DictConfig, ListConfig, OmegaConf, open_dict
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError

from ragsweep.config.annotations import (
    REQUIRED,
    Parameter,
    as_configured,
    inner_hint,
    is_component,
    nearest,
    optional,
    settings_class,
    signature_of,
)
from ragsweep.config.used_settings import Node, Used
from ragsweep.core.errors import ConfigError, RagsweepError, Terminated, first_line
from ragsweep.core.project import option_file, options_of
from ragsweep.store.stage_store import Store

TARGET, PARTIAL = "_target_", "_partial_"
HYDRA_KEYS = (TARGET, PARTIAL, "_convert_")
STORE = "ragsweep.store.stage_store.Store"
WHOLE = re.compile(r"\$\{(\w+)\}")  # a reference to a group, or to a setting that is in none
MENTIONED = re.compile(r"\$\{(\w+)[.}]")


class Walk:
    """Builds parts of a configuration, each once. Names of options are replaced by their settings in it.

    Attributes:
        nodes: What was built, by path.
        mentioned: The groups and settings that were used, or that a used setting is made of.
    """

    def __init__(self, config: DictConfig, store: Store | None = None) -> None:
        """Begin a walk; a store replaces every one that the configuration describes."""
        self.config, self.store = config, store
        self.nodes: dict[str, Node] = {}
        self.mentioned: set[str] = set()
        self._open: set[str] = set()

    def build(self, name: str, kind: Callable[..., Any] | None = None) -> Any:
        """Build a group, and whatever it refers to; `kind` is the class of its settings, if it has no `_target_`.

        Raises:
            ConfigError: For the first setting that is missing, unknown or invalid, by its path.
        """
        return self._at(self.config, "", name, kind).value

    @property
    def settings(self) -> dict[str, Any]:
        """The settings that the task uses, flat, by the paths where they are written."""
        return {path: value for path, value in self.settings_of("task").items() if path != "task"}

    def settings_of(self, name: str) -> dict[str, Any]:
        """The settings that a group uses, its own classes among them."""
        settings: dict[str, Any] = {}
        for used in self._used(name).walk():
            settings |= used.settings
        return dict(sorted(settings.items()))

    @property
    def parts(self) -> dict[str, object]:
        """The components that the task uses, by the paths where they are written."""
        used = (used for used in self._used("task").walk() if used.node.has_parts)
        return {node.path: part for node, part, _ in used if not isinstance(node.value, list)}

    def identity(self, without: Collection[str] = ()) -> object:
        """What decides the results of the task besides its data: the code, settings and libraries of all it uses.

        The abilities of the CPU are no part of it, or resuming a sweep on a mixed cluster would measure everything
        again.

        Args:
            without: Settings of the task that do not count.
        """
        return self._used("task", without).identity()

    def _used(self, name: str, without: Collection[str] = ()) -> Used:
        return Used.of(self.nodes[name], self.nodes[name].value, without)

    def _at(self, parent: Any, place: str, key: Any, hint: Any) -> Node:
        """The node of a key in a mapping or list; `hint` is the annotation of what takes it."""
        path = f"{place}.{key}" if place else str(key)
        if not isinstance(key, int | str) or (isinstance(parent, DictConfig) and not isinstance(key, str)):
            raise ConfigError(f"{path}: found {key!r} as a name, expected a string; put it in quotes")
        self.mentioned.add(path.partition(".")[0])
        if path in self.nodes:
            return self.nodes[path]
        if path in self._open:
            raise ConfigError(f"{path}: refers to itself")
        self._open.add(path)
        node = self._shared(parent, path, key, hint) or self._own(parent, path, key, hint)
        self._open.discard(path)
        self.nodes[node.path] = node
        return node

    def _shared(self, parent: Any, path: str, key: Any, hint: Any) -> Node | None:
        """The node of the group or setting that stands here by reference; None where none does."""
        if not OmegaConf.is_interpolation(parent, key):
            return None
        container: Any = OmegaConf.to_container(parent, resolve=False)
        self.mentioned.update(MENTIONED.findall(str(container[key])))
        if (reference := WHOLE.fullmatch(str(container[key]))) is None:
            return None
        name = reference[1]
        if name not in self.config:
            if options := options_of(name):
                raise ConfigError(f"{name}: nothing is chosen; expected one of {', '.join(options)}")
            raise ConfigError(f"{name}: no value; set it with +{name}=VALUE, as {path} refers to it")
        return self._at(self.config, "", name, hint)

    def _own(self, parent: Any, path: str, key: Any, hint: Any) -> Node:
        """The node of what is written here."""
        value = _value(parent, key, path)
        if isinstance(value, str) and is_component(optional(hint)) and options_of(str(key)):
            value = self._option(parent, path, key, value)
            if isinstance(value, DictConfig) and value == self.config.get(key) and path != key:
                parent[key] = f"${{{key}}}"
                return self._at(self.config, "", key, hint)
        if isinstance(value, DictConfig):
            return self._mapping(path, value, hint)
        if isinstance(value, ListConfig):
            children = {str(number): self._at(value, path, number, inner_hint(hint)) for number in range(len(value))}
            return Node(path, "", [child.value for child in children.values()], children)
        return Node(path, "", value)

    def _option(self, parent: Any, path: str, key: Any, name: str) -> Any:
        """Put the settings of an option where a component is given by its name: `reranker.encoder=minilm`."""
        file = option_file(key, name)
        if file is None:
            about = "or a component: _target_ and its arguments"
            raise ConfigError(f"{path}: found {name!r}, expected one of {', '.join(options_of(key))}, {about}")
        try:
            content: Any = OmegaConf.load(file)
        except (OSError, ValueError, YAMLError, OmegaConfBaseException) as error:
            raise ConfigError(f"{file}: {first_line(error)}") from error
        if "defaults" in content:
            raise ConfigError(f"{path}: {key}={name} is composed of other options, so its name cannot stand here")
        with open_dict(parent):
            parent[key] = content if TARGET in content else content.get(key)  # null in an option such as `none`
        return parent[key]

    def _mapping(self, path: str, node: DictConfig, hint: Any) -> Node:
        target, name = settings_class(hint), node.get(TARGET, "")
        if not isinstance(name, str):
            raise ConfigError(f"{path}.{TARGET}: found {as_configured(name)}, expected the name of a class or function")
        if self.store is not None and name == STORE:
            return Node(path, name, self.store)
        if TARGET in node:
            with _blamed(path, name):
                target = resolve_name(name)
        if target is None:
            children = {str(key): self._at(node, path, key, inner_hint(hint)) for key in node}
            return Node(path, "", {key: child.value for key, child in children.items()}, children)
        children = self._arguments(path, node, target)
        values = {key: child.value for key, child in children.items()}
        if node.get(PARTIAL) is True:
            return Node(path, name, partial(target, **values), children)
        with _blamed(path, name or target.__qualname__):
            return Node(path, name, target(**values), children)

    def _arguments(self, path: str, node: DictConfig, target: Any) -> dict[str, Node]:
        """The arguments of a component, plain ones checked before any other is built."""
        parameters, takes_others = signature_of(target)
        keys = [key for key in node if key not in HYDRA_KEYS]
        for given in map(str, keys):
            if given not in parameters and not takes_others:
                near = nearest(f"{path}.{given}", [f"{path}.{name}" for name in parameters])
                raise ConfigError(f"{path}.{given}: no such setting{near}")
        written: Any = OmegaConf.to_container(node, resolve=False)
        children: dict[str, Node] = {}
        for key in sorted(keys, key=lambda key: isinstance(written[key], dict | list) or "${" in str(written[key])):
            parameter = parameters.get(str(key), Parameter(None, REQUIRED))
            child = self._at(node, path, key, parameter.hint)
            _check(child, parameter)
            children[str(key)] = child
        if node.get(PARTIAL) is not True:
            for name, needed in parameters.items():
                if needed.default is REQUIRED and name not in keys:
                    raise ConfigError(f"{path}.{name}: no value; set it with +{path}.{name}=VALUE")
        return {str(key): children[str(key)] for key in keys}


def _value(parent: Any, key: Any, path: str) -> Any:
    """A value with its references filled in."""
    try:
        return parent[key]
    except Exception as error:  # also of a resolver
        if missing := re.search(r"[Mm]issing mandatory value: (\S+)", str(error)):
            raise ConfigError(f"{missing[1]}: no value; set it with {missing[1]}=VALUE") from error
        raise ConfigError(f"{path}: {first_line(error)}") from error


def _check(child: Node, parameter: Parameter) -> None:
    """Raise `ConfigError` unless the annotation of a parameter accepts what is there, and all within it."""
    if words := parameter.expected(child.value):
        hint = inner_hint(parameter.hint)
        is_mapping = get_origin(optional(parameter.hint)) in (Mapping, dict)
        if hint is not None and isinstance(child.value, dict if is_mapping else list):  # an item may be what is wrong
            for inner in child.children.values():
                _check(inner, Parameter(hint, REQUIRED))
        raise ConfigError(f"{child.path}: found {as_configured(child.value)}, expected {words}")


@contextmanager
def _blamed(path: str, name: str) -> Iterator[None]:
    """Raise `ConfigError` for whatever the code of a class or function raises, which may be a user's."""
    try:
        yield
    except (RagsweepError, Terminated):
        raise
    except SystemExit as error:  # a user's code must not end a run as if it had succeeded
        raise ConfigError(f"{path}: {name} called sys.exit({error.code})") from error
    except Exception as error:
        close: list[str] = []
        if isinstance(error, AttributeError):
            close = difflib.get_close_matches(error.name or "", dir(error.obj), n=1)
        reason = "; did you mean ".join([f"{type(error).__name__}: {' '.join(str(error).split())}", *close])
        raise ConfigError(f"{path}: {name} cannot be built ({reason})") from error


def built(name: str, node: Any, store: Store | None = None) -> Any:
    """Check and build a component that stands alone; a store takes the place of every one in it."""
    alone = {name: node} if store is None else {"store": {TARGET: STORE}, name: node}
    return Walk(OmegaConf.create(alone), store).build(name)


def filled_in(value: Any) -> Any:
    """A value of a configuration as plain mappings, lists and values, with all references filled in."""
    return OmegaConf.to_container(value, resolve=True) if OmegaConf.is_config(value) else value


def as_recorded(config: DictConfig) -> dict[str, Any]:
    """A configuration with all references filled in, but for those to whole groups, as plain values."""
    written: Any = OmegaConf.to_container(config, resolve=False)

    def recorded(parent: Any, key: Any, value: Any) -> Any:
        if isinstance(value, str) and "${" in value:
            reference = WHOLE.fullmatch(value)
            return value if reference and reference[1] in written else filled_in(parent[key])
        if isinstance(value, dict):
            return {name: recorded(parent[key], name, inner) for name, inner in value.items()}
        if isinstance(value, list):
            return [recorded(parent[key], number, inner) for number, inner in enumerate(value)]
        return value

    return {name: recorded(config, name, value) for name, value in written.items()}
