"""Parts of the OpenAPI document that operations share, as JSON values."""

from collections.abc import Mapping
from typing import Any

from tracker.access.idempotency import HEADER, KEY_PATTERN, MAX_KEY_CHARACTERS, REPLAYED
from tracker.errors import CODE_HEADER, FIELD_HEADER, REASON_HEADER, ErrorCode, ErrorReason
from tracker.ids import EXAMPLE_ID, SLUG_RULE
from tracker.web.limits import MAX_BODY_BYTES

OpenApiPart = dict[str, Any]

API_KEY = "apiKey"
SESSION = "session"
"""The name of the security scheme."""

TEXT: OpenApiPart = {"type": "string"}
BINARY: OpenApiPart = {"type": "string", "format": "binary"}
_TRUE: OpenApiPart = {"type": "string", "const": "true"}
_COUNT: OpenApiPart = {"type": "integer", "minimum": 0}


def json_content(schema: OpenApiPart, example: Any = None) -> OpenApiPart:
    return {"application/json": {"schema": schema} | ({"example": example} if example else {})}


def ref(schema: str) -> OpenApiPart:
    return {"$ref": f"#/components/schemas/{schema}"}


def query(name: str, schema: OpenApiPart, description: str, required: bool = False) -> OpenApiPart:
    parameter = {"name": name, "in": "query", "required": required}
    return parameter | {"description": description, "schema": schema}


def header(description: str, schema: OpenApiPart) -> OpenApiPart:
    return {"description": description, "schema": schema}


def constants(**values: str) -> OpenApiPart:
    """Describe headers with constant values; their names have `_` for `-`."""
    return {
        name.replace("_", "-"): {"schema": {"type": "string", "const": value}}
        for name, value in values.items()
    }


def _refs(*names: str) -> OpenApiPart:
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}


_HEADERS = {
    "X-Request-Id": header(
        "The id that was sent, if it is valid, else a new one. It is logged.", TEXT
    ),
    CODE_HEADER: header("The kind of error, for programs.", TEXT | {"enum": list(ErrorCode)}),
    REASON_HEADER: header("The rule, with `bad_request`.", TEXT | {"enum": list(ErrorReason)}),
    FIELD_HEADER: header("The field, where the error is of one.", TEXT),
    "X-RateLimit-Limit": header("Requests allowed in the window.", _COUNT),
    "X-RateLimit-Remaining": header("Requests left in the window.", _COUNT),
    "X-RateLimit-Reset": header("End of the window, in seconds since the Unix epoch.", _COUNT),
    "RateLimit-Policy": header("All limits, in the format of the IETF draft.", TEXT),
    "RateLimit": header("Requests left for each limit, in the format of the IETF draft.", TEXT),
    "X-Report-Progress": header(
        "The fraction of the report counted and cached, if it takes too long.",
        {"type": "number", "minimum": 0, "maximum": 1},
    ),
    "Retry-After": header("Seconds to wait.", {"type": "integer", "minimum": 1}),
    "WWW-Authenticate": header("The authentication scheme.", {"type": "string", "const": "Bearer"}),
}
REQUEST_ID = _refs("X-Request-Id")
RATE_LIMIT = REQUEST_ID | _refs(*(name for name in _HEADERS if "RateLimit" in name))
"""The headers of an operation that needs a key."""

FILE_NAME = {"Content-Disposition": header("The name of the file, for CSV and NDJSON only.", TEXT)}
"""The header of answers that may be files."""

_TAG = TEXT | {"examples": ['"1767000000123"']}
ENTITY_TAG = {"ETag": header("The `revision` in quotes, for `If-Match`.", _TAG)}
IF_MATCH: OpenApiPart = {
    "name": "If-Match",
    "in": "header",
    "description": "The `ETag` that is to be changed, or several; `*`: any. Else it is 412.",
    "schema": _TAG,
}

IDEMPOTENCY_KEY: OpenApiPart = {
    "name": HEADER,
    "in": "header",
    "description": "A text that is new for each request, bare or in quotes. The same request with "
    "the same key gets the first answer again, for 24 hours, and has no other effect. With another "
    "request the key is 400 `idempotency_key_reused`.",
    "schema": TEXT
    | {"pattern": KEY_PATTERN, "maxLength": MAX_KEY_CHARACTERS, "examples": [EXAMPLE_ID]},
}
IS_REPLAYED = {REPLAYED: header("Whether this is the answer to an earlier request.", _TRUE)}

