"""`/openapi.json`, and `/docs`, which shows it with Swagger UI from files of this service."""

from functools import cache
from hashlib import sha256
from pathlib import Path

from tracker.errors import NotFound
from tracker.web.handler import JSON, Content, Handler
from tracker.web.limits import ASSET_CACHE_SECONDS
from tracker.web.openapi_parts import TEXT, json_content, public_answer, public_error
from tracker.web.operator_routes import operator_routes, text_response

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

# Swagger UI adds style elements; its images are data URLs in its style sheet.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)


class OpenApi(Handler):
    """The handler of `/openapi.json`. The application's setting `description` returns it."""

    def get(self) -> None:
        self.finish_with(Content(JSON, self.settings["description"]()))

    head = get


class Docs(Handler):
    """The handler of `/docs`, a page that shows the OpenAPI document."""

    def get(self) -> None:
        self.set_header("Content-Type", "text/html; charset=utf-8")
        self.set_header("Content-Security-Policy", _POLICY)
        self.set_header("Referrer-Policy", "no-referrer")
        self.set_header("Cache-Control", "no-cache")
        self.finish(_page(api="elsewhere" if self.web.internal_port else "here"))

    head = get


class RootRedirect(Handler):
    """The handler of `/` in development. In production the base host has no front page."""

    def get(self) -> None:
        self.redirect(f"{self.web.public_url.url}/console")

    head = get


class DocsAsset(Handler):
    """The handler of the files that `/docs` loads, under URLs that change with their content."""

    def get(self) -> None:
        """Raises NotFound if there is no asset with this name."""
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
    """Return the page. `api` is "here" if the API is on the same port, else "elsewhere"."""
    version = sha256(b"".join(map(_content, ASSETS))).hexdigest()[:12]
    text = (_STATIC / "docs.html").read_text(encoding="utf-8")
    return text.replace("{version}", version).replace("{api}", api)


ENDPOINTS = (
    *operator_routes(
        "/openapi.json",
        OpenApi,
        "getOpenApiDocument",
        "This document",
        {200: public_answer("OpenAPI 3.1.", json_content({"type": "object"}))},
    ),
    *operator_routes(
        "/docs",
        Docs,
        "getDocs",
        "A page that shows this document",
        {200: text_response("A page.", "text/html")},
    ),
    *operator_routes(
        "/docs/{file}",
        DocsAsset,
        "getDocsFile",
        "A file of that page",
        {
            200: text_response("The file.", "text/javascript", "text/css"),
            404: public_error(404, "No such file.", "no such file"),
        },
        {"name": "file", "in": "path", "required": True, "schema": TEXT | {"enum": list(ASSETS)}},
    ),
    *(
        row._replace(in_production=False)
        for row in operator_routes("/", RootRedirect, "getFront", "The first page of a trial", {})
    ),
)
