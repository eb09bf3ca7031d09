"""The page and its files: where they answer, how they are cached, and what confines them."""

import base64
import gzip
import re
from hashlib import sha256

import pytest
from tornado.netutil import bind_sockets

from tests.web.client import Client
from tracker.console.assets import STATIC, VENDORED, assets
from tracker.http.server import Server
from tracker.service.api.routes import INTERNAL_ENDPOINTS, MONITORING_ENDPOINTS
from tracker.service.app import operators_app
from tracker.service.http_servers import render_rejection
from tracker.service.services import Services

VENDORED_SHA256 = {
    "vendor/preact.mjs": "bdcbd9abdf2c77c5c45326eab42191e949222d479d0d5f69467387a77040cb55",
    "vendor/hooks.mjs": "e862ab2973aa6455eaa0f77c5d832d2157d6be59a17c8ba546550a575b58c6b4",
    "vendor/signals-core.mjs": "0c80bc127d72ecb1496ef116ffddae75079829a3af01e7f417c8e5a6474c68b6",
    "vendor/signals.mjs": "ba8177597f45acaca4d05dcf3966b527d0a8264cfa2b0a87ace92dff324217f8",
    "vendor/htm.module.js": "ab33dd3f38059b9be4d5f5350128eefb2356639c4e0bbe9d9e8b3ba75847e9e4",
}


@pytest.mark.parametrize("path", ["/console", "/console/", "/console/links", "/console/a/b?c=d"])
async def test_every_path_of_the_console_is_the_same_page(client: Client, path: str) -> None:
    assert (await client.post(path, b"x")).status == 405
    page = await client.get(path, Host="Tracker.test:80")
    assert (page.status, page.headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert page.headers["Cache-Control"] == "no-store"
    assert b"{" not in page.body.replace(_import_map(page.body), b"")
    packed = await client.get(path, Accept_Encoding="gzip")
    assert gzip.decompress(packed.body) == page.body


@pytest.mark.parametrize("host", ["go.example.com", "tracker.test:81", "tracker.test.example", ""])
@pytest.mark.parametrize("path", ["/console", "/console/sign-in", "/console/assets/x.js"])
async def test_other_hosts_have_no_console(client: Client, path: str, host: str) -> None:
    response = await client.get(path, Host=host)
    assert (response.status, "/console" in response.error) == (404, True)
    assert "Set-Cookie" not in response.headers


async def test_only_own_files_and_the_import_map_may_run(client: Client) -> None:
    page = await client.get("/console")
    policy = dict(
        rule.split(" ", 1) for rule in page.headers["Content-Security-Policy"].split("; ")
    )
    digest = base64.b64encode(sha256(_import_map(page.body)).digest()).decode()
    assert policy["script-src"] == f"'self' 'sha256-{digest}'"
    assert policy["default-src"] == policy["frame-ancestors"] == policy["base-uri"] == "'none'"
    assert (policy["require-trusted-types-for"], policy["style-src"]) == ("'script'", "'self'")
    assert "unsafe" not in page.headers["Content-Security-Policy"]
    assert page.headers["X-Frame-Options"] == "DENY"
    assert page.headers["Cross-Origin-Opener-Policy"] == "same-origin"
    assert b"style=" not in page.body
    permissions = page.headers["Permissions-Policy"]
    assert "clipboard-write" not in permissions
    assert all(rule.endswith("=()") for rule in permissions.split(", "))


async def test_files_are_compressed_and_cached_for_a_year(client: Client) -> None:
    page = (await client.get("/console")).body.decode()
    paths = set(re.findall(r"/console/assets/[^\"]+", page))
    assert len(paths) >= len(VENDORED) + 3
    for path in paths:
        plain = await client.get(path)
        packed = await client.get(path, Accept_Encoding="gzip, br")
        assert (plain.status, packed.status) == (200, 200), path
        assert packed.headers["Content-Encoding"] == "gzip"
        assert gzip.decompress(packed.body) == plain.body
        assert "immutable" in packed.headers["Cache-Control"]
        assert sha256(plain.body).hexdigest()[:12] in path


@pytest.mark.parametrize(
    "path", ["index.html", "app.js", "../pages.py", "%2e%2e/pages.py", "vendor/LICENSE-preact", ""]
)
async def test_other_files_are_not_found(client: Client, path: str) -> None:
    response = await client.get(f"/console/assets/{path}")
    assert (response.status, response.error) == (404, "no such file")


@pytest.mark.parametrize(
    ("cookie", "attributes"),
    [
        ("", ('data-session="no"', 'data-theme=""')),
        ("__Host-session=x", ('data-session="no"', 'data-theme=""')),
        ("session=", ('data-session="no"', 'data-theme=""')),
        ("session=x; theme=dark", ('data-session="yes"', 'data-theme="dark"')),
        ('theme="><script>', ('data-session="no"', 'data-theme=""')),
    ],
)
async def test_the_page_knows_its_theme_and_whether_there_may_be_a_session(
    client: Client, cookie: str, attributes: tuple[str, str]
) -> None:
    page = (await client.get("/console", Cookie=cookie)).body.decode()
    assert all(attribute in page for attribute in attributes)


def test_vendored_files_are_those_of_their_makers() -> None:
    names = {str(path.relative_to(STATIC)) for path in (STATIC / "vendor").glob("*.*js")}
    assert names == set(VENDORED_SHA256) == set(VENDORED.values())
    for name, digest in VENDORED_SHA256.items():
        assert sha256(assets()[name].body).hexdigest() == digest, name


@pytest.mark.parametrize(
    ("accepted", "encoding"),
    [
        ("", None),
        ("br, zstd", None),
        ("x-gzip-like", None),
        ("gzip;q=0, br", None),
        ("gzip ; q=0.000", None),
        ("br, GZIP;q=0.5", "gzip"),
    ],
)
async def test_files_are_compressed_only_for_clients_that_take_gzip(
    client: Client, accepted: str, encoding: str | None
) -> None:
    path = assets()["core/api.js"].path
    response = await client.get(path, Accept_Encoding=accepted)
    assert response.headers.get("Content-Encoding") == encoding
    assert response.headers["Vary"] == "Accept-Encoding"
    assert int(response.headers["Content-Length"]) == len(response.body)


@pytest.mark.parametrize("path", ["/console", assets()["app.css"].path])
async def test_head_answers_like_get_without_a_body(client: Client, path: str) -> None:
    full, head = await client.get(path), await client.request("HEAD", path)
    assert (head.status, head.body) == (200, b"")
    assert head.headers["Content-Length"] == full.headers["Content-Length"]
    assert head.headers["Content-Type"] == full.headers["Content-Type"]


async def test_the_ports_of_operators_have_no_console(services: Services) -> None:
    for endpoints in (INTERNAL_ENDPOINTS, MONITORING_ENDPOINTS):
        application = operators_app(services, endpoints)
        server = Server(application, render_rejection)
        sockets = bind_sockets(0, "127.0.0.1")
        await server.listen(sockets)
        host = services.settings.base_url.removeprefix("http://")
        client = Client(sockets[0].getsockname()[1])
        for path in ("/console", assets()["app.js"].path):
            assert (await client.get(path, Host=host)).status == 404
        server.stop()
        await server.finish(0, 0)


def _import_map(page: bytes) -> bytes:
    found = re.search(rb'<script type="importmap">(.*?)</script>', page)
    assert found is not None
    return found[1]
