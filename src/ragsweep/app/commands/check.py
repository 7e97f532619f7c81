"""Ask the recorded questions of an exported retriever again: the same passages must come back, in the same order.

ragsweep check retriever/
ragsweep check retriever/ corpus.path=/data/manual     # documents that lie elsewhere on this machine

Exit status: 0 where all are the same, 1 where a question has other passages, 2 where the folder cannot be read.
"""

from __future__ import annotations

from pathlib import Path

from ragsweep.app.commands import add_allow, parser_of
from ragsweep.core.terminal import counted, one_line

QUESTIONS_SHOWN = 5


def main() -> int:
    """Check the folder that the arguments name."""
    parser = parser_of("check", __doc__)
    parser.add_argument("folder", type=Path, help="what ragsweep export has written")
    parser.add_argument("overrides", nargs="*", default=[], help="settings of retriever.yaml: corpus.path=...")
    add_allow(parser)
    arguments = parser.parse_intermixed_args()

    from ragsweep.production.export_folder import read_check
    from ragsweep.production.loading import differences, load
    from ragsweep.replay.trusted_record import composed_today

    check = read_check(arguments.folder)
    _, settings = composed_today(arguments.overrides)
    retriever = load(arguments.folder, overrides=settings, allow=arguments.allow)
    lines = differences(retriever, check)
    asked = counted(len(check.questions), "recorded question")
    if not lines:
        print(f"{arguments.folder}: {asked} answered as recorded")
        return 0
    print(f"{arguments.folder}: {len(lines)} of {asked} answered otherwise")
    for line in lines[:QUESTIONS_SHOWN]:
        print(f"  {one_line(line)}")
    return 1
