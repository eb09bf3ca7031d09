"""QR codes of short links over HTTP: what they show, their sizes, and their headers."""

import contextlib
from xml.etree import ElementTree

import segno

from tests.factories import create_link
from tests.web.each import each_case
from tests.web.world import World
from tracker.links.qr_code import ImageFormat, QrStyle, qr_image

PNG = b"\x89PNG\r\n\x1a\n"


def png_size(image: bytes) -> tuple[int, int]:
    assert image.startswith(PNG)
    return int.from_bytes(image[16:20], "big"), int.from_bytes(image[20:24], "big")


async def test_a_code_shows_the_short_url_as_an_image_that_runs_nothing(world: World) -> None:
    domain = await world.services.links.domains.create(world.account.id, "go.example")
    link = await create_link(world.services, world.account.id, "Spring_1", domain=domain)
    await world.services.links.links.change(link.id, {"archived": True})
    kinds: list[tuple[ImageFormat, str]] = [("svg", "image/svg+xml"), ("png", "image/png")]
    for kind, media_type in kinds:
        response = await world.api.get(f"/api/short-links/{link.id}/qr.{kind}")
        assert response.status == 200
        assert response.body == qr_image("http://go.example/c/Spring_1?qr=1", kind)
        expected = {
            "Content-Type": media_type,
            "Content-Disposition": f'inline; filename="Spring_1.{kind}"',
            "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
            "X-Content-Type-Options": "nosniff",
        }
        assert {name: response.headers[name] for name in expected} == expected


def test_an_image_holds_the_modules_of_the_code() -> None:
    url = "https://go.example/c/abc"
    modules = segno.make(url, error="m", boost_error=False, micro=False)
    width, _ = modules.symbol_size(scale=1, border=0)
    assert png_size(qr_image(url, "png", QrStyle(1, 0))) == (width, width)
    assert png_size(qr_image(url, "png", QrStyle(40, 10))) == ((width + 20) * 40,) * 2
    svg = ElementTree.fromstring(qr_image(url, "svg", QrStyle(3, 2)))
    pixels = (width + 4) * 3
    assert (svg.get("width"), svg.get("height")) == (f"{pixels}px",) * 2
    assert svg.get("viewBox") == f"0 0 {pixels} {pixels}"


@each_case(
    "query, error",
    [
        ("scale=0", "scale: must be a whole number >= 1"),
        ("scale=41", "scale: must be a whole number <= 40"),
        ("border=11", "border: must be a whole number <= 10"),
        ("color=red", "color: must be text matching regex '^[0-9A-Fa-f]{6}$'"),
        ("color=FF8800", "color: too light on white for scanners; choose a darker one"),
        ("correction=x", "correction: must be h or l or m or q"),
    ],
)
async def test_a_size_beyond_the_limits_is_named_with_its_rule(
    world: World, query: str, error: str
) -> None:
    link = await create_link(world.services, world.account.id, None)
    for kind in ("svg", "png"):
        response = await world.api.get(f"/api/short-links/{link.id}/qr.{kind}?{query}")
        assert (response.status, response.error) == (400, error)
    assert (await world.api.get(f"/api/short-links/{link.id}/qrxsvg")).status == 404


async def test_an_account_has_ten_codes_made_at_once(world: World) -> None:
    link = await create_link(world.services, world.account.id)
    path = f"/api/short-links/{link.id}/qr.svg"
    assert (await world.api.get(path)).status == 200
    with contextlib.ExitStack() as held:
        for _ in range(10):
            held.enter_context(world.services.links.qr_limiter.acquire(world.account.id))
        refused = await world.api.get(path)
    assert (refused.status, refused.headers["Retry-After"]) == (429, "1")
    assert refused.error == "QR: 10 codes of the account are under way; try again"
