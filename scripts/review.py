"""`ragsweep review` for this clone, wherever it is called from."""

from pathlib import Path

from ragsweep.app.main import main

if __name__ == "__main__":
    main("review", Path(__file__).parents[1])
