"""The cookie of a session, and the requests from which it is accepted.

Browsers send cookies with requests of any page. So a cookie counts only if the browser reports a
page of BASE_URL (Fetch Metadata, or Origin). A change counts only as JSON, a file as bytes too:
no form can send them.
"""

from typing import Final

from tornado.httputil import HTTPHeaders

from tracker.access.sessions import LIFETIME
from tracker.errors import BadRequest, Forbidden
from tracker.public_url import PublicUrl

COOKIE_NAMES: Final = ("__Host-session", "session")
"""The name over https, and without. Browsers accept `__Host-` only for secure cookies."""

SAFE_METHODS: Final = ("GET", "HEAD")

_JSON: Final = "application/json"
_BYTES: Final = "application/octet-stream"


class SessionCookie:
    """The cookie of sessions at a public address."""

    def __init__(self, public_url: PublicUrl) -> None:
        self._public_url = public_url
        self._is_secure = public_url.scheme == "https"
        self._name = COOKIE_NAMES[0 if self._is_secure else 1]

    def read(self, headers: HTTPHeaders) -> str | None:
        """Return the secret in a request's cookie; None without one."""
        # Not http.cookies: one malformed cookie of another program would hide the rest.
        sent = ";".join(headers.get_list("Cookie"))
        pairs = (one.strip().partition("=") for one in sent.split(";"))
        return next((value for name, _, value in pairs if name == self._name and value), None)

    def set(self, secret: str) -> str:
        """Return the Set-Cookie value that starts a session."""
        return self._field(secret, int(LIFETIME.total_seconds()))

    def clear(self) -> str:
        """Return the Set-Cookie value that ends a session."""
        return self._field("", 0)

    def is_same_origin(self, headers: HTTPHeaders) -> bool:
        """Return whether the browser reports a page of this service."""
        reported = (
            (headers.get("Sec-Fetch-Site"), "same-origin"),
            (headers.get("Origin"), self._public_url.web_origin),
        )
        is_own_host = self._public_url.is_origin_of(headers.get("Host", ""))
        agrees = any(sent == own for sent, own in reported)
        return is_own_host and agrees and all(sent in (None, own) for sent, own in reported)

    def check_origin(self, headers: HTTPHeaders) -> None:
        """Raises Forbidden unless a page of this service has sent the request."""
        if not self.is_same_origin(headers):
            raise Forbidden(
                f"session: accepted only from pages of {self._public_url.url}, over https or on "
                "this machine"
            )

    def check_content_type(self, method: str, headers: HTTPHeaders, is_file: bool = False) -> None:
        """Raises BadRequest if a change is not sent as JSON, or a file neither so nor as bytes."""
        kind = headers.get("Content-Type", "").partition(";")[0].strip().lower()
        allowed = (_JSON, _BYTES) if is_file else (_JSON,)
        if method not in SAFE_METHODS and kind not in allowed:
            raise BadRequest(f"Content-Type: must be {' or '.join(allowed)}")

    def _field(self, value: str, seconds: int) -> str:
        secure = "; Secure" if self._is_secure else ""
        return f"{self._name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}"
