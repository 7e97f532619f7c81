"""The file of what was asked and answered, from which the whole race can be run again.

Each line is a JSON object: first what may be judged and by what it is decided, then each draw, before it is shown, and
each answer. Lines are only added, one at a time and by one process, so that a killed process loses at most the answer
that was being typed. Answers are taken in in the order of the draws.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_hex
from typing import Any

from ragsweep.core.errors import ConfigError
from ragsweep.core.parsing import MalformedError, from_json
from ragsweep_audit.judging.pool import Asked, Pair, Pool
from ragsweep_audit.judging.pooling import RACE, STRATEGIES
from ragsweep_audit.judging.proposal import Draw
from ragsweep_audit.judging.race import Race
from ragsweep_audit.judging.recorded_pool import BEGINS, recorded
from ragsweep_audit.judging.shared_lines import SharedLines

VERSION = 1
ASKED_AGAIN = 0.05  # of the judgments: how many are asked for twice
LONGEST_LINE = 10_000  # characters
OTHERS = {"pool": "other configurations, data or judgments", "guesser": "guesses of another language model"}
NEAR = 1e-9  # relative difference of two chances that are the same one


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
        strategy: What decides which pair is next.
        only_read: Whether nothing is asked, so that the file must exist and is not written.
        race: What is known.
        asked_pairs: What was asked, by the number of the draw.
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
    strategy: str = RACE
    only_read: bool = False
    race: Race = field(init=False)
    asked_pairs: dict[int, Pair] = field(init=False)
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
        self._lock = ExitStack()  # held until the journal is closed, or its process ends
        if not self.only_read:
            self._lock.enter_context(self._file.locked())
        try:
            self._read()
            if not self._lines and not self.only_read:
                self._add({**self._head, "key": token_hex(), **recorded(self.pool)})
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let another process write."""
        self._lock.close()

    def _start(self) -> None:
        about = self.margin, self.level, self.seed, self.pool.query_of_pairs, self.pool.queries, self.pool.guessed
        self.race = STRATEGIES[self.strategy](self.pool.weights, self.pool.judged, *about)
        self.grades, self.repeats, self.again = {}, {}, {}
        self.dropped = dict.fromkeys(self.race.drop_out(), 0)  # by what was judged before
        self._draws: dict[int, Draw] = {}  # those that are not taken in yet
        self.asked_pairs = {}
        self._last: tuple[int, bool, str, int] | None = None  # answer: number, whether again, whose, drawn before it
        self._shown: dict[int, str] = {}  # in which table, for draws without an answer; empty if in none

    @property
    def _head(self) -> dict[str, Any]:
        """What a journal is about; another one cannot be gone on with."""
        settings = {"margin": self.margin, "level": self.level, "seed": self.seed, "highest": self.highest}
        about = {"version": VERSION, "strategy": self.strategy, "metric": self.pool.metric, "k": self.pool.k}
        return {**about, **settings, "pool": self.pool.digest, **({"guesser": it} if (it := self.pool.guesser) else {})}

    @property
    def key(self) -> str:
        """Names this journal among others."""
        return str(self._lines[0].get("key"))

    @property
    def pairs(self) -> dict[int, Pair]:
        """The pairs that were judged, by the number of the draw."""
        return {number: self.asked_pairs[number] for number in self.grades}

    def ask(self) -> Asked | None:
        """The next question, written down before it is returned; None if nothing is left that could matter."""
        if free := self._free(""):
            return Asked(free[0], self.asked_pairs[free[0]], again=False)
        if len(self.repeats) < int(ASKED_AGAIN * len(self.grades)):
            rest = [number for number in self.grades if number not in self.repeats]
            number = rest[(len(self.repeats) * 7919) % len(rest)]
            return Asked(number, self.asked_pairs[number], again=True)
        following = self._next("")
        return None if following is None else Asked(following, self.asked_pairs[following], again=False)

    def hand_out(self, name: str, rows: int) -> list[Asked]:
        """The next questions, which nobody else is asked until the table of this name is taken back."""
        numbers = self._free("", name)[:rows]
        self._hold(numbers, name)
        while len(numbers) < rows and (number := self._next(name)) is not None:
            numbers.append(number)
        return [Asked(number, self.asked_pairs[number], again=False) for number in numbers]

    def release(self, numbers: Sequence[int]) -> None:
        """Let questions that were handed out be asked, unless they were answered."""
        self._hold([number for number in numbers if number in self._shown], "")

    @property
    def handed_out(self) -> list[str]:
        """The table of each question that was handed out and neither answered nor released."""
        return [table for table in self._shown.values() if table]

    def _free(self, *tables: str) -> list[int]:
        """What was drawn and not answered, and is in one of these tables, or in none (an empty name)."""
        return [number for number, table in self._shown.items() if table in tables]

    def _hold(self, numbers: Sequence[int], table: str) -> None:
        for number in numbers:
            self._add({"held": number, "table": table, **self._signed})

    def _next(self, table: str) -> int | None:
        """Draw a pair and write it down."""
        if (draw := self._drawn()) is None:
            return None
        number, pair = self.race.drawn, self.pool.pairs[draw.pair]
        line = {"draw": number, "query_id": pair.query_id, "unit": pair.unit, "chance": draw.chance}
        self._write({**line, "table": table, **self._signed})  # it is drawn already
        self._shown[number] = table
        return number

    def answer(self, asked: Asked, grade: int | None) -> list[int]:
        """Write a judgment down, take it in, and return the configurations that drop out."""
        before = set(self.dropped)
        if asked.again == (asked.number in self.grades):
            self._add({"answer": asked.number, "grade": grade, "again": asked.again, **self._signed})
        return [each for each in self.dropped if each not in before]

    def undo(self) -> bool:
        """Take this judge's last judgment back, so that it is asked again; False if a table goes on from it."""
        if self._last is None or self._last[2] != self.judge:
            return False
        number, again, _, drawn = self._last
        if not again and any(each > drawn and table for each, table in self._shown.items()):
            return False
        self._add({"undone": number, "again": again, **self._signed})
        return True

    @property
    def _signed(self) -> dict[str, str]:
        return {"judge": self.judge, "time": datetime.now(UTC).isoformat(timespec="seconds")}

    def _drawn(self) -> Draw | None:
        if (draw := self.race.draw()) is not None:
            self._draws[self.race.drawn] = draw
            self.asked_pairs[self.race.drawn] = self.pool.pairs[draw.pair]
        return draw

    def _add(self, line: Mapping[str, Any]) -> None:
        """Write a line, and take it in."""
        self._file.add(line)
        self._read()

    def _write(self, line: Mapping[str, Any]) -> None:
        """Write a line that is taken in already."""
        self._file.offset, self._file.lines = self._file.add(line), self._file.lines + 1
        self._lines.append(line)

    def _read(self) -> None:
        """Take in the lines that were added since."""
        for line in self._file.new():
            self._take_in(line)

    def _take_in(self, content: bytes) -> None:
        where = f"{self.path}, line {self._file.lines + 1}"
        try:
            line = from_json((content[:LONGEST_LINE] if self._lines else content).decode())
            if not self._lines:
                self._expect_same(line)
            elif line.get("again") and "undone" in line:
                del self.repeats[line["undone"]]
                self._last = None
            elif "undone" in line:
                self._rebuild(line["undone"])
            elif "held" in line:
                if line["held"] in self._shown:
                    self._shown[line["held"]] = str(line["table"])
            elif "answer" in line:
                self._judged(int(line["answer"]), line)
            else:
                self._draw_as(line, where)
        except (MalformedError, AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
            why = str(error) if isinstance(error, ValueError) else "it does not belong here"
            raise ConfigError(f"{where}: cannot be read ({why}); the file was changed") from error
        self._lines.append(line)

    def _expect_same(self, line: Mapping[str, Any]) -> None:
        for name, value in self._head.items():
            if line.get(name) != value:
                what = OTHERS.get(name, f"{name} {line.get(name)}")
                mended = "name another file, or repeat the command as it was"
                raise ConfigError(f"{self.path}: was begun with {what}; {mended}")

    def _draw_as(self, line: Mapping[str, Any], where: str) -> None:
        """Draw again what a line says, which must be the same."""
        draw = self._drawn()
        pair = None if draw is None else self.pool.pairs[draw.pair]
        found = line["draw"], line["query_id"], line["unit"]
        same = pair is not None and found == (self.race.drawn, pair.query_id, pair.unit)
        if draw is None or not same or not math.isclose(draw.chance, line["chance"], rel_tol=NEAR):
            raise ConfigError(f"{where}: this pair, with this chance, is not what is drawn here; the file was changed")
        self._shown[line["draw"]] = str(line["table"])

    def _judged(self, number: int, line: Mapping[str, Any]) -> None:
        """Take a judgment in, and those that were waiting for it."""
        grade = line["grade"]
        if grade is not None and (type(grade) is not int or not 0 <= grade <= self.highest):
            raise ValueError(f"found the grade {grade!r}, expected 0 to {self.highest}")
        again = bool(line["again"])
        if again != (number in self.grades):  # it was taken back, what was asked again
            return
        self._last = number, again, str(line["judge"]), self.race.drawn
        if again:
            self.repeats[number], self.again[number] = self.grades[number] == grade, grade
            return
        self._shown.pop(number)
        self.grades[number] = grade
        while (following := self.race.learnt + 1) in self.grades:
            given = self.grades[following]
            share = None if given is None else given / self.highest
            for out in self.race.learn(self._draws.pop(following), share):
                self.dropped[out] = following

    def _rebuild(self, undone: int) -> None:
        """Run the race again without the last judgment and without what was drawn after it."""
        if self._last is None or self._last[0] != undone:
            raise ValueError(f"{undone} is not the last judgment")
        lines = [*self._kept(undone, self._last[3])]
        self._start()
        self._lines = self._lines[:1]
        for line in lines:
            self._take_in(json.dumps(line).encode())

    def _kept(self, undone: int, drawn: int) -> Iterator[Mapping[str, Any]]:
        for line in self._lines[1:]:
            taken_back = line.get("again") and line.get("answer") not in self.repeats
            dropped = line.get("answer") == undone or line.get("draw", 0) > drawn
            if not taken_back and not dropped and "undone" not in line:
                yield line
