"""What a session leaves unrun: counted by reason at its end; a skipped test fails if what it needs is required."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Generator, Iterable, Sequence
from typing import Any

import pytest

REQUIRE = "RAGSWEEP_REQUIRE"
# What can be required, each with the mark of the tests that need it; a fixture of that name counts as the mark.
NEEDS = {"browser": "browser", "cluster": "cluster", "extras": "extra", "real_data": "real_data", "server": "server"}
OF_MACHINE = "this machine has no "  # so begins a reason that nothing one installs can mend
SUITES = "/ragsweep/testing/"  # skip what a component does not promise
MOST_LINES = 10  # of the summary


class Unrun:
    """A plugin of pytest."""

    def __init__(self) -> None:
        self.required = {*filter(None, os.environ.get(REQUIRE, "").split(","))}
        self.deselected: Counter[str] = Counter()
        if unknown := self.required - NEEDS.keys():
            raise pytest.UsageError(f"{REQUIRE}: found {','.join(sorted(unknown))}, expected some of {','.join(NEEDS)}")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, Any, Any]:
        report = yield
        if report.skipped and not hasattr(report, "wasxfail"):
            waits_for_soak = item.get_closest_marker("soak") and not item.config.getoption("--soak")
            path, _, reason = report.longrepr
            if not (waits_for_soak or SUITES in path or OF_MACHINE in reason):
                marks = {mark.name for mark in item.iter_markers()} | {*getattr(item, "fixturenames", ())}
                _fail(report, [name for name in self.required if NEEDS[name] in marks])
        return report

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self) -> Generator[None, Any, Any]:
        report = yield
        if report.skipped:
            _fail(report, self.required)  # the tests of the file are not known
        return report

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        for item in items:
            of_release = item.get_closest_marker("release") and "not release" in item.config.option.markexpr
            self.deselected["make test-release runs it" if of_release else "the arguments leave it out"] += 1

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput["deselected"] = dict(self.deselected)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take the count of one worker, since each collects all tests."""
        self.deselected = Counter(getattr(node, "workeroutput", {}).get("deselected", self.deselected))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        reasons = [report.longrepr[2].removeprefix("Skipped: ") for report in terminalreporter.getreports("skipped")]
        unrun = self.deselected + Counter(reason.partition(": ")[0] for reason in reasons)
        if not unrun:
            return
        terminalreporter.section(f"{unrun.total():,} tests left unrun")
        lines = unrun.most_common(MOST_LINES - 1)
        if rest := unrun.total() - sum(count for _, count in lines):
            lines.append(("other reasons, which -rs lists", rest))
        for reason, count in lines:
            terminalreporter.write_line(f"{count:7,}  {reason}")


def _fail(report: Any, required: Iterable[str]) -> None:
    """Fail for what was skipped although it is required, if anything is."""
    if names := ",".join(sorted(required)):
        report.outcome = "failed"
        report.longrepr = f"{REQUIRE} has {names}, but this is skipped: {report.longrepr[2].removeprefix('Skipped: ')}"
