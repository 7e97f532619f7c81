"""Rewriters: what queries are changed to before they are searched for."""
