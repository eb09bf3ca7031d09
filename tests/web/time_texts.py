"""A time as parameters have it."""

TIME = "a time with its zone such as 2026-01-31T09:30:00.000Z"
