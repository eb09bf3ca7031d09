"""`/openapi.json`, and `/docs`, which shows it: Swagger UI, served from here alone.

Both are made when they are first asked for, and kept.
"""

from functools import cache
from hashlib import sha256
from pathlib import Path

from tracker.api.handler import Handler
from tracker.api.limits import ASSET_CACHE_SECONDS
from tracker.api.openapi.parts import TEXT, json_content, public_answer, public_error
from tracker.api.operator_routes import operator_routes, text_response
from tracker.errors import NotFound

_STATIC = Path(__file__).parent / "static"
ASSETS = {
    "swagger-ui.css": (_STATIC / "swagger-ui/swagger-ui.css", "text/css; charset=utf-8"),
    "swagger-ui-bundle.js": (
        _STATIC / "swagger-ui/swagger-ui-bundle.js",
        "text/javascript; charset=utf-8",
    ),
    "docs.js": (_STATIC / "docs.js", "text/javascript; charset=utf-8"),
}
"""File and media type of each asset, by name."""

# Swagger UI writes style elements; its pictures are data in its style sheet.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)


class OpenApi(Handler):
    """The handler of `/openapi.json`, which the application's setting `description` makes."""

    def get(self) -> None:
        """Answer with the OpenAPI document."""
        self.set_header("Content-Type", "application/json; charset=utf-8")
        self.finish(self.settings["description"]())

    head = get


class Docs(Handler):
    """`/docs`: the page that shows the description."""

    def get(self) -> None:
        """Answer with the page that shows the document."""
        self.set_header("Content-Type", "text/html; charset=utf-8")
        self.set_header("Content-Security-Policy", _POLICY)
        self.set_header("Referrer-Policy", "no-referrer")
        self.set_header("Cache-Control", "no-cache")
        self.finish(_page(api="elsewhere" if self.services.settings.internal_port else "here"))

    head = get


class Front(Handler):
    """The first page of a trial. In production the base host has none: it is visitors'."""

    def get(self) -> None:
        """Redirect to the documentation."""
        self.redirect("/docs")

    head = get


class DocsAsset(Handler):
    """The files that the page loads, under addresses that change with their content."""

    def get(self) -> None:
        """Answer with an asset. Raises NotFound if there is none of this name."""
        name = self.request.path.removeprefix("/docs/")
        if name not in ASSETS:
            raise NotFound("no such file")
        self.set_header("Content-Type", ASSETS[name][1])
        self.set_header("Content-Security-Policy", "default-src 'none'")
        self.set_header("Cache-Control", f"public, max-age={ASSET_CACHE_SECONDS}, immutable")
        self.finish(_content(name))

    head = get


@cache
def _content(name: str) -> bytes:
    return ASSETS[name][0].read_bytes()


@cache
def _page(api: str) -> str:
    """Return the page. `api` says whether the API is on the same port: "here" or "elsewhere"."""
    version = sha256(b"".join(map(_content, ASSETS))).hexdigest()[:12]
    text = (_STATIC / "docs.html").read_text(encoding="utf-8")
    return text.replace("{version}", version).replace("{api}", api)


ENDPOINTS = (
    *operator_routes(
        "/openapi.json",
        OpenApi,
        "getDescription",
        "This document",
        {200: public_answer("OpenAPI 3.1.", json_content({"type": "object"}))},
    ),
    *operator_routes(
        "/docs",
        Docs,
        "getDocs",
        "This document, for reading",
        {200: text_response("A page.", "text/html")},
    ),
    *operator_routes(
        "/docs/{file}",
        DocsAsset,
        "getDocsFile",
        "What the page consists of",
        {
            200: text_response("The file.", "text/javascript", "text/css"),
            404: public_error(404, "No such file.", "no such file"),
        },
        {"name": "file", "in": "path", "required": True, "schema": TEXT | {"enum": list(ASSETS)}},
    ),
    *(
        row._replace(in_production=False)
        for row in operator_routes("/", Front, "getFront", "The first page of a trial", {})
    ),
)
