"""The OpenAPI parts of `/api/event`, written by hand, because its parameters are parsed by hand."""

from tracker.access.idempotency import HEADER
from tracker.conversions.postbacks.aliases import MAX_WARNINGS
from tracker.conversions.postbacks.parameters import (
    CONSENTS,
    MAX_METADATA_BYTES,
    MAX_METADATA_LEVELS,
    MAX_PBK_CHARACTERS,
    MAX_TRANSACTION_ID_CHARACTERS,
    MAX_VALUE,
    MAX_VALUE_DIGITS,
)
from tracker.conversions.postbacks.times import MAX_DAYS_AGO
from tracker.conversions.postbacks.words import MAX_WORD_CHARACTERS
from tracker.ids import MAX_EVENT_ID
from tracker.syntax.form_data import FORM_DATA
from tracker.web.limits import MAX_EVENT_BYTES, PREFLIGHT_CACHE_SECONDS
from tracker.web.openapi_parts import (
    IS_REPLAYED,
    RETRY_AFTER,
    TEXT,
    OpenApiPart,
    constants,
    header,
    json_content,
    public_answer,
    public_error,
    query,
    ref,
)

EXAMPLE_PBK = "mB2eZc0vQ8yT5sWkXn1uHg"
FORM = "application/x-www-form-urlencoded"

_TRANSACTION_ID: OpenApiPart = {"type": "string", "maxLength": MAX_TRANSACTION_ID_CHARACTERS}

_FIELDS: dict[str, OpenApiPart] = {
    "pbk": {
        "type": "string",
        "maxLength": MAX_PBK_CHARACTERS,
        "description": "postback key of an active event configuration; this or click_id is "
        "required",
        "examples": [EXAMPLE_PBK],
    },
    "click_id": {
        "type": "string",
        "format": "uuid",
        "description": "from the redirect; of the same account as pbk",
    },
    "value": {
        "type": "number",
        "minimum": -MAX_VALUE,
        "maximum": MAX_VALUE,
        "description": "required if the payout type is RevShare and "
        "the conversion is approved; "
        f"at most {MAX_VALUE_DIGITS} digits; may be text",
        "examples": [12.5],
    },
    "metadata": {
        "type": "object",
        "additionalProperties": True,
        "description": f"at most {MAX_METADATA_BYTES} bytes of JSON "
        f"and {MAX_METADATA_LEVELS} levels deep",
    },
    "transaction_id": _TRANSACTION_ID
    | {
        "description": "if it is repeated in the event configuration (or account), nothing is "
        "recorded; the answer has the first eventId and duplicate. An unfilled macro is refused; "
        "a word for no value, and a text without a letter or digit, count as not sent",
        "examples": ["order-1001"],
    },
    "txid": _TRANSACTION_ID | {"description": "another name for transaction_id"},
    "status": {
        "type": "string",
        "maxLength": MAX_WORD_CHARACTERS,
        "description": "a word of the event configuration's statuses, or one that all networks use "
        "alike; case is ignored. A conversion without one is approved. A further report of the "
        "same transaction id, or click and pbk, restates the conversion (updated)",
        "examples": ["approved", "rejected"],
    },
    "currency": {
        "type": "string",
        "description": "of the value, by ISO 4217; case is ignored. Ignored while the account has "
        "no currency",
        "examples": ["EUR"],
    },
    "occurred_at": {
        "type": "string",
        "description": "the time of a conversion that is reported late: ISO 8601, without offset "
        f"in UTC, or Unix time in seconds or milliseconds; of the last {MAX_DAYS_AGO} days",
        "examples": ["2026-01-31T09:30:00Z"],
    },
    "consent": {
        "type": "string",
        "enum": [*CONSENTS],
        "description": "the visitor's answer, kept with the conversion; any other word is ignored",
    },
}
# In words, because client generators do not support a body with `anyOf`.
_CONVERSION: OpenApiPart = {
    "type": "object",
    "description": "At least one of pbk and click_id is required. Unknown fields are ignored, "
    "unless they are parameter_aliases of the event configuration. An empty field counts as not "
    "sent.",
    "properties": _FIELDS,
}
_RECORDED: OpenApiPart = {
    "type": "object",
    "properties": {
        "success": {"type": "boolean", "const": True},
        "eventId": {
            "type": "integer",
            "minimum": 1,
            "maximum": MAX_EVENT_ID,
            "description": "of a repeat: the id of the conversion that it repeats",
        },
        "clickStatus": {
            "type": "string",
            "enum": ["found", "pending"],
            "description": "found: the click is stored; pending: the click is not stored yet, "
            "or none was named (clickNamed)",
        },
        "clickNamed": {"type": "boolean", "description": "whether the conversion named a click"},
        "duplicate": {
            "type": "boolean",
            "const": True,
            "description": "only if an earlier conversion has the transaction id: eventId is its "
            "id, and nothing is recorded",
        },
        "updated": {
            "type": "boolean",
            "const": True,
            "description": "only if this restates an earlier conversion: eventId is its id",
        },
        "warnings": {
            "type": "array",
            "items": {"type": "string"},
            "minItems": 1,
            "maxItems": MAX_WARNINGS,
            "description": "only if a parameter was ignored that may matter, was read from a "
            "damaged name, or a transaction id is another click's; or for a status without meaning",
            "examples": [["cid: ignored; did you mean click_id?"]],
        },
    },
    "required": ["success", "eventId", "clickStatus", "clickNamed"],
}
_HEADERS = {
    "Access-Control-Allow-Origin": header(
        "the Origin of the request, with Access-Control-Allow-Credentials; * without one", TEXT
    )
} | constants(
    Vary="Origin",
    Cross_Origin_Resource_Policy="cross-origin",
    Cache_Control="no-store",
)


