"""Joint counts: counts by several dimensions together, computed once for each finished period."""
