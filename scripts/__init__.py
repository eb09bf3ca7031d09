"""Operators' commands. Each runs as `python -m scripts.<name>`; `--help` shows an example."""
