"""The retriever that runs already as a search service over HTTP."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import jmespath
from jmespath.exceptions import JMESPathError

from ragsweep.core.errors import ConfigError, RetrieverError, first_line
from ragsweep.core.limits import Address, Header, KeyName, Text
from ragsweep.core.terminal import some_of
from ragsweep.models.language.endpoint_access import access_of, check_access, check_headers
from ragsweep.models.language.likely_keys import likely_key, texts_in
from ragsweep_engines.systems.asking import PassingError
from ragsweep_engines.systems.reading import check_path, listing
from ragsweep_engines.systems.running_retriever import RunningRetriever
from ragsweep_engines.systems.search_service import SearchService, connections

GROUP = "retriever"
QUERY, NUMBER = "{query}", "{k}"
BODY = {"query": QUERY, "k": NUMBER}
FAILED = ("error", "fail", "failed", "failure")  # values of a field `status`
# Fields that are true if results are missing, have such fields, or are not 100 percent: of Elasticsearch, Solr,
# Meilisearch and Vespa, Typesense, and Azure AI Search.
INCOMPLETE = {
    "timed_out": (),
    "is_partial": (),
    "_shards": ("failed",),
    "_clusters": ("skipped", "partial", "failed"),
    "partialResults": (),
    "degraded": ("timeout", "adaptive-timeout", "non-ideal-state"),
    "search_cutoff": (),
    "@search.semanticPartialResponseReason": (),
    "@search.coverage": (),
}


@dataclass(frozen=True)
class HttpRetriever(RunningRetriever):
    """A search service: one request a query, answered with JSON that has a list of results.

    Attributes:
        url: Its address, without user, password and parameters.
        verb: GET sends the fields of `body` as parameters of the address, POST as JSON.
        parameters: Further parameters of the address, such as `api-version`.
        body: The fields of a request. Texts in it, and in `parameters`, may have `{query}` and `{k}` in them; a text
            that is `{k}` becomes the number. Empty, it is `query` and `k`.
        hits: Where the list of results is in an answer, as a JMESPath; None finds it by the usual names.
        api_key_env: Name of the variable that holds the key, in the environment or in `.env` of the project folder. It
            is sent as `Authorization: Bearer`. None sends none.
        headers: Further headers. Others ask all queries anew.
        headers_env: Names of the variables that hold further headers, by the header, such as `api-key`.
    """

    without_effect: ClassVar[tuple[str, ...]] = (*RunningRetriever.without_effect, "api_key_env", "headers_env")

    url: Address
    verb: Literal["GET", "POST"] = "POST"
    parameters: Mapping[str, Any] = field(default_factory=dict)
    body: Mapping[str, Any] = field(default_factory=dict)
    hits: Text | None = None
    api_key_env: KeyName | None = None
    headers: Mapping[str, Header] = field(default_factory=dict)
    headers_env: Mapping[str, KeyName] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_path("hits", self.hits)
        if not self.body:  # what is used is what is logged
            object.__setattr__(self, "body", BODY)
        fields = {"parameters": self.parameters, "body": self.body}
        texts = {name: "\n".join(texts_in(value)) for name, value in fields.items()}
        if not any(QUERY in each for each in texts.values()):
            raise ConfigError(f"{GROUP}.body: no text in it has {QUERY}, so that all queries would ask the same")
        for name, value in fields.items():
            if secret := likely_key(value):
                raise ConfigError(
                    f"{GROUP}.{name}: {secret} may be a key, and every run records it; send keys as headers, by "
                    "headers_env"
                )
        for name, value in self._in_address.items():
            if isinstance(value, Mapping):
                raise ConfigError(f"{GROUP}.body: {name} has fields of its own, which no address has; use verb=POST")
        variables = {"api_key_env": self.api_key_env} if self.api_key_env else {}
        variables |= {f"headers_env.{name}": value for name, value in self.headers_env.items()}
        texts |= {f"headers.{name}": value for name, value in self.headers.items()}
        if "?" in self.url:  # not repeated, as it may have a key
            raise ConfigError(
                f"{GROUP}.url: expected an address without ?; its parameters are +{GROUP}.parameters.NAME=VALUE, and a "
                "key is sent as a header, by headers_env"
            )
        check_access(self.url, variables, texts, GROUP, setting="url")
        for name in ("headers", "headers_env"):
            check_headers(getattr(self, name), f"{GROUP}.{name}", named=name == "headers_env")

    @property
    def _in_address(self) -> Mapping[str, Any]:
        return {**self.parameters, **self.body} if self.verb == "GET" else self.parameters

    @property
    def _name(self) -> str:
        return self.url

    @property
    def _asked_with(self) -> Sequence[object]:
        return ["http", self.url, self.verb, self.parameters, self.body, self.hits, self.headers]

    @contextmanager
    def _opened(self) -> Iterator[Callable[[str], Any]]:
        with connections(self.at_once) as session:

            def ask(query: str) -> Any:
                access = access_of(self.api_key_env, self.headers, self.headers_env, GROUP)
                service = SearchService(self.verb, self.url, access, self.timeout_s, session)
                parameters = {
                    name: in_address(filled(each, query, self.depth)) for name, each in self._in_address.items()
                }
                body = filled(self.body, query, self.depth) if self.verb == "POST" else None
                answer = service.answer(parameters, body)
                if isinstance(answer, dict):
                    _check(answer, service)
                return self._listed(answer, service)

            yield ask

    def _listed(self, answer: Any, service: SearchService) -> list[Any]:
        """The list of results in an answer."""
        if self.hits is None:
            try:
                return listing(answer)
            except RetrieverError as error:
                hint = f"; {GROUP}.hits=PATH says where it is" if isinstance(answer, dict) else ""
                raise RetrieverError(f"{error}{hint}") from None
        try:
            found = jmespath.search(self.hits, answer)
        except JMESPathError as error:
            raise RetrieverError(f"{GROUP}.hits: {self.hits!r} fails on the response ({first_line(error)})") from None
        if isinstance(found, list):
            return found
        there = some_of(map(str, answer)) if isinstance(answer, dict) else type(answer).__name__
        said = service.said(answer)
        raise RetrieverError(f"{GROUP}.hits: {self.hits!r} is no list in the response (there is {there}){said}")


def _check(answer: Mapping[str, Any], service: SearchService) -> None:
    """Refuse an error in place of results, and results of a part of the index.

    Raises:
        PassingError: A part of the index did not answer.
        RetrieverError: It is an error.
    """
    if incomplete := _incomplete(answer):
        raise PassingError(f"only a part of the index answered ({incomplete})")
    is_error = answer.get("success") is False or answer.get("status") in FAILED
    if (answer.get("error") or answer.get("errors")) and not is_error:
        others = (value for name, value in answer.items() if name not in ("error", "errors"))
        of_graphql = isinstance(answer.get("errors"), list) and "data" in answer  # one field of several may have failed
        is_error = of_graphql or not any(isinstance(value, list | dict) and value for value in others)
    if is_error:
        raise RetrieverError(f"the response is an error{service.said(answer)}")


def _incomplete(answer: Any, levels: int = 3) -> str:
    """The field of an answer that says that results are missing; empty if there is none."""
    if not isinstance(answer, Mapping) or not levels:
        return ""
    for name, parts in INCOMPLETE.items():
        value = answer.get(name)
        found = [part for part in parts if value.get(part)] if isinstance(value, Mapping) else []
        if found or value is True or (name.startswith("@") and value not in (None, "", 100)):
            return ".".join([name, *found[:1]])
    inner = [*answer.values(), *(answer["responses"] if isinstance(answer.get("responses"), list) else [])]
    return next(filter(None, (_incomplete(each, levels - 1) for each in inner)), "")


def filled(template: Any, query: str, k: int) -> Any:
    """A template with the query and the number in its texts, each as a value: no query can become a field."""
    if isinstance(template, Mapping):
        return {name: filled(each, query, k) for name, each in template.items()}
    if isinstance(template, list | tuple):
        return [filled(each, query, k) for each in template]
    if template == NUMBER:
        return k
    if isinstance(template, str):
        return re.sub(r"\{(query|k)\}", lambda found: query if found[1] == "query" else str(k), template)
    return template


def in_address(value: Any) -> Any:
    """A value as a parameter of an address: a text, or several; None sends none."""
    if isinstance(value, list):
        return [in_address(each) for each in value]
    return value if value is None or isinstance(value, str) else json.dumps(value)
