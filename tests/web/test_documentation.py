"""`/docs` shows the OpenAPI document in a browser, without requests to other hosts."""

import re

from tests.web.client import Client
from tests.web.each import each_case
from tracker.web.openapi.documentation import ASSETS


async def test_the_page_loads_nothing_from_elsewhere(client: Client) -> None:
    page = await client.get("/docs")
    assert page.status == 200
    assert page.headers["Content-Type"] == "text/html; charset=utf-8"
    loaded = re.findall(r'(?:src|href)="([^"]+)"', page.body.decode())
    assert {address.partition("?")[0] for address in loaded} == {
        "data:,",
        "openapi.json",
        *(f"docs/{name}" for name in ASSETS),
    }
    assert b"://" not in page.body
    assert b'data-api="here"' in page.body  # so requests can be tried out
    policy = page.headers["Content-Security-Policy"]
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules["default-src"] == rules["frame-ancestors"] == "'none'"
    assert rules["script-src"] == rules["connect-src"] == "'self'"
    assert "://" not in policy
    assert "*" not in policy
    assert b"validatorUrl: null" in (await client.get("/docs/docs.js")).body


@each_case("name", ASSETS)
async def test_assets_have_their_media_type_and_are_cached_for_a_year(
    client: Client, name: str
) -> None:
    page = (await client.get("/docs")).body.decode()
    match = re.search(rf'"(docs/{name}\?v=[0-9a-f]{{12}})"', page)
    assert match is not None
    asset = await client.get(f"/{match[1]}")
    assert asset.status == 200
    assert asset.headers["Content-Type"] == ASSETS[name][1]
    assert "immutable" in asset.headers["Cache-Control"]
    assert asset.headers["X-Content-Type-Options"] == "nosniff"
    assert asset.body == ASSETS[name][0].read_bytes()
    head = await client.request("HEAD", f"/{match[1]}")
    assert (head.status, head.body) == (200, b"")
    assert head.headers["Content-Length"] == str(len(asset.body))


@each_case(
    "path", ["/docs/", "/docs/LICENSE", "/docs/../documentation.py", "/docs/%2e%2e/openapi.py"]
)
async def test_other_files_are_not_found(client: Client, path: str) -> None:
    response = await client.get(path)
    assert (response.status, response.error) == (404, "no such file")
    assert "Cache-Control" not in response.headers
