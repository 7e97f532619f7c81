"""Components, what their settings may be, and how a configuration is composed and checked."""
