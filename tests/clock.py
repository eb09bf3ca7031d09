"""A clock that stands still until a test sets it."""


class Clock:
    """A clock of seconds, as `time.monotonic` is one."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds
