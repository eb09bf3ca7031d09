"""Joint counts: counts by several dimensions together, made once of each finished period."""
