"""The headers that confine the console's pages: their sources, scripts and frames."""

import base64
from functools import cache
from hashlib import sha256
from typing import Final

from tracker.console.assets import import_map

_DENIED: Final = (
    "accelerometer",
    "autoplay",
    "camera",
    "display-capture",
    "encrypted-media",
    "fullscreen",
    "geolocation",
    "gyroscope",
    "magnetometer",
    "microphone",
    "midi",
    "payment",
    "publickey-credentials-get",
    "screen-wake-lock",
    "usb",
    "xr-spatial-tracking",
)
"""Features of browsers that no page uses."""


@cache
def content_security_policy() -> str:
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
def page_headers() -> dict[str, str]:
    return {
        "Content-Security-Policy": content_security_policy(),
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Permissions-Policy": ", ".join(f"{name}=()" for name in _DENIED),
        "Referrer-Policy": "same-origin",
        "X-Frame-Options": "DENY",
        # The back button must not show a page after signing out.
        "Cache-Control": "no-store",
    }
