"""`/openapi.json` tells the truth: all routes and no others, in a valid document, and every example
in it is accepted by the service."""

import re
import tomllib
from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import orjson
import pytest
from schemathesis.specs.openapi.definitions import OPENAPI_31

from tests.api.client import Client, Response
from tests.api.records import make_config, make_link
from tests.test_import_order import ROOT
from tracker.access.accounts import Account
from tracker.api import openapi
from tracker.api.openapi_event import EXAMPLE_PBK
from tracker.api.openapi_public import EXAMPLE_SLUG
from tracker.api.routes import ENDPOINTS, description
from tracker.api.schema import EXAMPLE_ACCOUNT
from tracker.app import make_app
from tracker.services import Services

DOCUMENT: dict[str, Any] = orjson.loads(description())
OPERATIONS = [
    (method.upper(), path, operation)
    for path, item in DOCUMENT["paths"].items()
    for method, operation in item.items()
]
PROTECTED = [one for one in OPERATIONS if one[2]["security"]]
REQUESTS = [
    (method, path, media_type, content["example"])
    for method, path, operation in OPERATIONS
    for media_type, content in operation.get("requestBody", {}).get("content", {}).items()
]
READS = [one[:2] for one in PROTECTED if one[0] == "GET"]
HEADERS = {
    "X-Request-Id",
    "X-RateLimit-Limit",
    "X-RateLimit-Remaining",
    "X-RateLimit-Reset",
    "RateLimit-Policy",
    "RateLimit",
}


def resolved(node: Any) -> Any:
    """What a reference refers to."""
    while isinstance(node, dict) and "$ref" in node:
        target: Any = DOCUMENT
        for part in node["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        node = target
    return node


def every(node: Any) -> Iterator[dict[str, Any]]:
    """Every object in `node`."""
    if isinstance(node, dict):
        yield node
    for one in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from every(one)


def refusals(schema: dict[str, Any], value: Any) -> list[str]:
    """Why `schema` refuses `value`."""
    validator = jsonschema_rs.Draft202012Validator(
        {**schema, "components": DOCUMENT["components"]}, validate_formats=True
    )
    return [str(error) for error in validator.iter_errors(value)]


def test_every_route_is_described_with_its_methods_and_no_others(services: Services) -> None:
    rules: list[Any] = make_app(services).wildcard_router.rules
    patterns = [rule.matcher.regex for rule in rules]
    answered = [
        set(rule.target_kwargs.get("endpoints", ()) or rule.target.methods) for rule in rules
    ]
    described: list[set[str]] = [set() for _ in rules]
    for method, path, _ in OPERATIONS:
        target = re.sub(r"\{\w+\}", EXAMPLE_ACCOUNT, path)
        first = next(n for n, pattern in enumerate(patterns) if pattern.fullmatch(target))
        described[first].add(method)
    assert described == answered


def test_the_document_is_openapi_3_1() -> None:
    validator = jsonschema_rs.Draft202012Validator(OPENAPI_31, validate_formats=True)
    assert [str(error) for error in validator.iter_errors(DOCUMENT)] == []


@pytest.mark.parametrize("name", DOCUMENT["components"]["schemas"])
def test_a_schema_is_a_json_schema(name: str) -> None:
    schema = DOCUMENT["components"]["schemas"][name]
    jsonschema_rs.meta.validate(
        {"$schema": "https://json-schema.org/draft/2020-12/schema"} | schema
    )
    assert re.fullmatch(r"[A-Z][A-Za-z]+", name)
    assert schema.get("title", name) == name


def test_every_reference_leads_somewhere_and_every_component_is_referred_to() -> None:
    targets = {node["$ref"] for node in every(DOCUMENT) if "$ref" in node}
    for target in targets:
        assert isinstance(resolved({"$ref": target}), dict)
    parts = DOCUMENT["components"]
    for kind in ("schemas", "headers", "responses"):
        assert {f"#/components/{kind}/{name}" for name in parts[kind]} <= targets


def test_operations_have_ids_of_their_own_and_links_name_them() -> None:
    ids = [operation["operationId"] for _, _, operation in OPERATIONS]
    assert len(set(ids)) == len(ids)
    assert {node["operationId"] for node in every(DOCUMENT) if "operationId" in node} == set(ids)


def test_the_version_is_that_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["version"] == openapi.VERSION


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        ("GET", "/api/short-links", "listShortLinks"),
        ("POST", "/api/short-links", "createShortLink"),
        ("POST", "/api/short-links/bulk", "bulkShortLinks"),
        ("GET", "/api/short-links/{id}", "getShortLink"),
        ("PATCH", "/api/event-configs/{id}", "changeEventConfig"),
        ("DELETE", "/api/keys/{id}", "deleteKey"),
        ("POST", "/api/domains/{id}/verify", "verifyDomain"),
        ("GET", "/api/webhooks/{id}/deliveries", "listWebhookDeliveries"),
        ("POST", "/api/webhooks/{id}/deliveries/{delivery_id}/retry", "retryWebhookDelivery"),
    ],
)
def test_an_operation_is_named_after_what_it_does(method: str, path: str, expected: str) -> None:
    assert openapi.operation_id(method, path) == expected


