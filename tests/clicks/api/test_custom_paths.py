"""The paths of proven custom domains, and the hosts that keep the service's own paths."""

from urllib.parse import urlsplit

import pytest

from tests.factories import LANDING, create_link
from tests.web.records import journaled_clicks
from tests.web.world import World
from tracker.errors import Unavailable
from tracker.ids import new_id
from tracker.links.domain import Domain
from tracker.links.domains import Domains
from tracker.links.rules.rule import Condition, QueryMatch, Rule, Split, Variant

PROVEN, CLAIMED = "go.example", "waiting.example"


async def claimed(world: World, name: str = CLAIMED) -> Domain:
    """Return the claim to a name, with a link `abc`."""
    domain = await world.services.links.domains.create(world.account.id, name)
    await create_link(
        world.services, world.account.id, "abc", f"https://{name}.test/", domain=domain
    )
    return domain


async def proven(world: World, name: str = PROVEN) -> Domain:
    return await world.services.links.domains.verify((await claimed(world, name)).id)


OWN = ("tracker.test", "tracker.test:8080", CLAIMED, "none.example", "127.0.0.1", "localhost")
SERVICE = {"/healthz": 200, "/api/tags": 401, "/openapi.json": 200, "/console": 200, "/abc": 404}


async def test_only_proven_custom_domains_have_paths_of_their_own(world: World) -> None:
    await proven(world)
    await claimed(world)
    expected = dict.fromkeys(SERVICE, 404) | {"/abc": 302}
    for host in (PROVEN, "GO.Example.", f"{PROVEN}:8080"):
        for path, status in expected.items():
            for method in ("GET", "HEAD"):
                answer = await world.client.request(method, path, {"Host": host})
                assert answer.status == status, (host, path, method)
    for host in OWN:
        for path, status in SERVICE.items():
            answered = (await world.client.get(path, Host=host)).status
            of_console = 404 if path == "/console" and host != "tracker.test" else status
            assert answered == of_console, (host, path)
    clicks = await journaled_clicks(world.services)
    assert [one.domain_name for one in clicks] == [PROVEN] * 3


async def test_the_service_has_the_same_paths_on_every_host(world: World) -> None:
    await proven(world)
    await create_link(world.services, world.account.id, "abc")
    of_host = {PROVEN: f"{PROVEN}.test", "tracker.test": "example.com"}
    for host, leads_to in of_host.items():
        opened = await world.client.get("/c/abc", Host=host)
        assert urlsplit(opened.headers["Location"]).hostname == leads_to
        assert (await world.client.get("/api/click?s=abc", Host=host)).status == 302
        assert (await world.client.get("/api/event", Host=host)).status == 400
        for path in ("/js/tracker.json", "/js/1/tracker.js"):
            assert (await world.client.get(path, Host=host)).status == 200
        assert (await world.client.post("/api/consent", b"{}", Host=host)).status == 400
        for path in ("/.well-known/x", "/robots.txt", "/favicon.ico"):
            answer = await world.client.get(path, Host=host)
            assert (answer.status, answer.error) == (404, "no such path")


async def test_a_request_without_host_is_the_services_and_a_target_may_name_the_host(
    world: World,
) -> None:
    await proven(world)
    assert (await world.client.sent(b"GET /healthz HTTP/1.0\r\n\r\n")).status == 200
    absolute = b"GET http://go.example/abc HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    assert (await world.client.sent(absolute)).status == 302


SPELLINGS = {
    **dict.fromkeys(("/abc", "/abc/", "/%61bc", "/%61%62%63%2F", "/abc?x", "/abc/?x"), True),
    **dict.fromkeys(
        ("/abc,", "/abc.html", "/abc%20", "/abc&a=https://x", "/abc%3Fa", "/abc)"), True
    ),
    **dict.fromkeys(("/", "//abc", "/abc//", "/ABC", "/abc/x", "/./abc", "/x/../abc"), False),
    **dict.fromkeys(("/%00abc", "/%FFabc", "/%C2%85", "/c", "/" + "a" * 256, "/ab"), False),
    **dict.fromkeys(("/abc?d=tracker.test", "/abc?s=none", "/abc%0A"), True),
}


async def test_a_path_is_compared_decoded_and_without_what_is_stuck_to_it(world: World) -> None:
    await proven(world)
    for path, is_found in SPELLINGS.items():
        for method in ("GET", "HEAD"):
            answer = await world.client.request(method, path, {"Host": PROVEN})
            assert answer.status == (302 if is_found else 404), (path, method)
    stuck = await world.client.get("/abc&a=%2f?b=1", Host=PROVEN)
    assert "?a=%2f&b=1&click_id=" in stuck.headers["Location"]
    recorded = await journaled_clicks(world.services)
    assert len(recorded) == sum(SPELLINGS.values()) + 1


