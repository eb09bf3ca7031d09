"""Experiments: which variant of a split converts more, and whether that is more than chance."""
