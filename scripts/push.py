"""Upload the runs of a folder that could not be uploaded when they were made.

python scripts/push.py outputs/20260718_101500_4711
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ragsweep import tracking
from ragsweep.errors import RagsweepError


def main() -> int:
    """Upload what the store lacks; 2 where some of it stays here."""
    parser = argparse.ArgumentParser(description="Upload the runs of a folder that the tracking store lacks.")
    parser.add_argument("folder", type=Path, help="of a run or a sweep, as run.py has named it")
    folder = parser.parse_args().folder
    if not folder.is_dir():
        parser.error(f"{folder} is no folder")
    try:
        uploaded, refused = tracking.push(folder)
    except RagsweepError as error:
        print(f"push: {error}", file=sys.stderr)
        return 2
    print(f"{uploaded} runs uploaded")
    for place, reason in refused.items():
        print(f"push: {place}: {reason}", file=sys.stderr)
    return 2 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
