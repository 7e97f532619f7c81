"""Compare the strategies of `experiment=strategies` on SciFact, and write what came out into docs/strategies.md.

python scripts/strategies.py --scifact FOLDER   # about 15 minutes; 2 minutes where the embeddings are stored
"""

from __future__ import annotations

import argparse
import re
import shutil
from pathlib import Path

import ragsweep
from ragsweep.report.report_charts import LEFT_OUT, report_charts
from ragsweep.core.style import save
from ragsweep.sweeps import Outcome, Sweep

CLONE = Path(__file__).resolve().parents[1]
PAGE = CLONE / "docs" / "strategies.md"
TABLE = re.compile(r"(?<=<!-- table -->\n).*?(?=<!-- end of table -->)", re.DOTALL)
MB = 1e6
