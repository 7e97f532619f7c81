"""What is indexed for a passage besides its own text. One module per kind."""
