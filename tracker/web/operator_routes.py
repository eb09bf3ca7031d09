"""Rows of the endpoint table for paths that operators, balancers and proxies request."""

from collections.abc import Mapping

from tracker.web.endpoint import HandledEndpoint
from tracker.web.handler import Handler
from tracker.web.openapi_parts import (
    TEXT,
    OpenApiPart,
    json_content,
    public_answer,
    without_content,
)


def operator_routes(
    path: str,
    handler: type[Handler],
    operation_id: str,
    summary: str,
    answers: Mapping[int, OpenApiPart],
    *parameters: OpenApiPart,
) -> tuple[HandledEndpoint, HandledEndpoint]:
    get = HandledEndpoint(
        "GET", path, handler, operation_id, "Operations", summary, answers, parameters
    )
    head = get._replace(
        method="HEAD",
        operation_id=f"{operation_id}Head",
        summary=f"{summary}; headers only",
        answers=without_content(answers),
    )
    return get, head


def single_field_response(name: str, schema: OpenApiPart, **optional: OpenApiPart) -> OpenApiPart:
    """Describe a JSON answer with one required field and the `optional` ones."""
    properties = {name: schema, **optional}
    schema = {"type": "object", "properties": properties, "required": [name]}
    return public_answer("Yes.", json_content(schema))


def text_response(meaning: str, *media_types: str) -> OpenApiPart:
    return public_answer(meaning, {one: {"schema": TEXT} for one in media_types})
