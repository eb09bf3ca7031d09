"""The parts of the OpenAPI document that operations share: headers, errors, contents.

Every function returns a part of the document, as values of JSON.
"""

from collections.abc import Mapping
from typing import Any

from tracker.api.limits import MAX_BODY_BYTES
from tracker.errors import CODE_HEADER, ErrorCode
from tracker.links.link import SLUG_RULE

Described = dict[str, Any]

API_KEY = "apiKey"
"""The name of the security scheme."""

TEXT: Described = {"type": "string"}
_COUNT: Described = {"type": "integer", "minimum": 0}


def json_content(schema: Described, example: Any = None) -> Described:
    """Describe a body of JSON."""
    return {"application/json": {"schema": schema} | ({"example": example} if example else {})}


def ref(schema: str) -> Described:
    """Refer to a schema of the components by its name."""
    return {"$ref": f"#/components/schemas/{schema}"}


def query(name: str, schema: Described, description: str, required: bool = False) -> Described:
    """Describe a parameter of the query."""
    parameter = {"name": name, "in": "query", "required": required}
    return parameter | {"description": description, "schema": schema}


def header(description: str, schema: Described) -> Described:
    """Describe a header of an answer."""
    return {"description": description, "schema": schema}


def constants(**values: str) -> Described:
    """Describe headers of constant value, their names written with `_` for `-`."""
    return {
        name.replace("_", "-"): {"schema": {"type": "string", "const": value}}
        for name, value in values.items()
    }


def _refs(*names: str) -> Described:
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}


_HEADERS = {
    "X-Request-Id": header("The id sent, if sane; else a new one. The log has it.", TEXT),
    CODE_HEADER: header("What is wrong, as a word for machines.", TEXT | {"enum": list(ErrorCode)}),
    "X-RateLimit-Limit": header("Requests allowed in the window.", _COUNT),
    "X-RateLimit-Remaining": header("Requests left in it.", _COUNT),
    "X-RateLimit-Reset": header("When it ends: Unix epoch seconds.", _COUNT),
    "RateLimit-Policy": header("Every limit, as the IETF draft has it.", TEXT),
    "RateLimit": header("What is left of each, as the IETF draft has it.", TEXT),
    "Retry-After": header("Seconds.", {"type": "integer", "minimum": 1}),
    "WWW-Authenticate": header("The scheme.", {"type": "string", "const": "Bearer"}),
}
REQUEST_ID = _refs("X-Request-Id")
RATE_LIMIT = REQUEST_ID | _refs(*(name for name in _HEADERS if "RateLimit" in name))
"""The headers of an operation that needs a key."""

_ERROR_CODE = _refs(CODE_HEADER)

_STATUS_HEADERS = {
    401: _refs("WWW-Authenticate"),
    429: _refs("Retry-After"),
}

ERRORS: dict[int, tuple[str, str, str]] = {
    400: ("BadRequest", "A field breaks a rule.", f"slug: {SLUG_RULE}"),
    401: ("Unauthorized", "No valid API key.", "API key: unknown"),
    403: (
        "Forbidden",
        "The key has no access: it is another account's, or beyond the key's scopes.",
        "accountId: this API key has no access to the account",
    ),
    404: ("NotFound", "It does not exist.", "short link: not found"),
    413: ("PayloadTooLarge", "The body is too large.", f"body: at most {MAX_BODY_BYTES} bytes"),
    429: (
        "RateLimited",
        "Too many requests.",
        "rate limit: 100 requests per minute for each IP address",
    ),
    500: ("InternalError", "The fault is the service's; its log has the reason.", "internal error"),
    503: (
        "Unavailable",
        "A store that this needs is unavailable, or too much of its kind is under way.",
        "storage is unavailable; try again",
    ),
}
"""By status: name, meaning and an example of the message."""

_ERROR_SCHEMA: Described = {
    "type": "object",
    "description": "What is wrong: the field and the rule.",
    "properties": {"error": TEXT},
    "required": ["error"],
    "additionalProperties": False,
}


def error(status: int) -> Described:
    """Refer to the error answer of an operation that needs a key."""
    return {"$ref": f"#/components/responses/{ERRORS[status][0]}"}


def public_answer(
    meaning: str, content: Described | None = None, headers: Described | None = None
) -> Described:
    """Describe an answer of an operation that needs no key."""
    own = {"description": meaning, "headers": REQUEST_ID | (headers or {})}
    return own | ({"content": content} if content else {})


def public_error(
    status: int,
    meaning: str = "",
    example: str = "",
    forms: tuple[str, ...] = (),
    headers: Described | None = None,
) -> Described:
    """Describe an error of an operation that needs no key.

    `forms` are the media types that it may have instead of JSON. The meaning and the example
    default to those of the status.
    """
    _, usual, usual_example = ERRORS[status]
    content = _error_content(example or usual_example) | {form: {"schema": TEXT} for form in forms}
    own = _ERROR_CODE | _STATUS_HEADERS.get(status, {}) | (headers or {})
    return public_answer(meaning or usual, content, own)


def without_content(answers: Mapping[int, Described]) -> dict[int, Described]:
    """Return `answers` as HEAD has them."""
    return {
        status: {name: part for name, part in answer.items() if name != "content"}
        for status, answer in answers.items()
    }


def _error_content(example: str) -> Described:
    return json_content(ref("Error"), {"error": example})


def components(schemas: Mapping[str, Described]) -> Described:
    """Describe everything that operations refer to: `schemas`, headers, errors, the API key."""
    responses = {
        name: {
            "description": meaning,
            "headers": RATE_LIMIT | _ERROR_CODE | _STATUS_HEADERS.get(status, {}),
            "content": _error_content(example),
        }
        for status, (name, meaning, example) in ERRORS.items()
    }
    scheme = {"type": "http", "scheme": "bearer", "description": "An API key of the account."}
    return {
        "schemas": {**schemas, "Error": _ERROR_SCHEMA},
        "headers": _HEADERS,
        "responses": responses,
        "securitySchemes": {API_KEY: scheme},
    }
