"""The commands `ragsweep audit` and `ragsweep review`."""
