"""Requests to the APIs of sources: GET alone, under the rules of webhooks' targets.

A request goes to public addresses that were checked for it, follows no redirect, has a timeout and
a limit of bytes, and waits as a source's 429 or 503 tells. Keys are in memory alone.
"""

import asyncio
import contextlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, Final
from urllib.parse import urlsplit

from tornado.httpclient import HTTPRequest, HTTPResponse
from tornado.httputil import url_concat
from tornado.simple_httpclient import SimpleAsyncHTTPClient

from tracker.clock import now
from tracker.errors import BadRequest
from tracker.imports.source import Parameters, Source
from tracker.webhooks.sending.resolver import CheckedResolver, RefusedHost
from tracker.webhooks.services import WebhookServices
from tracker.webhooks.target import FIELD, check_addresses, check_target

MAX_ANSWER_BYTES: Final = 8 * 1024 * 1024
MAX_REQUESTS: Final = 200_000
"""Of one import. Some sources tell the visits of each link alone."""

MAX_WAITS: Final = 10
MAX_WAIT_SECONDS: Final = 900.0
_CONNECT_SECONDS: Final = 5.0
_REQUEST_SECONDS: Final = 30.0
_WAIT_STATUSES: Final = (429, 503)


@dataclass
class HttpApi:
    """The API of one source for one import."""

    http: SimpleAsyncHTTPClient
    url: str
    headers: Mapping[str, str]
    parameters: Mapping[str, str]
    requests: int = 0

    @property
    def host(self) -> str:
        """Return what tells installations apart."""
        return urlsplit(self.url).netloc.lower()

    async def get(self, path: str, parameters: Parameters) -> Any:
        """Return the JSON at `path`. Raises BadRequest with address and status if there is none."""
        address = f"{self.url.rstrip('/')}/{path.lstrip('/')}".rstrip("/")
        texts = {name: str(value) for name, value in parameters.items()}
        url = url_concat(address, {**texts, **self.parameters})
        answer = await self._fetch(address, url)
        for waits in range(MAX_WAITS):
            if answer.code not in _WAIT_STATUSES:
                break
            await asyncio.sleep(_wait_seconds(answer, waits))
            answer = await self._fetch(address, url)
        if answer.code != 200:
            raise BadRequest(f"api: {address} answered {answer.code}")
        try:
            # Not strict: titles have raw control characters in the answers of some sources.
            return json.loads(answer.body.decode(errors="replace"), strict=False)
        except ValueError:
            raise BadRequest(f"api: {address} answered 200, but no JSON") from None

    async def _fetch(self, address: str, url: str) -> HTTPResponse:
        self.requests += 1
        if self.requests > MAX_REQUESTS:
            raise BadRequest(f"api: more than {MAX_REQUESTS} requests; import files")
        request = HTTPRequest(
            url,
            headers={"Accept": "application/json", **self.headers},
            user_agent="tracker-imports",
            connect_timeout=_CONNECT_SECONDS,
            request_timeout=_REQUEST_SECONDS,
            follow_redirects=False,
            decompress_response=False,
        )
        try:
            return await self.http.fetch(request, raise_error=False)
        except RefusedHost as error:
            raise BadRequest(f"api: {address}: {error}") from None
        except Exception as error:  # Tornado's client raises undocumented types
            raise BadRequest(f"api: {address}: {type(error).__name__}") from None


class SourceApis:
    """The client of all sources."""

    def __init__(self, webhooks: WebhookServices) -> None:
        self._webhooks = webhooks
        resolver = CheckedResolver(
            allow_private=webhooks.allows_private,
            dns_address=webhooks.links.dns_address,
            served_hosts=webhooks.links.served_hosts,
        )
        self._http = SimpleAsyncHTTPClient(
            force_instance=True, resolver=resolver, max_body_size=MAX_ANSWER_BYTES
        )

    async def open(self, source: Source, url: str, key: str) -> HttpApi:
        """Return the API of a source. Raises BadRequest if it has none or `url` is not public."""
        if source.read_api is None:
            raise BadRequest(f"api: {source.label} has none that can be read; send a file")
        url, webhooks = url or source.api_address, self._webhooks
        try:
            host, _ = check_target(url, webhooks.allows_private, webhooks.allows_http)
            if "?" in url or "#" in url:  # perhaps with a key, and messages name addresses
                raise BadRequest(f"{FIELD}: must have neither ? nor #; the key is sent apart")
            if not webhooks.allows_private:
                await check_addresses(host, webhooks.dns.resolve)
        except BadRequest as error:
            raise error.with_message(error.message.replace(FIELD, "api.url")) from None
        return HttpApi(self._http, url, source.key_headers(key), source.key_parameters(key))

    def close(self) -> None:
        self._http.close()


def _wait_seconds(answer: HTTPResponse, waits: int) -> float:
    told, seconds = answer.headers.get("Retry-After", ""), 2.0**waits
    if told.isascii() and told.isdigit():
        seconds = float(told)
    elif told:
        with contextlib.suppress(ValueError):  # neither seconds nor a date
            seconds = max(0.0, parsedate_to_datetime(told).timestamp() - now().timestamp())
    return min(seconds, MAX_WAIT_SECONDS)
