"""The error tree: raising is responding.

TrackerError
├── BadRequest            400  a field breaks a rule
├── Unauthorized          401  no valid API key
├── Forbidden             403  the key has no access to this
├── NotFound              404
├── MethodNotAllowed      405  carries the methods that are allowed
├── PayloadTooLarge       413
├── RateLimited           429  carries when to try again
└── Unavailable           503  a store that this answer needs is away, or a queue is full

A message is written for the client: it names the field and the rule, and says nothing of the
inside. Only `api/handler.py` turns these into answers.
"""

from collections.abc import Mapping
from typing import ClassVar


class TrackerError(Exception):
    """An answer other than success. `headers` go out with it."""

    status: ClassVar[int] = 500

    def __init__(self, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.headers = dict(headers or {})


class BadRequest(TrackerError):
    status = 400


class Unauthorized(TrackerError):
    status = 401

    def __init__(self, message: str) -> None:
        super().__init__(message, {"WWW-Authenticate": "Bearer"})


class Forbidden(TrackerError):
    status = 403


class NotFound(TrackerError):
    status = 404


class MethodNotAllowed(TrackerError):
    status = 405

    def __init__(self, allowed: str) -> None:
        super().__init__(f"method not allowed; allowed: {allowed}", {"Allow": allowed})


class PayloadTooLarge(TrackerError):
    status = 413


class RateLimited(TrackerError):
    status = 429

    def __init__(self, message: str, seconds: int) -> None:
        super().__init__(message, {"Retry-After": str(seconds)})


class Unavailable(TrackerError):
    status = 503
