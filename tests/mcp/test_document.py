"""The settings of clients in the guide name the address and the key as the service takes them."""

import json
import re
import shlex
import tomllib
from typing import Any

from tests.documents import MCP, block, table
from tests.mcp.connecting import posted
from tests.web.world import World
from tracker.mcp.tools import tools_of
from tracker.service.api.routes import DECLARED_ENDPOINTS

URL = "https://tracker.example/mcp"


def texts(value: Any) -> set[str]:
    """Return all texts in a JSON value."""
    if isinstance(value, dict | list):
        inner = value.values() if isinstance(value, dict) else value
        return {text for one in inner for text in texts(one)}
    return {value} if isinstance(value, str) else set()


async def test_each_client_is_given_the_address_and_the_key(world: World) -> None:
    of_codex = tomllib.loads(block(MCP, "[mcp_servers.tracker]"))
    assert of_codex["mcp_servers"]["tracker"].keys() == {"url", "bearer_token_env_var"}
    given = [
        shlex.split(block(MCP, "claude mcp add")),
        json.loads(block(MCP, '{"mcpServers": {"tracker": {"url"')),
        json.loads(block(MCP, '{"inputs"')),
        json.loads(block(MCP, '{"mcpServers": {"tracker": {"command"')),
    ]
    for one in given:
        said = texts(one)
        assert URL in said
        [key] = [text for text in said if "Bearer " in text]
        value = key.removeprefix("Authorization: ")
        value = re.sub(r"\$API_KEY|<API_KEY>|\$\{input:key\}", world.secret, value)
        ping = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
        assert (await posted(world, ping, Authorization=value)).status == 200, key
    assert URL in texts(of_codex)


def test_the_endpoint_and_scope_of_each_tool_are_those_of_the_code() -> None:
    tools = tools_of(DECLARED_ENDPOINTS).values()
    assert {tuple(row) for row in table(MCP, "tool")} == {
        (f"`{one.name}`", f"`{one.endpoint.method} {one.endpoint.path}`", f"`{one.scope}`")
        for one in tools
    }
