"""The protocol over HTTP: versions, methods, who is refused, and requests that are none."""

from typing import Any

import msgspec
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.shared.exceptions import MCPError
from pymongo.errors import ServerSelectionTimeoutError

from config.settings import Settings
from tests.factories import create_link
from tests.mcp.connecting import connected, posted, sent
from tests.web.client import Response
from tests.web.fixtures import Logged
from tests.web.world import World
from tracker.mcp.messages import VERSIONS, RpcError, parse_message
from tracker.web.limits import LARGE_BODY_BYTES

META = "io.modelcontextprotocol/"
STATELESS = {f"{META}protocolVersion": VERSIONS[0], f"{META}clientCapabilities": {}}


NAMES = st.sampled_from(("jsonrpc", "id", "method", "params", "name", "_meta"))
JSON = st.recursive(
    st.none() | st.just("2.0") | st.text(max_size=9) | st.integers() | st.floats(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=5),
    max_leaves=9,
)


def error_of(response: Response) -> tuple[int, int]:
    """Return the status and the code of JSON-RPC."""
    whole = response.json()
    assert whole["jsonrpc"] == "2.0" and whole["error"]["message"]
    assert response.headers["X-Error-Code"]
    return response.status, whole["error"]["code"]


async def test_the_version_that_is_asked_for_is_agreed_on_or_the_newest_with_a_handshake(
    world: World,
) -> None:
    for wanted, agreed in (
        *((one, one) for one in VERSIONS[1:]),
        ("2026-07-28", "2025-11-25"),
        ("2199-01-01", "2025-11-25"),
    ):
        fields: dict[str, Any] = {"protocolVersion": wanted, "capabilities": {}}
        answer = (await sent(world, "initialize", **fields)).json()
        assert (answer["id"], answer["result"]["protocolVersion"]) == (7, agreed), wanted
    for version in (None, *VERSIONS[1:]):
        assert (await sent(world, "ping", version)).json()["result"] == {}
        tools = (await sent(world, "tools/list", version)).json()["result"]
        assert list(tools) == ["tools"]
    refused = await sent(world, "ping", "2199-01-01")
    assert error_of(refused) == (400, -32022)
    assert refused.json()["error"]["data"]["supported"] == [*VERSIONS]


async def test_a_request_without_a_handshake_says_the_same_in_its_headers(world: World) -> None:
    called = {"name": "get_account", "arguments": {}, "_meta": STATELESS}
    body: dict[str, Any] = {"jsonrpc": "2.0", "id": "a", "method": "tools/call", "params": called}
    headers = {"Mcp-Protocol-Version": VERSIONS[0], "Mcp-Method": "tools/call"}
    headers["Mcp-Name"] = "get_account"
    result = (await posted(world, orjson.dumps(body), **headers)).json()
    assert (result["id"], result["result"]["resultType"]) == ("a", "complete")
    for header in headers:
        wrong = await posted(world, orjson.dumps(body), **{**headers, header: VERSIONS[0][::-1]})
        assert error_of(wrong)[0] == 400, header
    for params, method, expected in (
        ({"_meta": {}}, "tools/list", (400, -32602)),
        ({"_meta": STATELESS}, "initialize", (404, -32601)),
        ({"_meta": STATELESS, "name": "x"}, "tools/call", (400, -32602)),
    ):
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        said = {**headers, "Mcp-Method": method, "Mcp-Name": "x"}
        assert error_of(await posted(world, orjson.dumps(body), **said)) == expected


