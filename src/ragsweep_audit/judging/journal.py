"""The file of what was asked and answered, from which the whole race can be run again.

Each line is a JSON object: first what is judged, then each draw, before it is shown, and each answer. Lines are only
added, under a lock and one at a time, so that a killed process loses at most the answer that was being typed, and that
several judges can share a file. Answers are taken in in the order of the draws.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from ragsweep.core.errors import ConfigError
from ragsweep.core.parsing import MalformedError, from_json
from ragsweep_audit.judging.pool import Pair, Pool
from ragsweep_audit.judging.proposal import Draw
from ragsweep_audit.judging.race import Race
from ragsweep_audit.judging.shared_lines import SharedLines, has_ended, this_process

VERSION = 1
HELD_S = 900  # seconds after which a pair that was shown, and not answered, is shown to another judge
ASKED_AGAIN = 0.05  # of the judgments: how many are asked for twice
LONGEST_LINE = 10_000  # characters
BEGINS = b'{"version": '  # a journal
NEAR = 1e-9  # relative difference of two chances that are the same one


class Asked(NamedTuple):
    """A question for the judge.

    Attributes:
        number: Of the draw.
        pair: What is asked.
        again: Whether it was judged before, and is asked to see how often judgments differ.
    """

    number: int
    pair: Pair
    again: bool


@dataclass(eq=False)
class Journal:
    """A race with the file that keeps it.

    Attributes:
        path: The file; it is made if it does not exist.
        pool: What may be asked.
        margin: As of `Race`.
        level: As of `Race`.
        seed: As of `Race`.
        highest: The highest grade.
        judge: Who judges.
        only_read: Whether nothing is asked, so that the file must exist and is not written.
        process: What asks.
        race: What is known.
        grades: The judgments by the number of the draw, None where the judge could not tell.
        repeats: For the draws that were asked twice, whether the judgments were the same.
        again: What was judged the second time.
        dropped: The configurations that dropped out, each with the number of judgments after which it did.
    """

    path: Path
    pool: Pool
    margin: float
    level: float
    seed: int
    highest: int
    judge: str
    only_read: bool = False
    process: str = field(default_factory=this_process)
    race: Race = field(init=False)
    grades: dict[int, int | None] = field(init=False)
    repeats: dict[int, bool] = field(init=False)
    again: dict[int, int | None] = field(init=False)
    dropped: dict[int, int] = field(init=False)

    def __post_init__(self) -> None:
        self._start()
        self._lines: list[Mapping[str, Any]] = []
        self._file = SharedLines(self.path, BEGINS)
        if self.only_read and not self.path.is_file():
            raise ConfigError(f"--verify: {self.path} is not a file; expected a journal of judgments")
        with nullcontext() if self.only_read else self._file.locked():
            self._read()
            if not self._lines:
                self._add(self._head)
                self._read()

    def _start(self) -> None:
        queries = self.pool.query_of_pairs
        self.race = Race(self.pool.weights, self.pool.judged, self.margin, self.level, self.seed, queries)
        self.grades, self.repeats, self.again = {}, {}, {}
        self.dropped = dict.fromkeys(self.race.drop_out(), 0)  # by what was judged before
        self._draws: dict[int, Draw] = {}  # those that are not taken in yet
        self._asked_pairs: dict[int, Pair] = {}  # by the number of the draw
        self._last: tuple[int, bool, str] | None = None  # the last answer: its number, whether again, and of whom
        self._shown: dict[int, tuple[str, datetime]] = {}  # to what process and when, for draws without an answer

    @property
    def _head(self) -> dict[str, Any]:
        """What a journal is about; another one cannot be gone on with."""
        pool, race = self.pool, self.race
        settings = {"margin": race.margin, "level": race.level, "seed": race.seed, "highest": self.highest}
        return {"version": VERSION, "metric": pool.metric, "k": pool.k, **settings, "pool": pool.digest}

    @property
    def pairs(self) -> dict[int, Pair]:
        """The pairs that were judged, by the number of the draw."""
        return {number: self._asked_pairs[number] for number in self.grades}

    def ask(self) -> Asked | None:
        """The next question, written down before it is returned; None if nothing is left that could matter."""
        with self._file.locked():
            self._read()
            now = datetime.now(UTC)
            for number, (process, since) in self._shown.items():
                if self._is_free(process) or (now - since).total_seconds() > HELD_S:
                    return self._asked(number)
            if len(self.repeats) < int(ASKED_AGAIN * len(self.grades)):
                rest = [number for number in self.grades if number not in self.repeats]
                return self._asked(rest[(len(self.repeats) * 7919) % len(rest)], again=True)
            draw = self._drawn()
            if draw is None:
                return None
            number, pair = self.race.drawn, self.pool.pairs[draw.pair]
            self._add(
                {"draw": number, "query_id": pair.query_id, "unit": pair.unit, "chance": draw.chance, **self._signed}
            )
            return self._asked(number)

    def answer(self, asked: Asked, grade: int | None) -> list[int]:
        """Write a judgment down, take it in, and return the configurations that drop out.

        Nothing is counted twice: where another judge has answered meanwhile, the first answer counts.
        """
        before = set(self.dropped)
        with self._file.locked():
            self._read()
            if asked.again or asked.number not in self.grades:
                self._add({"answer": asked.number, "grade": grade, "again": asked.again, **self._signed})
                self._read()
        return [each for each in self.dropped if each not in before]

    def undo(self) -> bool:
        """Take this judge's last judgment back, so that it is asked again; False if another judge has gone on since."""
        with self._file.locked():
            self._read()
            if self._last is None or self._last[2] != self.judge:
                return False
            number, again, _ = self._last
            gone_on = any(each > number and not self._is_free(process) for each, (process, _) in self._shown.items())
            if not again and (gone_on or number != max(self.grades)):
                return False
            self._add({"undone": number, "again": again, **self._signed})
            self._read()
            return True

    @property
    def _signed(self) -> dict[str, str]:
        return {"judge": self.judge, "process": self.process, "time": datetime.now(UTC).isoformat(timespec="seconds")}

    def _is_free(self, process: str) -> bool:
        """Whether what was shown to a process, and not answered, may be shown to this one."""
        return process == self.process or has_ended(process)

    def _asked(self, number: int, *, again: bool = False) -> Asked:
        if not again:
            self._shown[number] = self.process, datetime.now(UTC)
        return Asked(number, self._asked_pairs[number], again)

    def _drawn(self) -> Draw | None:
        draw = self.race.draw()
        if draw is not None:
            self._draws[self.race.drawn] = draw
            self._asked_pairs[self.race.drawn] = self.pool.pairs[draw.pair]
        return draw

    def _add(self, line: Mapping[str, Any]) -> None:
        end = self._file.add(line)
        if "draw" in line:  # it is drawn already
            self._lines.append(line)
            self._file.offset = end

    def _read(self) -> None:
        """Take in the lines that were added since."""
        for line in self._file.new():
            self._take_in(line)

    def _take_in(self, content: bytes) -> None:
        where = f"{self.path}, line {len(self._lines) + 1}"
        try:
            line = from_json(content[:LONGEST_LINE].decode())
            if not self._lines:
                self._expect_same(line)
            elif line.get("again") and "undone" in line:
                del self.repeats[line["undone"]]
            elif "undone" in line:
                self._rebuild(int(line["undone"]))
            elif "answer" in line:
                self._judged(int(line["answer"]), line)
            else:
                self._draw_as(line, where)
        except (MalformedError, AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
            raise ConfigError(f"{where}: cannot be read ({error})") from error
        self._lines.append(line)

    def _expect_same(self, line: Mapping[str, Any]) -> None:
        for name, value in self._head.items():
            if line.get(name) != value:
                what = "other configurations, data or judgments" if name == "pool" else f"{name} {line.get(name)}"
                raise ConfigError(
                    f"{self.path}: was begun with {what}; name another file, or repeat the command as it was"
                )

    def _draw_as(self, line: Mapping[str, Any], where: str) -> None:
        """Draw again what a line says, which must be the same."""
        draw = self._drawn()
        pair = None if draw is None else self.pool.pairs[draw.pair]
        found = line["draw"], line["query_id"], line["unit"]
        same = pair is not None and found == (self.race.drawn, pair.query_id, pair.unit)
        if draw is None or not same or not math.isclose(draw.chance, line["chance"], rel_tol=NEAR):
            raise ConfigError(f"{where}: this pair, with this chance, is not what is drawn here; the file was changed")
        self._shown[int(line["draw"])] = str(line["process"]), datetime.fromisoformat(line["time"]).astimezone(UTC)

    def _judged(self, number: int, line: Mapping[str, Any]) -> None:
        """Take a judgment in, and those that were waiting for it."""
        grade = line["grade"]
        if grade is not None and (type(grade) is not int or not 0 <= grade <= self.highest):
            raise ValueError(f"found the grade {grade!r}, expected 0 to {self.highest}")
        again = bool(line["again"])
        self._last = number, again, str(line["judge"])
        if again:
            self.repeats[number], self.again[number] = self.grades[number] == grade, grade
            return
        if number in self.grades:
            return
        self._shown.pop(number)
        self.grades[number] = grade
        while (following := self.race.learnt + 1) in self.grades:
            given = self.grades[following]
            share = None if given is None else given / self.highest
            for out in self.race.learn(self._draws.pop(following), share):
                self.dropped[out] = following

    def _rebuild(self, undone: int) -> None:
        """Run the race again without a judgment and without what was drawn after it."""
        lines = [*self._kept(undone)]
        first = self._lines[0]
        self._start()
        self._lines = [first]
        for line in lines:
            self._take_in(json.dumps(line).encode())

    def _kept(self, undone: int) -> Iterator[Mapping[str, Any]]:
        for line in self._lines[1:]:
            taken_back = line.get("again") and line.get("answer") not in self.repeats
            if (
                not taken_back
                and "undone" not in line
                and line.get("answer") != undone
                and line.get("draw", 0) <= undone
            ):
                yield line
