"""The handlers of `/console`: one page for every path below it, and the files that it loads.

They answer on the host of BASE_URL only, because nobody should type a password on an account's
domain.
"""

from collections.abc import Mapping
from typing import Any, Final

from tornado.web import RequestHandler

from tracker.access.session_cookie import SessionCookie
from tracker.console.assets import PREFIX, Asset, assets_by_path, shell
from tracker.console.policy import page_headers
from tracker.errors import ErrorCode, NotFound
from tracker.metrics import show_failures
from tracker.web.handler import Handler
from tracker.web.limits import ASSET_CACHE_SECONDS

_THEMES: Final = ("light", "dark")
_ZERO_WEIGHTS: Final = ("q=0", "q=0.0", "q=0.00", "q=0.000")


class OwnHostHandler(Handler):
    """The base of handlers that answer on the host of BASE_URL only."""

    def prepare(self) -> None:
        """Check the request. Raises NotFound on any other host."""
        if not self.web.public_url.is_origin_of(self.header("Host")):
            url = self.web.public_url.url
            raise NotFound(f"no such path; the console is at {url}/console")
        super().prepare()

    def finish_asset(self, asset: Asset) -> None:
        """Finish with a page or file, compressed if the client accepts gzip."""
        self.set_header("Content-Type", asset.content_type)
        self.set_header("Vary", "Accept-Encoding")
        if _accepts_gzip(self.header("Accept-Encoding")):
            self.set_header("Content-Encoding", "gzip")
            self.finish(asset.gzipped)
        else:
            self.finish(asset.body)


class Page(OwnHostHandler):
    """The handler of every page. The router in the page reads the path."""

    def get(self) -> None:
        for name, value in page_headers().items():
            self.set_header(name, value)
        cookie = SessionCookie(self.web.public_url)
        has_session = cookie.read(self.request.headers) is not None
        theme = self.get_cookie("theme") or ""
        development = not self.web.is_production
        theme = theme if theme in _THEMES else ""
        self.finish_asset(shell(self.request.path, development, has_session, theme))

    head = get


class AssetFile(OwnHostHandler):
    """The handler of the files that pages load."""

    def get(self) -> None:
        """Answer with a file. Raises NotFound if no file has this path."""
        asset = assets_by_path().get(self.request.path)
        if asset is None:
            raise NotFound("no such file", code=ErrorCode.NOT_FOUND)
        self.set_header("Content-Security-Policy", "default-src 'none'")
        self.set_header("Cross-Origin-Resource-Policy", "same-origin")
        self.set_header("Cache-Control", f"public, max-age={ASSET_CACHE_SECONDS}, immutable")
        self.finish_asset(asset)

    head = get


def _accepts_gzip(accept_encoding: str) -> bool:
    """Return whether an Accept-Encoding header names gzip with a weight above zero."""
    for part in accept_encoding.lower().split(","):
        coding, _, weight = part.partition(";")
        if coding.strip() == "gzip":
            return weight.replace(" ", "") not in _ZERO_WEIGHTS
    return False


def console_routes(
    shared: Mapping[str, Any],
) -> list[tuple[str, type[RequestHandler], dict[str, Any]]]:
    methods = ("GET", "HEAD")
    rows: list[tuple[str, str, type[RequestHandler]]] = [
        (rf"{PREFIX}.*", f"{PREFIX}{{file}}", AssetFile),
        (r"/console(?:/.*)?", "/console", Page),
    ]
    for _, route, _ in rows:
        show_failures(route, methods)
    return [
        (pattern, handler, {**shared, "route": route, "methods": methods})
        for pattern, route, handler in rows
    ]
