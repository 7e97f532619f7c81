"""Names and values that MLflow accepts, and the search condition that finds a tag."""

from __future__ import annotations

import json
import posixpath
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from omegaconf import DictConfig, OmegaConf

from ragsweep.core.csv_files import MOST_METRICS, TAKEN, TEXT_COLUMNS
from ragsweep.core.digest import digest, shortened_with_digest
from ragsweep.core.errors import ConfigError, TrackingError
from ragsweep.core.style import is_number

RUN_ID = re.compile("[0-9a-f]{32}")
LONGEST_MLFLOW_NAME = 250  # characters of a run's name, and of the name of a param, metric or tag
LONGEST_PARAM_VALUE = 6000
LONGEST_TAG_VALUE = 8000
LONGEST_EXPERIMENT_NAME = 500
LONGEST_METRIC_NAME = 150  # leaves room for a query type beside it, in `by_type/TYPE/METRIC`
SWEPT_GROUP = "swept/"  # swept numbers, which are not measured: MLflow sorts metrics as numbers, params as texts
# Groups of metrics that runs log
METRIC_GROUPS = (*"at_k/ by_repeat/ by_type/ ci/ context/ coverage/ index/ latency/".split(), SWEPT_GROUP)
STEPPED = ("at_k/", "by_repeat/")  # metrics with several values: a step per cutoff, or per repeat
NOT_COLUMNS = (*STEPPED, SWEPT_GROUP)  # metrics without one measured value of their own
BRIEF_TEXT = 36  # characters of each text in a tag of JSON that would be too long: room for a run id
REFUSED = re.compile(r"[^/\w.\- :]")


def check_names(config: DictConfig, metrics: Sequence[str], measures: Sequence[str] = ()) -> None:
    """Refuse names that MLflow would refuse at the first run, or that would stand for two things.

    They are those of the dataset and the experiment, of metrics, and of further measures, such as costs.

    Raises:
        ConfigError: For the first of them.
    """
    for setting in ("dataset.name", "tracking.experiment"):  # the one may be the name of the other
        name = OmegaConf.select(config, setting)
        if isinstance(name, str) and not (
            name.isprintable() and name == name.strip() and name[LONGEST_EXPERIMENT_NAME:] == ""
        ):
            expected = f"one line of at most {LONGEST_EXPERIMENT_NAME} characters, with no space around it"
            raise ConfigError(f"{setting}: found {_brief(name)}, expected {expected}")
    if len(metrics) > MOST_METRICS:
        raise ConfigError(f"evaluation.metrics: found {len(metrics)} metrics, expected at most {MOST_METRICS}")
    for place, name in [("evaluation.metrics", name) for name in metrics] + [("task", name) for name in measures]:
        if REFUSED.search(name) or not _is_normal(name) or len(name) > LONGEST_METRIC_NAME:
            expected = f"at most {LONGEST_METRIC_NAME} letters, digits, spaces and _ - . : /, as in a relative path"
            raise ConfigError(f"{place}: found the name {_brief(name)}, expected {expected}")
        groups = METRIC_GROUPS if name in metrics else SWEPT_GROUP
        if name in (*TEXT_COLUMNS, *TAKEN) or name.startswith(groups):
            raise ConfigError(f"{place}: found the name {name!r}, which every run gives to something else")
        if [*metrics, *measures].count(name) > 1:
            raise ConfigError(f"{place}: found the name {name!r} twice")


def _brief(name: str) -> str:
    return repr(shortened_with_digest(name, 80))


def _is_normal(name: str) -> bool:
    """Whether a name stays the same where it is read as a path: MLflow keeps some stores in files."""
    return bool(name) and posixpath.normpath(name) == name and not name.startswith((".", "/"))


def type_names(query_types: Iterable[str], metric: str) -> dict[str, str]:
    """The names by which query types stand in `by_type/TYPE/METRIC`."""
    longest = LONGEST_MLFLOW_NAME - len(f"by_type//{metric}")
    return _distinct(query_types, lambda kind: re.sub(r"[^\w \-]", "_", kind) or "_", longest)


def params_of(settings: Mapping[str, Any]) -> dict[str, str]:
    """Settings as MLflow takes them: a name or value that is too long ends in a digest of the whole."""
    return _stored(settings, LONGEST_PARAM_VALUE)


def tags_of(tags: Mapping[str, str]) -> dict[str, str]:
    """Tags as MLflow takes them."""
    return _stored(tags, LONGEST_TAG_VALUE)


def _stored(values: Mapping[str, Any], longest: int) -> dict[str, str]:
    names = _distinct(values, _plain, LONGEST_MLFLOW_NAME)
    return {names[name]: shortened_with_digest(_storable(str(value)), longest) for name, value in values.items()}


def swept_metrics(swept: Mapping[str, Any]) -> dict[tuple[str, int], float]:
    """The numbers among the swept values as metrics, by name and step."""
    numbers = {f"{SWEPT_GROUP}{name}": float(value) for name, value in swept.items() if is_number(value)}
    names = _distinct(numbers, _plain, LONGEST_MLFLOW_NAME)
    return {(names[name], 0): value for name, value in numbers.items()}


def json_tag(value: Mapping[str, Any]) -> str:
    """An object as JSON that fits into a tag: where it would not, its texts are shortened."""
    text = _storable(json.dumps(value, ensure_ascii=False))
    return text if len(text) <= LONGEST_TAG_VALUE else _storable(json.dumps(_brief_texts(value), ensure_ascii=False))


def tagged(tag: str, value: object) -> str:
    """The search condition that a tag of ours has this value: an id, a digest or a number.

    It may come from a store or a journal, so it must not add conditions.

    Raises:
        TrackingError: The value is something else.
    """
    if not re.fullmatch(r"[0-9A-Za-z_-]{1,100}", str(value)):
        raise TrackingError(f"found {str(value)[:40]!r}, expected an id: only letters and digits")
    return f"tags.`{tag}` = '{value}'"


def _brief_texts(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _brief_texts(inner) for name, inner in value.items()}
    return shortened_with_digest(value, BRIEF_TEXT) if isinstance(value, str) else value


def _plain(name: str) -> str:
    plain = REFUSED.sub("_", name)
    return plain if _is_normal(plain) else re.sub(r"[/.]", "_", plain) or "_"


def _storable(text: str) -> str:
    """The text without what no database takes: NUL, and halves of characters."""
    return text.replace("\0", "\\0").encode("utf-8", "backslashreplace").decode()


def _distinct(texts: Iterable[str], plain: Callable[[str], str], most: int) -> dict[str, str]:
    """A name for every text: the plain one, or with a digest where several share that or it is too long."""
    names = {text: plain(text) for text in texts}
    taken = Counter(names.values())
    for text, name in names.items():
        if taken[name] > 1 or len(name) > most:
            longer = (f"{name[: most - 65]}-{digest(text)[:digits]}" for digits in range(8, 64))
            names[text] = next(candidate for candidate in longer if candidate not in taken)
    return names
