"""Rows of the endpoint table for paths that operators, balancers and proxies ask."""

from collections.abc import Mapping

from tracker.api.endpoint import PublicEndpoint
from tracker.api.handler import Handler
from tracker.api.openapi.parts import (
    TEXT,
    Described,
    json_content,
    public_answer,
    without_content,
)


def operator_routes(
    path: str,
    handler: type[Handler],
    operation_id: str,
    summary: str,
    answers: Mapping[int, Described],
    *parameters: Described,
) -> tuple[PublicEndpoint, PublicEndpoint]:
    """Return the rows of GET and HEAD of `path`."""
    get = PublicEndpoint(
        "GET", path, handler, operation_id, "Operations", summary, answers, parameters
    )
    head = get._replace(
        method="HEAD",
        operation_id=f"{operation_id}Head",
        summary=f"{summary}; headers only",
        answers=without_content(answers),
    )
    return get, head


def single_field_response(name: str, schema: Described, **optional: Described) -> Described:
    """Describe an answer of one field, and of `optional` ones that may be left out."""
    properties = {name: schema, **optional}
    schema = {"type": "object", "properties": properties, "required": [name]}
    return public_answer("Yes.", json_content(schema))


def text_response(meaning: str, *media_types: str) -> Described:
    """Describe an answer of text."""
    return public_answer(meaning, {one: {"schema": TEXT} for one in media_types})
