"""The routes of the whole service, and its own answers: health, readiness and metrics."""
