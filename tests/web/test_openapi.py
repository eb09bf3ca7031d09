"""`/openapi.json` is valid and describes every route completely, and no others."""

import csv
import re
import tomllib
from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import msgspec
import orjson
import pytest
from schemathesis.specs.openapi.definitions import OPENAPI_31

from tests.paths import ROOT
from tests.web.client import Client
from tests.web.document import BASE_URL, DOCUMENT, OPERATIONS, PROTECTED, refusals, resolved
from tests.web.table import KEYED_ENDPOINTS, PEOPLES_ENDPOINTS
from tracker.console.pages import console_routes
from tracker.service.api.routes import description
from tracker.service.app import make_app
from tracker.service.services import Services
from tracker.web.openapi.document import operation_id
from tracker.web.schema import EXAMPLE_ACCOUNT
from tracker.webhooks.api.payload_schema import payload_descriptions
from tracker.webhooks.delivery import Kind

HEADERS = {
    "X-Request-Id",
    "X-RateLimit-Limit",
    "X-RateLimit-Remaining",
    "X-RateLimit-Reset",
    "RateLimit-Policy",
    "RateLimit",
}


def every(node: Any) -> Iterator[dict[str, Any]]:
    """Yield every object in `node`."""
    if isinstance(node, dict):
        yield node
    for one in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from every(one)


def test_every_route_is_described_with_its_methods_and_no_others(services: Services) -> None:
    # A trial has one more, which leads to the console. The console itself is for people, and
    # another protocol describes /mcp.
    services.web = services.web._replace(is_production=True)
    pages = {pattern + "$" for pattern, *_ in console_routes({})} | {"/mcp$"}
    every_rule: list[Any] = make_app(services).wildcard_router.rules
    rules = [rule for rule in every_rule if rule.matcher.regex.pattern not in pages]
    patterns = [rule.matcher.regex for rule in rules]
    answered = [
        set(rule.target_kwargs.get("endpoints") or rule.target_kwargs["methods"]) for rule in rules
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


def test_every_schema_is_a_json_schema() -> None:
    for name, schema in DOCUMENT["components"]["schemas"].items():
        jsonschema_rs.meta.validate(
            {"$schema": "https://json-schema.org/draft/2020-12/schema"} | schema
        )
        assert re.fullmatch(r"[A-Z][A-Za-z]+", name)
        assert schema.get("title", name) == name


def test_every_reference_exists_and_every_component_is_referred_to() -> None:
    targets = {node["$ref"] for node in every(DOCUMENT) if "$ref" in node}
    for target in targets:
        assert isinstance(resolved({"$ref": target}), dict)
    parts = DOCUMENT["components"]
    for kind in ("schemas", "headers", "responses"):
        assert {f"#/components/{kind}/{name}" for name in parts[kind]} <= targets


VERBS = frozenset(
    (
        *("accept", "ask", "cancel", "change", "check", "create", "decide", "delete", "disable"),
        *("enable", "end", "export", "find", "get", "list", "open", "pause", "peek", "preview"),
        *("put", "record", "replace", "restore", "resume", "retry", "rotate", "run", "send"),
        *("set", "sign", "start", "stream", "switch", "test", "undo", "unlock", "upload", "verify"),
    )
)


def test_operation_ids_are_verbs_with_nouns_and_unique() -> None:
    ids = [operation["operationId"] for _, _, operation in OPERATIONS]
    assert len(set(ids)) == len(ids)
    for one in ids:
        named = re.fullmatch(r"([a-z]+)(?:[A-Z][a-z]+)+", one)
        assert named is not None and named[1] in VERBS, one


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        ("GET", "/api/short-links", "listShortLinks"),
        ("POST", "/api/short-links", "createShortLink"),
        ("GET", "/api/short-links/{id}/experiment", "getShortLinkExperiment"),
        ("GET", "/api/short-links/{id}", "getShortLink"),
        ("POST", "/api/domains/{id}/verify", "verifyDomain"),
        ("GET", "/api/conversions/{event_id}", "getConversion"),
        ("GET", "/api/webhooks/{id}/deliveries", "listWebhookDeliveries"),
        ("POST", "/api/webhooks/{id}/deliveries/retry", "retryWebhookDeliveries"),
        ("POST", "/api/webhooks/{id}/deliveries/{delivery_id}/retry", "retryWebhookDelivery"),
        ("GET", "/api/conversions/uploads/{id}/preview", "previewConversionUpload"),
    ],
)
def test_an_operation_is_named_after_what_it_does(method: str, path: str, expected: str) -> None:
    assert operation_id(method, path) == expected


