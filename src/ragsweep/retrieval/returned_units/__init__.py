"""What is returned for a passage that was found: the passage itself, or something larger around it."""
