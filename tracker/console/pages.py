"""The handlers of `/console`: one page for every path below it, and the files that it loads.

Headers confine the page's sources, scripts and frames. The handlers answer on the host of BASE_URL
only, because nobody should type a password on an account's domain.
"""

import base64
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from typing import Any, Final

from tornado.web import RequestHandler

from tracker.access.session_cookie import SessionCookie
from tracker.console.assets import PREFIX, Asset, assets_by_path, import_map, shell
from tracker.errors import ErrorCode, NotFound
from tracker.metrics import show_failures
from tracker.syntax.accept import accepts_gzip
from tracker.web.handler import Handler
from tracker.web.limits import ASSET_CACHE_SECONDS

_THEMES: Final = ("light", "dark")

_DENIED: Final = (
    *("accelerometer", "autoplay", "camera", "display-capture", "encrypted-media", "fullscreen"),
    *("geolocation", "gyroscope", "magnetometer", "microphone", "midi", "payment"),
    *("publickey-credentials-get", "screen-wake-lock", "usb", "xr-spatial-tracking"),
)
"""Features of browsers that no page uses."""


class OwnHostHandler(Handler):
    """The base of handlers that answer on the host of BASE_URL only."""

    def prepare(self) -> None:
        """Raises NotFound on any other host."""
        if not self.web.public_url.is_origin_of(self.header("Host")):
            url = self.web.public_url.url
            raise NotFound(f"no such path; the console is at {url}/console")
        super().prepare()

    def finish_asset(self, asset: Asset) -> None:
        self.set_header("Content-Type", asset.content_type)
        self.set_header("Vary", "Accept-Encoding")
        if accepts_gzip(self.header("Accept-Encoding")):
            self.set_header("Content-Encoding", "gzip")
            self.finish(asset.gzipped)
        else:
            self.finish(asset.body)


class PageHandler(OwnHostHandler):
    """The handler of every page. The router in the page reads the path."""

    def get(self) -> None:
        for name, value in _page_headers().items():
            self.set_header(name, value)
        cookie = SessionCookie(self.web.public_url)
        has_session = cookie.read(self.request.headers) is not None
        theme = self.get_cookie("theme") or ""
        theme = theme if theme in _THEMES else ""
        development = not self.web.is_production
        self.finish_asset(shell(self.request.path, development, has_session, theme))

    head = get


class AssetFile(OwnHostHandler):
    """The handler of the files that pages load."""

    def get(self) -> None:
        """Raises NotFound if no file has this path."""
        asset = assets_by_path().get(self.request.path)
        if asset is None:
            raise NotFound("no such file", code=ErrorCode.NOT_FOUND)
        self.set_header("Content-Security-Policy", "default-src 'none'")
        self.set_header("Cross-Origin-Resource-Policy", "same-origin")
        self.set_header("Cache-Control", f"public, max-age={ASSET_CACHE_SECONDS}, immutable")
        self.finish_asset(asset)

    head = get


@cache
def _content_security_policy() -> str:
    """Allow only this host's files, and nothing inline but the import map.

    Browsers take an import map only inline, so its hash is allowed.
    """
    digest = base64.b64encode(sha256(import_map().encode()).digest()).decode()
    rules = {
        "default-src": "'none'",
        "script-src": f"'self' 'sha256-{digest}'",
        "style-src": "'self'",
        "img-src": "'self' data:",
        "connect-src": "'self'",
        "frame-ancestors": "'none'",
        "base-uri": "'none'",
        "form-action": "'self'",
        "require-trusted-types-for": "'script'",
        "trusted-types": "'none'",
    }
    return "; ".join(f"{name} {value}" for name, value in rules.items())


@cache
def _page_headers() -> dict[str, str]:
    return {
        "Content-Security-Policy": _content_security_policy(),
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Permissions-Policy": ", ".join(f"{name}=()" for name in _DENIED),
        "Referrer-Policy": "same-origin",
        "X-Frame-Options": "DENY",
        # The back button must not show a page after signing out.
        "Cache-Control": "no-store",
    }


def console_routes(
    shared: Mapping[str, Any],
) -> list[tuple[str, type[RequestHandler], dict[str, Any]]]:
    methods = ("GET", "HEAD")
    rows: list[tuple[str, str, type[RequestHandler]]] = [
        (rf"{PREFIX}.*", f"{PREFIX}{{file}}", AssetFile),
        (r"/console(?:/.*)?", "/console", PageHandler),
    ]
    for _, route, _ in rows:
        show_failures(route, methods)
    return [
        (pattern, handler, {**shared, "route": route, "methods": methods})
        for pattern, route, handler in rows
    ]
