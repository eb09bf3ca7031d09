"""A program with the official client of the protocol: which campaign lost money last week?"""

import json
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from mcp import Client
from mcp_types import TextContent


async def losing_campaign(client: Client, at: datetime) -> str:
    """Return the campaign that lost most in the week before that of `at`, and its profit."""
    account = await ask(client, "get_account")
    today = at.astimezone(ZoneInfo(account["time_zone"])).date()
    monday = today - timedelta(today.weekday() + 7)
    report = await ask(
        client,
        "report",
        dateRange={"from": str(monday), "to": str(monday + timedelta(6))},
        groupBy="utm_campaign",
        columns=["cost", "payout", "profit"],
        sort="profit",
        pageSize=1,
    )
    [worst] = report["rows"]
    return f"{worst['name']}: {worst['profit']} {account['currency']}"


async def ask(client: Client, tool: str, **arguments: Any) -> Any:
    result = await client.call_tool(tool, arguments)
    [content] = result.content
    assert isinstance(content, TextContent)
    if result.is_error:
        raise ValueError(content.text)
    return json.loads(content.text)
