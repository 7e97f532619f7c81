"""Measure retrieval configurations: `python run.py --help` says how."""

from ragsweep.app.cli import main

if __name__ == "__main__":
    main()
