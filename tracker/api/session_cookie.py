"""The cookie of a session, and the requests from which it is accepted.

A browser sends cookies with requests that any page causes. So a cookie counts only if the browser
says that the request comes from a page of BASE_URL itself (Fetch Metadata, or Origin), and a change
only as JSON, which no form can send. It never counts on a custom domain.
"""

from http.cookies import CookieError, SimpleCookie
from typing import Final

from tornado.httputil import HTTPHeaders

from tracker.access.sessions import LIFETIME
from tracker.errors import BadRequest, Forbidden
from tracker.links.public_url import PublicUrl

NAMES: Final = ("__Host-session", "session")
"""The name with https and without: browsers take `__Host-` only for secure cookies."""

READING: Final = ("GET", "HEAD")
"""The methods that change nothing."""

_JSON: Final = "application/json"


class SessionCookie:
    """The cookie of sessions at a public address."""

    def __init__(self, public_url: PublicUrl) -> None:
        self._public_url = public_url
        self._is_secure = public_url.scheme == "https"
        self._name = NAMES[0 if self._is_secure else 1]

    def sent(self, headers: HTTPHeaders) -> str | None:
        """Return the secret in the cookie of a request; None without one."""
        if "Cookie" not in headers:
            return None
        try:
            cookies = SimpleCookie(headers["Cookie"])
        except CookieError:
            return None
        found = cookies.get(self._name)
        return found.value if found and found.value else None

    def set(self, secret: str) -> str:
        """Return the Set-Cookie field that gives a browser a session."""
        return self._field(secret, int(LIFETIME.total_seconds()))

    def cleared(self) -> str:
        """Return the Set-Cookie field that takes the session from a browser."""
        return self._field("", 0)

    def check_origin(self, headers: HTTPHeaders) -> None:
        """Check that a request comes from a page of this service.

        Raises Forbidden if it comes from elsewhere, or does not say.
        """
        site, origin = headers.get("Sec-Fetch-Site"), headers.get("Origin")
        is_own_host = self._public_url.is_origin_of(headers.get("Host", ""))
        says_so = site == "same-origin" or origin == self._public_url.url
        contradicts = site not in (None, "same-origin") or origin not in (
            None,
            self._public_url.url,
        )
        if not is_own_host or not says_so or contradicts:
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