@pytest.mark.parametrize(("method", "path", "operation"), OPERATIONS)
def test_every_operation_is_described_completely(
    method: str, path: str, operation: dict[str, Any]
) -> None:
    assert operation["summary"]
    assert operation["tags"][0] in {tag["name"] for tag in DOCUMENT["tags"]}
    in_path = [one["name"] for one in operation["parameters"] if one["in"] == "path"]
    assert in_path == re.findall(r"\{(\w+)\}", path)
    for status, answer in operation["responses"].items():
        answer = resolved(answer)
        assert answer["description"]
        has_content = method not in ("HEAD", "OPTIONS") and status not in ("302", "303")
        assert ("content" in answer) == has_content
        if status >= "400" and has_content:
            schema = answer["content"]["application/json"]["schema"]
            assert schema == {"$ref": "#/components/schemas/Error"}
        assert ("X-Error-Code" in answer["headers"]) == (status >= "400")


@pytest.mark.parametrize(("method", "path", "operation"), PROTECTED)
def test_an_operation_with_a_key_describes_its_limits_and_errors(
    method: str, path: str, operation: dict[str, Any]
) -> None:
    answers = {status: resolved(answer) for status, answer in operation["responses"].items()}
    assert set(answers) >= {"200", "400", "401", "403", "429", "500", "503"}
    assert all(set(answer["headers"]) >= HEADERS for answer in answers.values())
    assert "WWW-Authenticate" in answers["401"]["headers"]
    assert "Retry-After" in answers["429"]["headers"]
    for_people = {"session": []} in operation["security"] and len(operation["security"]) == 1
    described = r"For people.+\." if for_people else r"Needs the scope `.+`.*\."
    assert re.fullmatch(described, operation["description"])
    for one in operation["parameters"]:
        if one["in"] == "path":
            event_id = {"type": "integer", "minimum": 1, "maximum": 2**53 - 1}
            text = {"type": "string", "minLength": 1, "maxLength": 255}
            known = {"event_id": event_id, "external_id": text, "transaction_id": text}
            other_id = {"type": "string", "format": "uuid"}
            assert one["schema"] == known.get(one["name"], other_id)


@pytest.mark.parametrize(
    ("method", "path", "may"),
    [
        ("GET", "/api/tags", False),
        ("POST", "/api/tags", True),
        ("PATCH", "/api/tags/{id}", True),
        ("DELETE", "/api/tags/{id}", True),
        ("GET", "/api/short-links/available", True),
        ("POST", "/api/reports", True),
        ("DELETE", "/api/sessions", False),
    ],
)
def test_only_an_operation_that_names_an_object_may_not_find_it(
    method: str, path: str, may: bool
) -> None:
    [answers] = [one["responses"] for *named, one in PROTECTED if named == [method, path]]
    assert ("404" in answers) is may


def test_the_operations_that_need_a_key_are_those_of_the_endpoint_table() -> None:
    table = [(one.method, one.path) for one in (*KEYED_ENDPOINTS, *PEOPLES_ENDPOINTS)]
    assert sorted(one[:2] for one in PROTECTED) == sorted(table)


def test_every_body_has_an_example_and_one_schema() -> None:
    """Client generators leave bodies with alternatives out."""
    for method, path, operation in OPERATIONS:
        for kind, content in operation.get("requestBody", {}).get("content", {}).items():
            if kind == "application/octet-stream":
                continue
            assert refusals(content["schema"], content["example"]) == [], (method, path)
            schema = resolved(content["schema"])
            assert "anyOf" not in schema
            assert not operation["security"] or schema["additionalProperties"] is False


