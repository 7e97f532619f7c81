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
    """Upload what the store lacks; 2 where it cannot be reached."""
    parser = argparse.ArgumentParser(description="Upload the runs of a folder that the tracking store lacks.")
    parser.add_argument("folder", type=Path, help="of a run or a sweep, as run.py has named it")
    folder = parser.parse_args().folder
    if not folder.is_dir():
        parser.error(f"{folder} is no folder")
    try:
        print(f"{tracking.push(folder)} runs uploaded")
    except RagsweepError as error:
        print(f"push: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