@pytest.mark.parametrize(("method", "path", "operation"), OPERATIONS)
def test_an_operation_is_described_in_full(
    method: str, path: str, operation: dict[str, Any]
) -> None:
    assert operation["summary"]
    assert operation["tags"][0] in {tag["name"] for tag in DOCUMENT["tags"]}
    in_path = [one["name"] for one in operation["parameters"] if one["in"] == "path"]
    assert in_path == re.findall(r"\{(\w+)\}", path)
    for status, answer in operation["responses"].items():
        answer = resolved(answer)
        assert answer["description"]
        has_content = method not in ("HEAD", "OPTIONS") and status != "302"
        assert ("content" in answer) == has_content
        if status >= "400" and has_content:
            schema = answer["content"]["application/json"]["schema"]
            assert schema == {"$ref": "#/components/schemas/Error"}


@pytest.mark.parametrize(("method", "path", "operation"), PROTECTED)
def test_an_operation_with_a_key_tells_its_limits_and_errors(
    method: str, path: str, operation: dict[str, Any]
) -> None:
    answers = {status: resolved(answer) for status, answer in operation["responses"].items()}
    assert set(answers) >= {"200", "400", "401", "403", "429", "500", "503"}
    assert all(set(answer["headers"]) >= HEADERS for answer in answers.values())
    assert "WWW-Authenticate" in answers["401"]["headers"]
    assert "Retry-After" in answers["429"]["headers"]
    assert re.fullmatch(r"Needs the scope `.+`.*\.", operation["description"])
    for one in operation["parameters"]:
        if one["in"] == "path":
            assert one["schema"] == {"type": "string", "format": "uuid"}


def test_what_needs_a_key_is_what_the_route_table_says() -> None:
    assert [one[:2] for one in PROTECTED] == [(one.method, one.path) for one in ENDPOINTS]


def test_fields_have_their_names_on_the_wire() -> None:
    schemas = DOCUMENT["components"]["schemas"]
    assert set(schemas["Pagination"]["properties"]) == {
        "page",
        "pageSize",
        "totalRows",
        "totalPages",
    }
    create = schemas["CreateShortLink"]
    assert create["required"] == ["destination_url", "accountId"]
    assert create["additionalProperties"] is False
    assert create["properties"]["slug"]["type"] == ["string", "null"]
    assert schemas["ShortLinkPage"]["properties"]["rows"]["items"] == {
        "$ref": "#/components/schemas/ShortLink"
    }


def test_a_body_refuses_unknown_fields_and_an_answer_always_has_all_of_its_own() -> None:
    for _, _, operation in PROTECTED:
        for content in operation.get("requestBody", {}).get("content", {}).values():
            assert resolved(content["schema"])["additionalProperties"] is False
    assert DOCUMENT["components"]["schemas"]["Done"]["required"] == ["success"]


def test_every_body_has_an_example_that_its_schema_accepts() -> None:
    for _, _, operation in OPERATIONS:
        for content in operation.get("requestBody", {}).get("content", {}).values():
            assert refusals(content["schema"], content["example"]) == []