async def test_a_path_has_the_methods_of_a_short_link(world: World) -> None:
    await proven(world)
    options = await world.client.request("OPTIONS", "/none", {"Host": PROVEN})
    assert (options.status, options.headers["Allow"]) == (204, "GET, HEAD, OPTIONS, POST")
    paths = {"/api/tags": ("PUT", "DELETE", "PATCH"), "/abc": ("POST", "PUT")}
    for path, methods in paths.items():
        for method in methods:
            answer = await world.client.request(method, path, {"Host": PROVEN}, b"{}")
            assert (answer.status, answer.headers["Allow"]) == (405, "GET, HEAD, OPTIONS")


async def test_a_long_body_to_a_host_that_is_not_in_memory_yet_is_received(world: World) -> None:
    body = b'{"name": "%b"}' % (b"x" * 100_000)
    headers = {"Host": "inner.example", "Content-Type": "application/json"}
    answer = await world.client.request("POST", "/api/join", headers, body)
    assert answer.status == 413


async def test_the_slug_macro_is_the_path_as_it_was_opened(world: World) -> None:
    domain = await proven(world)
    url = f"{LANDING}?by={{slug}}"
    await create_link(world.services, world.account.id, "spring", url, domain=domain)
    answer = await world.client.get("/%73pring/", Host=PROVEN)
    assert answer.headers["Location"].startswith(f"{LANDING}?by=spring&")


async def test_a_deleted_domain_has_no_paths_any_more(world: World) -> None:
    domain = await proven(world)
    assert (await world.client.get("/abc", Host=PROVEN)).status == 302
    await world.services.links.domains.delete(domain.id)
    answer = await world.client.get("/abc", Host=PROVEN)
    assert (answer.status, answer.error) == (404, "no such path")


async def test_while_no_store_can_tell_whose_a_host_is_only_the_services_paths_are_answered(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def unavailable(*_: object) -> None:
        raise Unavailable("storage is unavailable; try again")

    monkeypatch.setattr(Domains, "by_name", unavailable)
    assert (await world.client.get("/healthz", Host=PROVEN)).status == 200
    assert (await world.client.get("/abc", Host=PROVEN)).status == 503


async def test_a_path_that_leads_to_itself_is_not_found_and_records_nothing(world: World) -> None:
    domain = await proven(world)
    own = f"https://{PROVEN}"
    for slug, url in (
        ("self", f"{own}/self/?a=1"),
        ("one", f"{own}/tw%6f"),
        ("two", f"{own}/one"),
        ("away", f"{own}/page"),
        ("root", own),
        ("other", f"https://example.com/?from={PROVEN}/other"),
        ("upper", f"https://{PROVEN.upper()}/upper"),
    ):
        await create_link(world.services, world.account.id, slug, url, domain=domain)
    expected = dict.fromkeys(("/one", "/away", "/root", "/other"), 302)
    expected |= dict.fromkeys(("/self", "/two", "/upper"), 404)
    expected["/c/self"] = 302  # whoever sends only /c/ here has pages of such paths
    for path, status in expected.items():
        assert (await world.client.get(path, Host=PROVEN)).status == status, path
    assert len(await journaled_clicks(world.services)) == 5


async def test_a_rule_or_variant_that_leads_to_its_own_path_is_not_found(world: World) -> None:
    domain = await proven(world)
    urls = [f"https://{name}/own?a=1" for name in (PROVEN, PROVEN.upper())]
    variants = [Variant(id=new_id(), name="", destination_url=url, weight=1) for url in urls]
    rules = [
        Rule(
            id=new_id(),
            name="",
            conditions=[Condition(query=QueryMatch(key=f"to{number}"))],
            destination_url=url,
        )
        for number, url in enumerate(urls)
    ]
    split = Split(variants=variants, secret="00" * 16)
    await create_link(
        world.services, world.account.id, "own", domain=domain, rules=rules, split=split
    )
    queries = ["to0", "to1", *(f"variant={one.id}" for one in variants)]
    asked = [await world.client.get(f"/own?{query}", Host=PROVEN) for query in queries]
    assert [one.status for one in asked] == [404] * 4
    assert await journaled_clicks(world.services) == []
