"""Short tracking links: clicks recorded exactly once, conversions and reports."""