class Caller:
    """Sends what the document shows, in the name of an account of its own."""

    def __init__(self, client: Client, services: Services, account: Account, secret: str) -> None:
        self.client = client
        self.services = services
        self.account = account
        self.key: dict[str, str | bytes] = {"Authorization": f"Bearer {secret}"}
        self.values = {EXAMPLE_ACCOUNT: str(account.id)}

    async def send(self, method: str, path: str, media_type: str, example: Any) -> Response:
        text = example if isinstance(example, str) else orjson.dumps(example).decode()
        if media_type.endswith("urlencoded"):
            text = "&".join(f"{name}={value}" for name, value in example.items())
        for shown, real in self.values.items():
            text = text.replace(shown, real)
        target = await self._target(path)
        headers = {**self.key, "Content_Type": media_type}
        return await self.client.request(method, target, headers, text.encode())

    async def read(self, path: str) -> Response:
        required = f"?accountId={self.account.id}" if not path.endswith("}") else ""
        return await self.client.request("GET", await self._target(path) + required, self.key)

    async def _target(self, path: str) -> str:
        """`path` with the id of something that exists: what the collection's example makes."""
        collection, _, rest = path.partition("/{id}")
        if collection == path:
            return path
        [example] = [one for one in REQUESTS if one[:2] == ("POST", collection)]
        made = await self.send(*example)
        assert made.status == 200, made.body
        return f"{collection}/{made.json()['id']}{rest}"


@pytest.fixture
def caller(client: Client, services: Services, account: Account, secret: str) -> Caller:
    return Caller(client, services, account, secret)


def assert_described(method: str, path: str, response: Response) -> None:
    """The answer has a body as the document has it."""
    answer = resolved(DOCUMENT["paths"][path][method.lower()]["responses"][str(response.status)])
    assert refusals(answer["content"]["application/json"]["schema"], response.json()) == []


@pytest.mark.parametrize(
    ("method", "path", "media_type", "example"), REQUESTS, ids=lambda one: str(one)[:40]
)
async def test_an_example_of_a_body_is_accepted_as_it_stands(
    caller: Caller, method: str, path: str, media_type: str, example: Any
) -> None:
    if EXAMPLE_PBK in str(example):
        config = await make_config(caller.services, caller.account.id)
        caller.values[EXAMPLE_PBK] = config.pbk
    response = await caller.send(method, path, media_type, example)
    assert response.status == 200, response.body
    assert_described(method, path, response)


@pytest.mark.parametrize(("method", "path"), READS)
async def test_a_read_is_answered_as_described(caller: Caller, method: str, path: str) -> None:
    response = await caller.read(path)
    assert response.status == 200, response.body
    assert_described(method, path, response)


async def test_the_example_of_a_short_link_opens(
    services: Services, client: Client, account: Account
) -> None:
    await make_link(services, account.id, EXAMPLE_SLUG)
    for target in (f"/c/{EXAMPLE_SLUG}?", f"/api/click?s={EXAMPLE_SLUG}&"):
        for method in ("GET", "HEAD"):
            response = await client.request(method, f"{target}utm_source=newsletter")
            assert response.status == 302
            headers = DOCUMENT["paths"]["/api/click"]["get"]["responses"]["302"]["headers"]
            assert set(headers) <= set(response.headers)


async def test_the_example_of_a_pixel_is_recorded(
    services: Services, client: Client, account: Account
) -> None:
    config = await make_config(services, account.id)
    parameters = DOCUMENT["paths"]["/api/event"]["get"]["parameters"]
    examples = {
        one["name"]: one["schema"]["examples"][0]
        for one in parameters
        if one.get("schema", {}).get("examples")
    } | {"pbk": config.pbk}
    query = "&".join(f"{name}={value}" for name, value in examples.items())
    response = await client.get(f"/api/event?{query}")
    assert response.status == 200
    assert_described("GET", "/api/event", response)
    answer = DOCUMENT["paths"]["/api/event"]["get"]["responses"]["200"]
    assert set(answer["headers"]) <= set(response.headers)
    picture = await client.get(f"/api/event?{query}", Accept="image/*")
    assert picture.headers["Content-Type"] in answer["content"]


@pytest.mark.parametrize("method", ["GET", "HEAD"])
async def test_the_document_is_served(client: Client, method: str) -> None:
    response = await client.request(method, "/openapi.json")
    assert response.status == 200
    assert response.headers["Content-Type"] == "application/json; charset=utf-8"
    assert response.body == (description() if method == "GET" else b"")
