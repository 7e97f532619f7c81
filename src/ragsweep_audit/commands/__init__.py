"""The commands `ragsweep audit` and `ragsweep judge`."""
