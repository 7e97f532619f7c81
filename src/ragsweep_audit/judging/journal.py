"""The file of what was asked and answered, from which the whole race can be run again.

Each line is a JSON object: first what may be judged and by what it is decided, then each draw, before it is shown, and
each answer. One process writes, a line at a time, so that a killed process loses at most the answer that was being
typed. What is taken back is cut off.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_hex
from typing import Any

from filelock import Timeout

from ragsweep.core.errors import ConfigError
from ragsweep.core.locks import locked
from ragsweep.core.parsing import MB, MalformedError, from_json
from ragsweep_audit.judging.journal_head import LARGEST_HEAD_MB, SCHEMA, JournalHead, recorded
from ragsweep_audit.judging.judging_race import Race
from ragsweep_audit.judging.pool import Asked, Pair, Pool
from ragsweep_audit.judging.proposal import Draw

ASKED_AGAIN = 0.05  # of the judgments: how many are asked for twice
LONGEST_LINE = 10_000  # bytes, after the first one
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
        only_read: Whether nothing is asked, so that the file must exist and is not written.
        race: What is known.
        asked_pairs: What was asked, by the number of the draw.
        grades: The judgments by the number of the draw, None where the judge could not tell.
        again: What was judged the second time, for the draws that were asked twice.
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
    race: Race = field(init=False)
    asked_pairs: dict[int, Pair] = field(init=False)
    grades: dict[int, int | None] = field(init=False)
    again: dict[int, int | None] = field(init=False)
    dropped: dict[int, int] = field(init=False)

    def __post_init__(self) -> None:
        if self.only_read and not self.path.is_file():
            raise ConfigError(f"--verify: {self.path} is not a file; expected a journal of judgments")
        self._lock = ExitStack()  # held until the journal is closed, or its process ends
        self._start()
        try:
            if not self.only_read:
                self._lock_file()
            self._open()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let another process write."""
        self._lock.close()

    def _lock_file(self) -> None:
        try:
            self._lock.enter_context(locked(self.path, 0))
            self.path.touch()
        except Timeout as error:
            used = "is in use by another ragsweep judge; end that one, or name another file with --journal"
            raise ConfigError(f"{self.path}: {used}") from error
        except OSError as error:
            raise ConfigError(f"{self.path}: cannot be written ({error})") from error

    def _open(self) -> None:
        """Read the file, or begin it."""
        head = JournalHead.read(self.path)
        about = {"strategy": "race", "metric": self.pool.metric, "k": self.pool.k, "margin": self.margin}
        about |= {"level": self.level, "seed": self.seed, "highest": self.highest, "pool": self.pool.digest}
        if head is not None:
            self.key = head.key
            head.expect(self.path, **about, **({"guesser": self.pool.guesser} if self.pool.guesser else {}))
            self._read()
        elif not self.only_read:
            self.key = token_hex()
            about |= {"guesser": self.pool.guesser, "key": self.key}
            self._write({"schema": SCHEMA, **about, **recorded(self.pool)})

    def _start(self) -> None:
        about = self.margin, self.level, self.seed, self.pool.query_of_pairs, self.pool.queries, self.pool.guessed
        self.race = Race(self.pool.weights, self.pool.judged, *about)
        self.grades, self.again, self.asked_pairs = {}, {}, {}
        self.dropped = dict.fromkeys(self.race.drop_out(), 0)  # by what was judged before
        self._open_draw: Draw | None = None  # the last one, until it is answered
        self._lines: list[Mapping[str, Any]] = []  # of the file, but for what the first one says
        self._ends: list[int] = []  # where each of them ends, in bytes

    @property
    def repeats(self) -> dict[int, bool]:
        """For the draws that were asked twice, whether the judgments were the same."""
        return {number: self.grades[number] == grade for number, grade in self.again.items()}

    @property
    def pairs(self) -> dict[int, Pair]:
        """The pairs that were judged, by the number of the draw."""
        return {number: self.asked_pairs[number] for number in self.grades}

    def ask(self) -> Asked | None:
        """The next question, written down before it is returned; None if nothing is left that could matter."""
        if self._open_draw is None and len(self.again) < int(ASKED_AGAIN * len(self.grades)):
            rest = [number for number in self.grades if number not in self.again]
            number = rest[(len(self.again) * 7919) % len(rest)]
            return Asked(number, self.asked_pairs[number], again=True)
        if self._open_draw is None:
            if (drawn := self._drawn()) is None:
                return None
            self._add({"event": "draw", **drawn, **self._signed}, drawn)
        return Asked(self.race.drawn, self.asked_pairs[self.race.drawn], again=False)

    def answer(self, asked: Asked, grade: int | None) -> list[int]:
        """Write a judgment down, take it in, and return the configurations that drop out."""
        before = set(self.dropped)
        if asked.again == (asked.number in self.grades):
            self._add({"event": "answer", "number": asked.number, "grade": grade, "again": asked.again, **self._signed})
        return [configuration for configuration in self.dropped if configuration not in before]

    def undo(self) -> bool:
        """Take this judge's last judgment back, so that it is asked again; False if there is none."""
        last = max((at for at, line in enumerate(self._lines) if line.get("event") == "answer"), default=0)
        if not last or self._lines[last]["judge"] != self.judge:
            return False
        with self.path.open("r+b") as file:
            file.truncate(self._ends[last - 1])
        self._start()
        self._read()
        return True

    def _drawn(self) -> dict[str, Any] | None:
        """The next draw, as the fields of its line; None if no pair is left."""
        if (draw := self.race.draw()) is None:
            return None
        number, pair = self.race.drawn, self.pool.pairs[draw.pair]
        self._open_draw, self.asked_pairs[number] = draw, pair
        return {"number": number, "query_id": pair.query_id, "unit": pair.unit, "chance": draw.chance}

    @property
    def _signed(self) -> dict[str, str]:
        return {"judge": self.judge, "time": datetime.now(UTC).isoformat(timespec="seconds")}

    def _add(self, line: Mapping[str, Any], drawn: Mapping[str, Any] | None = None) -> None:
        """Write a line and apply it; `drawn` is the draw of a line that announces one."""
        self._write(line)
        self._take_in(line, drawn)

    def _write(self, line: Mapping[str, Any]) -> None:
        """Write a line after the last whole one, and wait until it is on the disk."""
        end = self._ends[-1] if self._ends else 0
        with self.path.open("r+b") as file:
            file.truncate(end)
            file.seek(end)
            file.write(json.dumps(line, ensure_ascii=False).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
            self._ends.append(file.tell())
        self._lines.append(line)

    def _read(self) -> None:
        """Apply all complete lines of the file; the last one is incomplete where a process was killed."""
        with self.path.open("rb") as file:
            self._ends, self._lines = [len(file.readline(LARGEST_HEAD_MB * MB))], [{}]
            while content := file.readline(LONGEST_LINE):
                where = f"{self.path}, line {len(self._lines) + 1}"
                if not content.endswith(b"\n") and len(content) < LONGEST_LINE:
                    return
                try:
                    line = from_json(content.decode())
                    self._take_in(line)
                except (MalformedError, KeyError, OverflowError, TypeError, ValueError) as error:
                    why = str(error) if isinstance(error, ValueError) else "it does not belong here"
                    raise ConfigError(f"{where}: cannot be read ({why}); the file was changed") from error
                self._lines.append(line)
                self._ends.append(file.tell())

    def _take_in(self, line: Mapping[str, Any], drawn: Mapping[str, Any] | None = None) -> None:
        """Apply an event. Raises `ValueError`, or an error of a missing field, for what does not belong here."""
        number, event = line["number"], line["event"]
        if event == "draw":
            if drawn is None:
                drawn = self._drawn() if self._open_draw is None else None
            is_drawn = drawn and all(line[name] == drawn[name] for name in ("number", "query_id", "unit"))
            if not drawn or not is_drawn or not math.isclose(drawn["chance"], line["chance"], rel_tol=NEAR):
                raise ValueError("this pair, with this chance, is not what is drawn here")
        elif event == "answer":
            self._judged(number, line["grade"], again=bool(line["again"]))
            str(line["judge"])
        else:
            raise ValueError(f"found the event {event!r}")

    def _judged(self, number: int, grade: int | None, *, again: bool) -> None:
        """Take a judgment in."""
        if grade is not None and (type(grade) is not int or not 0 <= grade <= self.highest):
            raise ValueError(f"found the grade {grade!r}, expected 0 to {self.highest}")
        if again:
            if number not in self.grades or number in self.again:
                raise ValueError(f"{number} was not asked a second time")
            self.again[number] = grade
            return
        if self._open_draw is None or number != self.race.drawn:
            raise ValueError(f"{number} was not asked")
        self.grades[number] = grade
        for out in self.race.learn(self._open_draw, None if grade is None else grade / self.highest):
            self.dropped[out] = number
        self._open_draw = None