async def test_what_is_no_request_is_refused_and_a_notification_accepted(world: World) -> None:
    for body, expected in (
        (b"", (400, -32700)),
        (b"{", (400, -32700)),
        (b"\xff", (400, -32700)),
        (b'{"x":' + b"[" * 16_000, (400, -32700)),
        (b"[]", (400, -32600)),
        (b'{"jsonrpc":"2.0","id":1,"result":{}}', (400, -32600)),
        (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', (400, -32600)),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', (400, -32600)),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}', (400, -32600)),
        (b"x" * (LARGE_BODY_BYTES + 1), (413, -32600)),
        (b'{"jsonrpc":"2.0","id":1,"method":"resources/list"}', (200, -32601)),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call"}', (200, -32602)),
    ):
        assert error_of(await posted(world, body)) == expected, body[:60]
    note = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'
    accepted = await posted(world, note)
    assert (accepted.status, accepted.body) == (202, b"")
    for arguments in (b"[]", b'"x"', b'{"q":"\\u0000"}', b'{"q":1,"q":2}', b"[" * 2000):
        call = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"find","arguments":'
        answer = (await posted(world, call + arguments + b"}}")).json()
        assert "error" in answer or answer["result"]["isError"], arguments


@given(st.binary(max_size=200) | JSON.map(msgspec.json.encode))
def test_anything_is_a_message_or_an_error_of_the_protocol(body: bytes) -> None:
    try:
        assert parse_message(body).jsonrpc == "2.0"
    except RpcError as error:
        assert error.status == 400


async def test_only_keys_of_the_account_and_pages_of_the_service_are_accepted(world: World) -> None:
    ping = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
    own = world.services.public_url.web_origin
    assert (await posted(world, ping, Origin=own)).status == 200
    for origin in ("https://evil.example", "null", f"{own}.evil.example"):
        assert error_of(await posted(world, ping, Origin=origin)) == (403, -32600), origin
    for key in (b"", b"Bearer ", b"Bearer trk_unknown"):
        refused = await posted(world, ping, Authorization=key)
        assert error_of(refused) == (401, -32600)
        assert refused.headers["Www-Authenticate"] == "Bearer"
    person = await world.person()
    session = await person.send_raw("POST", "/mcp", ping)
    assert error_of(session) == (401, -32600)
    for method in ("GET", "DELETE"):
        other = await world.api.send(method, "/mcp")
        assert error_of(other) == (405, -32600) and other.headers["Allow"] == "POST"


async def test_a_link_of_a_custom_domain_may_have_the_same_path(world: World) -> None:
    domain = await world.services.links.domains.create(world.account.id, "go.example")
    verified = await world.services.links.domains.verify(domain.id)
    await create_link(world.services, world.account.id, "mcp", domain=verified)
    assert (await world.client.get("/mcp", Host="go.example")).status == 302
    assert (await posted(world, b"{}", Host="go.example")).status == 405


async def test_a_store_that_is_away_is_the_error_of_a_tool_and_an_internal_error_tells_nothing(
    world: World, logged: Logged, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing: list[Exception] = [ServerSelectionTimeoutError("inside"), RuntimeError("inside")]

    async def fail(*_: object, **__: object) -> None:
        raise failing.pop(0)

    monkeypatch.setattr(world.services.links.lists, "page", fail)
    away = (await sent(world, "tools/call", name="list_links")).json()["result"]
    assert away["isError"] and "storage is unavailable; try again" in away["content"][0]["text"]
    broken = await sent(world, "tools/call", name="list_links")
    assert error_of(broken) == (500, -32603) and b"inside" not in broken.body
    levels = [one["level"] for one in logged() if one["event"] != "request"]
    assert levels == ["warning", "error"]


class TestLimits:
    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        return msgspec.structs.replace(settings, rate_limit_ip_per_minute=3)

    async def test_a_call_counts_as_a_request_and_a_client_is_told_when_it_may_go_on(
        self, world: World
    ) -> None:
        async with connected(world, world.secret, "2026-07-28") as client:
            with pytest.raises(MCPError, match="rate limit: 3 requests per minute"):
                for _ in range(4):
                    await client.call_tool("get_account")
        refused = await sent(world, "ping")
        assert error_of(refused) == (429, -32600) and int(refused.headers["Retry-After"]) > 0
