"""The cookie of a session, and the requests from which it is accepted.

Browsers send cookies with requests of any page. So a cookie counts only if the browser reports a
page of BASE_URL (Fetch Metadata, or Origin). A change counts only as JSON, which no form can send.
"""

from typing import Final

from tornado.httputil import HTTPHeaders

from tracker.access.sessions import LIFETIME
from tracker.errors import BadRequest, Forbidden
from tracker.public_url import PublicUrl

NAMES: Final = ("__Host-session", "session")
"""The name with https and without: browsers take `__Host-` only for secure cookies."""

READING: Final = ("GET", "HEAD")

_JSON: Final = "application/json"


class SessionCookie:
    """The cookie of sessions at a public address."""

    def __init__(self, public_url: PublicUrl) -> None:
        self._public_url = public_url
        self._is_secure = public_url.scheme == "https"
        self._name = NAMES[0 if self._is_secure else 1]

    def sent(self, headers: HTTPHeaders) -> str | None:
        """Return the secret in the cookie of a request; None without one."""
        # Not http.cookies: one strange cookie of another program would hide every other.
        sent = ";".join(headers.get_list("Cookie"))
        pairs = (one.strip().partition("=") for one in sent.split(";"))
        return next((value for name, _, value in pairs if name == self._name and value), None)

    def set(self, secret: str) -> str:
        """Return the Set-Cookie field that starts a session."""
        return self._field(secret, int(LIFETIME.total_seconds()))

    def cleared(self) -> str:
        """Return the Set-Cookie field that ends a session."""
        return self._field("", 0)

    def is_from_here(self, headers: HTTPHeaders) -> bool:
        """Return whether the browser reports a page of this service."""
        says = (
            (headers.get("Sec-Fetch-Site"), "same-origin"),
            (headers.get("Origin"), self._public_url.web_origin),
        )
        is_own_host = self._public_url.is_origin_of(headers.get("Host", ""))
        agrees = any(sent == own for sent, own in says)
        return is_own_host and agrees and all(sent in (None, own) for sent, own in says)

    def check_origin(self, headers: HTTPHeaders) -> None:
        """Check that a request comes from a page of this service. Raises Forbidden if not."""
        if not self.is_from_here(headers):
            raise Forbidden(
                f"session: accepted only from pages of {self._public_url.url}, over https or on "
                "this machine"
            )

    def check_type(self, method: str, headers: HTTPHeaders) -> None:
        """Check that a change is sent as JSON. Raises BadRequest if it is not."""
        kind = headers.get("Content-Type", "").partition(";")[0].strip().lower()
        if method not in READING and kind != _JSON:
            raise BadRequest(f"Content-Type: must be {_JSON}")

    def _field(self, value: str, seconds: int) -> str:
        secure = "; Secure" if self._is_secure else ""
        return f"{self._name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}"
