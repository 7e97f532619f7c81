"""A real HTTP server that makes questions of the passages that it is shown, well or badly, and documents to show it."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from application import COMMAND, OF_CLONE, in_this_process
from endpoint_server import EndpointServer, Reply, completion
from warm import Process

KEY = "sk-test-Zm9vYmFyYmF6cXV4"
PASSAGE = "Passage: "
OUT_OF_SCOPE = "other documents of this kind do not answer"  # in the prompt for such a question


def word(text: str) -> str:
    """A made-up word, always the same one for a text."""
    digits = hashlib.sha256(text.encode()).digest()
    return "".join("bdfglmnprst"[a % 11] + "aeiou"[b % 5] for a, b in zip(digits[:4], digits[4:8], strict=True))


def write_documents(folder: Path, documents: int = 4, paragraphs: int = 6) -> Path:
    """Text files with a page a paragraph, each about a thing of its own."""
    folder.mkdir(parents=True)
    for document in range(documents):
        pages = []
        for page in range(paragraphs):
            a, b, c, d = (word(f"{document} {page} {part}") for part in "abcd")
            closes = f"Its {c} valve closes at {10 * document + page} bar of pressure before the water arrives."
            seal = f" After each winter the {word(c)} seal of the pump is replaced by a new one of the {word(b)} works."
            text = f"The {a} pump stands beside the {b} gate. {closes}\nOnly the {d} keeper may open it again."
            pages.append(text + seal * (page % 2))
        (folder / f"d{document}.txt").write_text("\f".join(pages))
    return folder


def passage_of(prompt: str) -> str:
    return prompt.splitlines()[0].removeprefix(PASSAGE)


def honest(prompt: str) -> dict[str, Any]:
    """A good question about the passage of a prompt."""
    passage = passage_of(prompt)
    a, b = passage.split()[1], passage.split(" beside the ")[1].split()[0]
    if OUT_OF_SCOPE in prompt:
        return {"question": f"Which engineer from Norway designed the {a} pump in winter?", "references": []}
    reference = passage[passage.index("Its ") : passage.index(" Only the ")]
    kind = word(prompt)[:4]  # of another type, another question
    return {
        "question": f"At which {kind} pressure does the {a} pump near the {b} gate shut?",
        "references": [reference],
    }


def good(prompt: str) -> Reply:
    return completion(json.dumps(honest(prompt)))


class QuestionServer(EndpointServer):
    """Chooses the reply by the first message, how many messages there are, and how often this request came, from 1.

    Attributes:
        slow_from: The number of requests from which it waits for `hurry` before it replies.
        in_the_middle: Set when so many requests have come.
        answered: How often each request got a whole response of status 200.
    """

    def __init__(self, tell: Callable[[str, int, int], Reply] = lambda prompt, messages, times: good(prompt)) -> None:
        super().__init__()
        self.tell, self.answered, self.came = tell, Counter[str](), Counter[str]()
        self.slow_from: float = float("inf")
        self.in_the_middle, self.hurry = threading.Event(), threading.Event()

    def opened(self, request: dict[str, Any], key: str) -> Reply:
        super().opened(request, key)
        content = json.dumps(request, sort_keys=True)
        with self.lock:
            self.came[content] += 1
            times = self.came[content]
        if len(self.requests) >= self.slow_from:
            self.in_the_middle.set()
            self.hurry.wait(30)
        reply = self.tell(request["messages"][0]["content"], len(request["messages"]), times)
        if reply.status == 200 and not reply.missing_bytes:
            with self.lock:
                self.answered[content] += 1
        return reply


@dataclass
class Generate:
    """`ragsweep generate` on a folder of text files, in processes of their own.

    Attributes:
        folder: Where it runs.
        printed: What all processes have printed.
    """

    folder: Path
    printed: list[str] = field(default_factory=list)

    @property
    def store(self) -> Path:
        return self.folder / "store"

    @property
    def documents(self) -> list[str]:
        return ["corpus=text", f"corpus.path={self.folder / 'documents'}"]

    def settings(self, *given: str) -> list[str]:
        return [f"store.path={self.store}"] if not any(argument.startswith("store.path=") for argument in given) else []

    def here(self, *given: str) -> tuple[int, str, str]:
        """As `run`, in this process."""
        done = in_this_process(self.folder, "generate", *given, *self.settings(*given), **OF_CLONE)
        return done.returncode, done.stdout, done.stderr

    def start(self, *given: str, **environment: str) -> Process:
        variables = {**os.environ, "OPENAI_API_KEY": KEY, **environment}
        return Process(COMMAND, ["generate", *given, *self.settings(*given)], self.folder, OF_CLONE | variables)

    def end(self, process: Process) -> tuple[int | None, str, str]:
        """The exit status, and what was printed to standard output and standard error."""
        out, err = process.communicate(timeout=120)
        self.printed.append(out + err)
        return process.returncode, out, err

    def run(self, *given: str, **environment: str) -> tuple[int | None, str, str]:
        return self.end(self.start(*given, **environment))

    def endpoint(self, server: QuestionServer, out: str, *given: str) -> list[str]:
        """The arguments that ask a server for a test set."""
        model = ["language_model=openai", "language_model.model=model", f"language_model.base_url={server.url}"]
        return [*self.documents, "generator=llm", *model, "~encoder", "shortest_passage=5", "--out", out, *given]


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def assert_spans(questions: list[dict[str, Any]], documents: Path) -> None:
    """Every reference is what its document has between its offsets."""
    for question in questions:
        text = (documents / question["corpus_id"]).read_text(encoding="utf-8")
        for reference in question["references"]:
            assert text[reference["start_index"] : reference["end_index"]] == reference["content"]
        assert bool(question["references"]) == question["answerable"]
