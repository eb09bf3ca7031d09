"""The OpenAPI document, for the tests that compare the service with it."""

from typing import Any

import jsonschema_rs
import orjson

from tests.web.client import Response
from tracker.service.api.routes import description

BASE_URL = "http://tracker.test"
DOCUMENT: dict[str, Any] = orjson.loads(description(BASE_URL))
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
    if "example" in content
]
"""Method, path, media type and example of every body that is no file."""


def resolved(node: Any) -> Any:
    """Return what a reference refers to."""
    while isinstance(node, dict) and "$ref" in node:
        target: Any = DOCUMENT
        for part in node["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        node = target
    return node


def refusals(schema: dict[str, Any], value: Any) -> list[str]:
    """Return the reasons why `schema` rejects `value`."""
    validator = jsonschema_rs.Draft202012Validator(
        {**schema, "components": DOCUMENT["components"]}, validate_formats=True
    )
    return [str(error) for error in validator.iter_errors(value)]


def assert_described(method: str, path: str, response: Response) -> None:
    """Check that the answer's body matches the document."""
    answer = resolved(DOCUMENT["paths"][path][method.lower()]["responses"][str(response.status)])
    media_type = response.headers["Content-Type"].partition(";")[0]
    schema = answer["content"][media_type]["schema"]
    assert media_type != "application/json" or refusals(schema, response.json()) == []


def assert_payload_described(delivery: dict[str, Any]) -> None:
    """Check that the stored payload matches the document, and has no field beyond it."""
    content = DOCUMENT["webhooks"][delivery["kind"]]["post"]["requestBody"]["content"]
    schema, payload = content["application/json"]["schema"], orjson.loads(delivery["payload"])
    assert refusals(schema, payload) == [], payload
    assert payload["data"].keys() == schema["properties"]["data"]["properties"].keys()
