"""Conversions that break a rule: the error names it, and nothing is recorded."""

from typing import Any

import pytest

from tests.conversions.api.reporting import (
    EVERY_WAY,
    FORM,
    JSON,
    Send,
    nested,
)
from tests.factories import create_event_config
from tests.web.client import Client, Response
from tests.web.each import each_case
from tests.web.records import journaled_events
from tests.web.world import World


@EVERY_WAY
@each_case(
    "fields, error",
    [
        ({"value": 1}, "pbk or click_id: at least one is required"),
        ({"click_id": "not-a-uuid"}, "click_id: must be a UUID such as"),
        ({"pbk": "PBK", "value": "abc"}, "value: must be a finite number"),
        ({"pbk": "PBK", "metadata": "[1]"}, "metadata: must be a JSON object"),
        ({"pbk": "PBK", "metadata": nested(9)}, "metadata: at most 8 levels deep"),
        ({"pbk": "PBK", "metadata": {"a": "x" * 16_384}}, "metadata: at most 16384 bytes"),
        ({"pbk": "PBK", "transaction_id": "a", "txid": "b"}, "transaction_id: differs from txid"),
        (
            {"pbk": "PBK", "transaction_id": "{transaction_id}"},
            "transaction_id: an unfilled macro, {transaction_id}; ",
        ),
        ({"pbk": "PBK", "txid": "%%TID%%"}, "txid: an unfilled macro, %%TID%%; "),
        ({"pbk": "PBK", "txid": " ORDER_ID"}, "txid: a placeholder,  ORDER_ID; "),
    ],
)
async def test_a_broken_rule_is_named_and_nothing_is_recorded(
    world: World,
    send: Send,
    fields: dict[str, Any],
    error: str,
) -> None:
    if "pbk" in fields:
        fields = {
            **fields,
            "pbk": (await create_event_config(world.services, world.account.id)).pbk,
        }
    response = await send(world.client, fields)
    assert response.status == 400
    assert response.error.startswith(error)
    assert await journaled_events(world.services) == []


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("application/xml", b"<a/>"),
        ("application/jsonp", b"{}"),
        ("text/html", b"{}"),
        ("multipart/mixed; boundary=x", b"--x\r\n\r\n--x--\r\n"),
    ],
)
async def test_a_body_of_another_media_type_is_rejected(
    client: Client, kind: str, body: bytes
) -> None:
    response = await client.post("/api/event?click_id=ignored", body, Content_Type=kind)
    assert response.status == 400
    kinds = f"{JSON}, text/plain, {FORM} or multipart/form-data"
    assert response.error == f"Content-Type: must be {kinds}"


PART = b'--x\r\nContent-Disposition: form-data; name="pbk"\r\n\r\nk\r\n'
FILE = b'--x\r\nContent-Disposition: form-data; name="a"; filename="b"\r\n\r\nc\r\n'


@each_case(
    "boundary, body, error",
    [
        ("; boundary=x", PART + FILE + b"--x--\r\n", "a file is not taken"),
        ("; boundary=x", PART, "must be multipart/form-data"),
        ("; boundary=x", b"text" + PART + b"--x--", "must be multipart/form-data"),
        ("; boundary=x", PART * 201 + b"--x--", "must be multipart/form-data"),
        ("", PART + b"--x--\r\n", "must be multipart/form-data"),
    ],
)
async def test_form_data_that_is_malformed_or_has_a_file_is_refused(
    client: Client, boundary: str, body: bytes, error: str
) -> None:
    response = await client.post("/api/event", body, Content_Type=f"multipart/form-data{boundary}")
    assert response.status == 400
    assert response.error.startswith(f"body: {error}")


async def test_form_data_over_32_kib_is_refused(client: Client) -> None:
    body = PART + b"x" * 32_768
    response = await client.post("/api/event", body, Content_Type="multipart/form-data; boundary=x")
    assert (response.status, response.error) == (413, "body: at most 32768 bytes")


@each_case("method", ["HEAD", "PUT", "PATCH", "DELETE", "TRACE"])
async def test_other_methods_are_rejected(client: Client, method: str) -> None:
    response = await client.request(method, "/api/event")
    assert response.status == 405
    assert response.headers["Allow"] == "GET, POST, OPTIONS"
    assert response.headers["Access-Control-Allow-Origin"] == "*"


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_a_delivery_of_a_webhook_is_rejected_so_that_none_causes_another(
    world: World, method: str
) -> None:
    config = await create_event_config(world.services, world.account.id)

    async def sent(webhook_id: str) -> Response:
        headers: dict[str, str | bytes] = {"Webhook_Id": webhook_id, "Content_Length": "0"}
        return await world.client.request(method, f"/api/event?pbk={config.pbk}", headers)

    refused = await sent("msg_1")
    assert refused.status == 400
    assert refused.error.startswith("webhook-id: ")
    assert await journaled_events(world.services) == []
    assert (await sent("")).status == 200
