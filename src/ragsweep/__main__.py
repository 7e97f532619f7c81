"""`python -m ragsweep` is the command `ragsweep`."""

from ragsweep.app.main import main

if __name__ == "__main__":
    main()
