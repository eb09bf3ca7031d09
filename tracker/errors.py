"""Errors that become answers, which only `tracker/web` makes.

A message names the field and the rule. It reveals nothing internal, and may change. Programs read
`X-Error-Code`, `X-Error-Reason` and `X-Error-Field`.
"""

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import ClassVar, Final, Self


class ErrorCode(StrEnum):
    """The values of `X-Error-Code`, on every error answer. None is ever renamed or removed."""

    BAD_REQUEST = "bad_request"
    ALREADY_TAKEN = "already_taken"
    IDEMPOTENCY_KEY_REUSED = "idempotency_key_reused"
    UNAUTHORIZED = "unauthorized"
    CODE_REQUIRED = "code_required"
    PASSWORD_REQUIRED = "password_required"  # noqa: S105
    KEY_EXPIRED = "key_expired"
    KEY_REVOKED = "key_revoked"
    FORBIDDEN = "forbidden"
    MISSING_SCOPE = "missing_scope"
    LIMITED = "limited"
    NOT_FOUND = "not_found"
    LINK_EXPIRED = "link_expired"
    LINK_NOT_STARTED = "link_not_started"
    UNKNOWN_PATH = "unknown_path"
    METHOD_NOT_ALLOWED = "method_not_allowed"
    CHANGED_MEANWHILE = "changed_meanwhile"
    PAYLOAD_TOO_LARGE = "payload_too_large"
    RATE_LIMITED = "rate_limited"
    INTERNAL_ERROR = "internal_error"
    UNAVAILABLE = "unavailable"
    TIME_LIMIT = "time_limit"
    # For requests that reach no handler.
    MALFORMED_REQUEST = "malformed_request"
    REQUEST_TIMEOUT = "request_timeout"
    TARGET_TOO_LONG = "target_too_long"
    HEADER_TOO_LARGE = "header_too_large"
    NOT_IMPLEMENTED = "not_implemented"
    VERSION_NOT_SUPPORTED = "version_not_supported"


class ErrorReason(StrEnum):
    """The values of `X-Error-Reason`, on answers with `bad_request`. None is ever renamed."""

    REQUIRED = "required"
    UNKNOWN_FIELD = "unknown_field"
    INVALID_VALUE = "invalid_value"
    LIMIT_REACHED = "limit_reached"


CODE_HEADER: Final = "X-Error-Code"
REASON_HEADER: Final = "X-Error-Reason"
FIELD_HEADER: Final = "X-Error-Field"

_FIELD = re.compile(r"([\w.:\[\]-]{1,128}): ", re.ASCII)


class TrackerError(Exception):
    """An error that becomes an answer with its `status`, `code` and `headers`."""

    status: ClassVar[int] = 500
    code: ErrorCode = ErrorCode.INTERNAL_ERROR

    def __init__(
        self,
        message: str,
        headers: Mapping[str, str] | None = None,
        *,
        code: ErrorCode | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.headers = dict(headers or {})
        if code is not None:
            self.code = code

    def with_message(self, message: str) -> Self:
        """Return this error, with another message."""
        self.message = message
        self.args = (message,)
        return self

    @property
    def all_headers(self) -> dict[str, str]:
        return {CODE_HEADER: str(self.code), **self.headers}


class BadRequest(TrackerError):
    """A field, parameter or body that breaks a rule."""

    status = 400
    code = ErrorCode.BAD_REQUEST

    reason: ClassVar = ErrorReason.INVALID_VALUE

    @property
    def all_headers(self) -> dict[str, str]:
        headers = super().all_headers
        if self.code is ErrorCode.BAD_REQUEST:
            headers[REASON_HEADER] = self.reason
        if field := _FIELD.match(self.message):
            headers[FIELD_HEADER] = field[1]
        return headers


class Required(BadRequest):
    """A field that is missing."""

    reason = ErrorReason.REQUIRED


class UnknownField(BadRequest):
    """A field or parameter that does not exist."""

    reason = ErrorReason.UNKNOWN_FIELD


class LimitReached(BadRequest):
    """An account, or an object, that has as many of something as it may."""

    reason = ErrorReason.LIMIT_REACHED


class Unauthorized(TrackerError):
    """A request without a valid API key."""

    status = 401
    code = ErrorCode.UNAUTHORIZED

    def __init__(self, message: str, *, code: ErrorCode | None = None) -> None:
        # As Tornado spells it, for the fast path answers the same.
        super().__init__(message, {"Www-Authenticate": "Bearer"}, code=code)


class Forbidden(TrackerError):
    """A valid key without access to the resource."""

    status = 403
    code = ErrorCode.FORBIDDEN


class NotFound(TrackerError):
    """A resource or path that does not exist, or that the account does not own."""

    status = 404
    code = ErrorCode.NOT_FOUND


class MethodNotAllowed(TrackerError):
    """A method that the path does not have; `allowed` lists its methods."""

    status = 405
    code = ErrorCode.METHOD_NOT_ALLOWED

    def __init__(self, allowed: str) -> None:
        super().__init__(f"method not allowed; allowed: {allowed}", {"Allow": allowed})


class ChangedMeanwhile(TrackerError):
    """A change of a version that is no longer the present one."""

    status = 412
    code = ErrorCode.CHANGED_MEANWHILE


class PayloadTooLarge(TrackerError):
    """A body beyond the limit of its endpoint."""

    status = 413
    code = ErrorCode.PAYLOAD_TOO_LARGE


class RateLimited(TrackerError):
    """A client or account beyond its limit. It may try again in `seconds`."""

    status = 429
    code = ErrorCode.RATE_LIMITED

    def __init__(self, message: str, seconds: int) -> None:
        super().__init__(message, {"Retry-After": str(seconds)})


class Unavailable(TrackerError):
    """An answer that cannot be given now but may be later."""

    status = 503
    code = ErrorCode.UNAVAILABLE


class TooSlow(Unavailable):
    """An answer that takes too long, though the stores do answer. Try again in `seconds`."""

    code = ErrorCode.TIME_LIMIT

    def __init__(
        self, message: str, seconds: int, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message, {"Retry-After": str(seconds), **(headers or {})})
