"""Access tokens of Google, which a header's refresh token brings for an hour each.

The header is `Authorization: Google-Refresh <client id> <client secret> <refresh token>`.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Final
from urllib.parse import urlencode

import msgspec

from tracker.webhooks.delivery import Outcome
from tracker.webhooks.limits import MAX_REMEMBERED_WEBHOOKS

URL: Final = "https://oauth2.googleapis.com/token"

_SCHEME: Final = "Google-Refresh "
_SECONDS: Final = 6.0
"""With an attempt this is shorter than a delivery's lease. So long a failure is not repeated."""

_EARLY_SECONDS: Final = 60


class NoToken(Exception):
    """Why there is no access token: `<class>: <detail>`."""


class _Granted(msgspec.Struct):
    access_token: str
    expires_in: int = 3600


class AccessTokens:
    """The tokens of one process. `ask` sends a form to a URL."""

    def __init__(self, ask: Callable[[str, bytes], Awaitable[Outcome]]) -> None:
        self._ask = ask
        self._known: dict[str, tuple[float, asyncio.Task[str]]] = {}

    async def filled(self, headers: Mapping[str, str]) -> Mapping[str, str]:
        """Return headers with an access token for a refresh token. Raises NoToken."""
        name, header = _authorization(headers)
        if not header.startswith(_SCHEME):
            return headers
        now = asyncio.get_running_loop().time()
        if header not in self._known or now >= self._known[header][0]:
            if len(self._known) >= MAX_REMEMBERED_WEBHOOKS:
                self._known.clear()
            asking = asyncio.create_task(self._renewed(header))
            self._known[header] = now + _SECONDS, asking
        return {**headers, name: await asyncio.shield(self._known[header][1])}

    def forget(self, headers: Mapping[str, str]) -> None:
        """Forget a token that was refused."""
        self._known.pop(_authorization(headers)[1], None)

    async def _renewed(self, header: str) -> str:
        names = ("client_id", "client_secret", "refresh_token")
        form = dict(zip(names, header.split()[1:], strict=False), grant_type="refresh_token")
        try:
            async with asyncio.timeout(_SECONDS):
                answer = await self._ask(URL, urlencode(form).encode())
            granted = msgspec.json.decode(answer.answer, type=_Granted)
        except TimeoutError:
            raise NoToken("timeout: no access token") from None
        except ValueError:  # of msgspec too
            body = "" if answer.delivered else answer.answer  # it may have a token after all
            said = answer.error or f"answered {answer.code} {body}"
            raise NoToken(f"token: Google gave none: {said}") from None
        until = asyncio.get_running_loop().time() + granted.expires_in - _EARLY_SECONDS
        known = self._known.get(header)
        if known and known[1] is asyncio.current_task():  # else forgotten meanwhile
            self._known[header] = until, known[1]
        return f"Bearer {granted.access_token}"


def _authorization(headers: Mapping[str, str]) -> tuple[str, str]:
    """Return the name of the header as it was written, and its value."""
    return next((one for one in headers.items() if one[0].lower() == "authorization"), ("", ""))
