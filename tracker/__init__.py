"""Short tracking links: clicks recorded exactly once, conversions and reports."""

__version__ = "0.1.0"
"""The only place that has it: pyproject.toml, `run.py --version`, the log, `/healthz` and
`/openapi.json` read it here."""
