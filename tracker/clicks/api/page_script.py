"""`/js/1/tracker.js`: the script of landing pages, and `/js/tracker.json`: its path and hash.

Guarantee: a version never changes, or pages that name its hash would block it. A changed script is
a new file and path; the old one stays. Custom domains serve both (`public_url.EVERYWHERE`).
"""

import gzip
from base64 import b64encode
from hashlib import sha384
from pathlib import Path
from typing import Final

from tracker.syntax.accept import accepts_gzip
from tracker.web.handler import Content, Handler
from tracker.web.limits import ASSET_CACHE_SECONDS
from tracker.web.openapi_parts import TEXT, json_content, public_answer
from tracker.web.operator_routes import operator_routes, text_response

PATH: Final = "/js/1/tracker.js"
SCRIPT: Final = (Path(__file__).parents[1] / "script" / "tracker-1.js").read_bytes()
GZIPPED: Final = gzip.compress(SCRIPT, mtime=0)
INTEGRITY: Final = f"sha384-{b64encode(sha384(SCRIPT).digest()).decode()}"


class PageScript(Handler):
    """The handler of both. Browsers compare a hash only with what any page may read."""

    def get(self) -> None:
        self.set_header("Access-Control-Allow-Origin", "*")
        self.set_header("Cross-Origin-Resource-Policy", "cross-origin")
        if self.request.path != PATH:
            self.answer(_FOUND)
            return
        is_gzipped = accepts_gzip(self.header("Accept-Encoding"))
        if is_gzipped:
            self.set_header("Content-Encoding", "gzip")
        self.set_header("Vary", "Accept-Encoding")
        self.set_header("Cache-Control", f"public, max-age={ASSET_CACHE_SECONDS}, immutable")
        body = GZIPPED if is_gzipped else SCRIPT
        self.finish_with(Content("text/javascript; charset=utf-8", body))

    head = get


_NAMES = ("path", "integrity")
_NEWEST = {"type": "object", "properties": dict.fromkeys(_NAMES, TEXT), "required": [*_NAMES]}
_FOUND = {"path": PATH, "integrity": INTEGRITY}

ENDPOINTS = tuple(
    row._replace(tag="Clicks")
    for path, name, summary, answer in (
        (
            *("/js/tracker.json", "getNewestPageScript"),
            "Path and hash of the script for landing pages",
            public_answer("The newest.", json_content(_NEWEST, _FOUND)),
        ),
        (
            *(PATH, "getPageScript", "The script for landing pages"),
            text_response("The script.", "text/javascript"),
        ),
    )
    for row in operator_routes(path, PageScript, name, summary, {200: answer})
)