def test_every_answer_has_an_example_of_its_schema() -> None:
    for method, path, operation in OPERATIONS:
        for status, answer in operation["responses"].items():
            for kind, content in resolved(answer).get("content", {}).items():
                if kind.startswith("image/") or (status >= "400" and kind == "text/html"):
                    continue
                example, named = content["example"], (method, path, status, kind)
                if kind == "application/json":
                    assert refusals(content["schema"], example) == [], named
                elif kind == "application/x-ndjson":
                    assert orjson.loads(example), named
                elif kind == "text/csv":
                    heading, row = csv.reader(example.splitlines())
                    assert len(heading) == len(row) > 1, named


@pytest.mark.parametrize("method", ["GET", "HEAD"])
async def test_the_document_is_served(client: Client, method: str) -> None:
    response = await client.request(method, "/openapi.json")
    assert response.status == 200
    assert response.headers["Content-Type"] == "application/json; charset=utf-8"
    assert response.body == (description(BASE_URL) if method == "GET" else b"")


def test_the_document_has_server_licence_and_tags() -> None:
    assert [server["url"] for server in DOCUMENT["servers"]] == [BASE_URL]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert DOCUMENT["info"]["license"]["identifier"] == project["license"]
    assert all(tag["description"].endswith(".") for tag in DOCUMENT["tags"])


def test_every_example_matches_its_schema() -> None:
    # Formats, such as that of a URI, are checked too.
    described = [node for node in every(DOCUMENT) if "examples" in node and "type" in node]
    assert described
    for schema in described:
        for example in schema["examples"]:
            assert refusals(schema, example) == []


def whole(node: Any, seen: frozenset[str] = frozenset()) -> Iterator[dict[str, Any]]:
    """Yield every object in `node`, and in the schemas that it refers to."""
    for one in every(node):
        yield one
        target = one.get("$ref")
        if target is not None and target not in seen:
            yield from whole(resolved(one), seen | {target})


@pytest.mark.parametrize(("method", "path", "operation"), OPERATIONS)
def test_no_request_has_a_default_that_a_generated_client_would_send(
    method: str, path: str, operation: dict[str, Any]
) -> None:
    sent = [operation["parameters"], operation.get("requestBody", {})]
    # A field may be called so; its schema is an object.
    defaults = [one for one in whole(sent) if not isinstance(one.get("default", {}), dict)]
    assert defaults == []


@pytest.mark.parametrize(("method", "path", "operation"), PROTECTED)
def test_an_answer_has_one_type(method: str, path: str, operation: dict[str, Any]) -> None:
    """Else a generated client has a choice of types, and its user needs a cast."""
    content = operation["responses"]["200"]["content"]
    is_file = "/export" in path
    assert list(content) == ["text/csv", "application/x-ndjson"] if is_file else len(content) == 1
    assert not is_file or all(one["schema"] == {"type": "string"} for one in content.values())


def test_a_default_is_told_in_words() -> None:
    parameters = DOCUMENT["paths"]["/api/short-links"]["get"]["parameters"]
    [size] = [one for one in parameters if one["name"] == "pageSize"]
    assert size["description"] == "rows on a page; 25 if not given"
    created = DOCUMENT["components"]["schemas"]["CreateShortLinkRequest"]["properties"]
    assert created["active"] == {"type": "boolean", "description": "true if not given"}


def test_the_payload_of_each_kind_of_delivery_is_described() -> None:
    assert set(DOCUMENT["webhooks"]) == set(Kind)
    for kind, item in DOCUMENT["webhooks"].items():
        content = item["post"]["requestBody"]["content"]["application/json"]
        assert content["example"], kind
        assert refusals(content["schema"], content["example"]) == [], kind
    again = msgspec.json.decode(msgspec.json.encode(payload_descriptions()))
    assert again == DOCUMENT["webhooks"]  # whatever the time is