# A schema of its own: a generated client with one type for both bodies would send both.
_CONVERSION_FORM = _CONVERSION | {
    "properties": _FIELDS | {"metadata": TEXT | {"description": "the same object as JSON text"}}
}
EVENT_SCHEMAS: dict[str, OpenApiPart] = {
    "Consent": {
        "type": "object",
        "properties": {
            "click_id": TEXT | {"format": "uuid"},
            "consent": TEXT | {"enum": [*CONSENTS]},
        },
        "required": ["click_id", "consent"],
        "additionalProperties": False,
    },
    "ConsentRecorded": {
        "type": "object",
        "properties": {"success": {"type": "boolean", "const": True}},
        "required": ["success"],
    },
    "Conversion": _CONVERSION,
    "ConversionForm": _CONVERSION_FORM,
    "RecordedConversion": _RECORDED,
}


def _parameter(name: str) -> OpenApiPart:
    schema = dict(_FIELDS[name])
    parameter = query(name, schema, schema.pop("description"))
    if name == "metadata":
        # Generators of clients do not support a parameter with `content`.
        parameter["schema"] = TEXT | {
            "contentMediaType": "application/json",
            "examples": ['{"plan":"pro"}'],
        }
    return parameter


def answers(*forms: str) -> dict[int, OpenApiPart]:
    """Describe the answers by status. `forms` are media types besides JSON."""

    def failed(status: int, meaning: str = "", example: str = "") -> OpenApiPart:
        return public_error(status, meaning, example, forms, _HEADERS)

    content = json_content(ref("RecordedConversion")) | {form: {"schema": TEXT} for form in forms}
    of_event = {
        "X-Event-Id": header("eventId", {"type": "integer", "minimum": 1}),
        "X-Event-Duplicate": header("duplicate; absent if not", {"const": "true"}),
    } | ({} if forms else IS_REPLAYED)
    return {
        200: public_answer("The event is durable.", content, _HEADERS | of_event),
        400: failed(400, example="pbk or click_id: at least one is required"),
        404: failed(
            404,
            "The postback key is unknown or not active.",
            "pbk: no active event configuration has this postback key",
        ),
        413: failed(413, example=f"body: at most {MAX_EVENT_BYTES} bytes"),
        429: failed(
            429,
            "The address has sent too many conversions without a postback key for clicks that are "
            "not stored, or too many postback keys that do not exist.",
            "click_id: too many conversions from this address name clicks that are not stored; "
            "send them again later, or with pbk",
        ),
        500: failed(500),
        503: public_error(503, media_types=forms, headers=_HEADERS | RETRY_AFTER),
    }


BODY: OpenApiPart = {
    "description": "Parameters may also be in the query. If one is in both, the body's value "
    "counts; pbk and click_id must not differ. JSON may be sent as `text/plain` too, as "
    "navigator.sendBeacon does.",
    "content": {
        **json_content(
            ref("Conversion"), {"pbk": EXAMPLE_PBK, "value": 12.5, "metadata": {"plan": "pro"}}
        ),
        **{
            form: {"schema": ref("ConversionForm"), "example": {"pbk": EXAMPLE_PBK, "value": 12.5}}
            for form in (FORM, FORM_DATA)
        },
    },
}


def preflight(methods: str) -> dict[int, OpenApiPart]:
    """Describe the answer to a preflight of a path with these methods."""
    headers = _HEADERS | constants(
        Access_Control_Allow_Methods=methods,
        Access_Control_Allow_Headers=f"Content-Type, {HEADER}",
        Access_Control_Max_Age=str(PREFLIGHT_CACHE_SECONDS),
        Allow=methods,
    )
    return {204: public_answer("The headers say what is allowed.", headers=headers)}


CONSENT_ANSWERS = {
    200: public_answer("The answer is durable.", json_content(ref("ConsentRecorded")), _HEADERS),
    **{status: public_error(status, headers=_HEADERS) for status in (400, 413, 429, 500, 503)},
}
CONSENT_BODY: OpenApiPart = {
    "description": "JSON of any type, so that a beacon may send it as `text/plain`.",
    "content": json_content(
        ref("Consent"), {"click_id": "0190b5a2-7c1e-7d3f-8a4b-5c6d7e8f9a0b", "consent": "granted"}
    ),
}
PARAMETERS = tuple(map(_parameter, _FIELDS))
