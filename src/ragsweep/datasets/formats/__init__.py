"""Dataset formats, one module each."""
