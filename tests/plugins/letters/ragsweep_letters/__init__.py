"""A plugin of somebody else: retrieves by the letters that texts share."""