RETRY_AFTER = _refs("Retry-After")
_ERROR_CODE = _refs(CODE_HEADER)

_STATUS_HEADERS = {
    400: _refs(REASON_HEADER, FIELD_HEADER),
    401: _refs("WWW-Authenticate"),
    429: RETRY_AFTER,
    503: RETRY_AFTER | _refs("X-Report-Progress"),
}

ERRORS: dict[int, tuple[str, str, str]] = {
    400: ("BadRequest", "A field breaks a rule.", f"slug: {SLUG_RULE}"),
    401: ("Unauthorized", "No valid API key.", "API key: unknown"),
    403: (
        "Forbidden",
        "The key has no access: the object is another account's, or the scope is missing.",
        "accountId: this API key has no access to the account",
    ),
    404: ("NotFound", "The object does not exist.", "short link: not found"),
    412: (
        "ChangedMeanwhile",
        "`If-Match` or `revisions` name another version than the present one.",
        "If-Match: this is not its present version",
    ),
    413: ("PayloadTooLarge", "The body is too large.", f"body: at most {MAX_BODY_BYTES} bytes"),
    429: (
        "RateLimited",
        "Too many requests.",
        "rate limit: 100 requests per minute for each IP address",
    ),
    500: ("InternalError", "The service has failed; its log has the reason.", "internal error"),
    503: (
        "Unavailable",
        "A store is unavailable, too many requests of this kind are in progress, or this one takes "
        "longer than it may (`X-Error-Code: time_limit`).",
        "storage is unavailable; try again",
    ),
}
"""The name, meaning and example message of each error, by status."""

_ERROR_SCHEMA: OpenApiPart = {
    "type": "object",
    "description": "The field and the rule that it breaks.",
    "properties": {"error": TEXT},
    "required": ["error"],
    "additionalProperties": False,
}


def error(status: int) -> OpenApiPart:
    """Return a reference to the error answer of an operation that needs a key."""
    return {"$ref": f"#/components/responses/{ERRORS[status][0]}"}


def public_answer(
    meaning: str, content: OpenApiPart | None = None, headers: OpenApiPart | None = None
) -> OpenApiPart:
    """Describe an answer of an operation that needs no key."""
    own = {"description": meaning, "headers": REQUEST_ID | (headers or {})}
    return own | ({"content": content} if content else {})


def public_error(
    status: int,
    meaning: str = "",
    example: str = "",
    media_types: tuple[str, ...] = (),
    headers: OpenApiPart | None = None,
) -> OpenApiPart:
    """Describe an error of an operation that needs no key, by default as usual for the status.

    `media_types` are offered besides JSON.
    """
    _, usual, usual_example = ERRORS.get(status, ("", "", ""))
    content = _error_content(example or usual_example) | {
        one: {"schema": TEXT} for one in media_types
    }
    own = _ERROR_CODE | _STATUS_HEADERS.get(status, {}) | (headers or {})
    return public_answer(meaning or usual, content, own)


def without_content(answers: Mapping[int, OpenApiPart]) -> dict[int, OpenApiPart]:
    """Return `answers` without bodies, for HEAD."""
    return {
        status: {name: part for name, part in answer.items() if name != "content"}
        for status, answer in answers.items()
    }


def _error_content(example: str) -> OpenApiPart:
    return json_content(ref("Error"), {"error": example})


def components(schemas: Mapping[str, OpenApiPart]) -> OpenApiPart:
    """Describe everything that operations refer to: `schemas`, headers, errors and the API key."""
    responses = {
        name: {
            "description": meaning,
            "headers": RATE_LIMIT | _ERROR_CODE | _STATUS_HEADERS.get(status, {}),
            "content": _error_content(example),
        }
        for status, (name, meaning, example) in ERRORS.items()
    }
    scheme = {"type": "http", "scheme": "bearer", "description": "An API key of the account."}
    cookie = {
        "type": "apiKey",
        "in": "cookie",
        "name": "__Host-session",
        "description": "The session of a person, from pages of the console only. Where BASE_URL is "
        "http, the cookie is called `session`.",
    }
    return {
        "schemas": {**schemas, "Error": _ERROR_SCHEMA},
        "headers": _HEADERS,
        "responses": responses,
        "securitySchemes": {API_KEY: scheme, SESSION: cookie},
    }
