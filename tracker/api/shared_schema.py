"""OpenAPI of `/api/shared`."""

from typing import Final

from tracker.api.limits import MAX_TOKEN_CHARACTERS
from tracker.api.openapi.parts import (
    TEXT,
    Described,
    json_content,
    public_answer,
    public_error,
    ref,
)

EXAMPLE_SHARE_TOKEN: Final = "k3Pz9sWq1Rt8YvB6nM2xJcL5hGfDaE7uO4iToSdQvNc"  # noqa: S105

SHARED_SCHEMAS: Final[dict[str, Described]] = {
    "OpenShare": {
        "type": "object",
        "properties": {
            "token": TEXT
            | {"maxLength": MAX_TOKEN_CHARACTERS, "description": "the link's part after the #"},
            "password": TEXT | {"type": ["string", "null"]},
        },
        "required": ["token"],
        "additionalProperties": False,
    },
    "SharedAnswer": {
        "allOf": [
            ref("OverviewAnswer"),
            {
                "type": "object",
                "properties": {
                    "name": TEXT,
                    "expiresAt": TEXT | {"type": ["string", "null"], "format": "date-time"},
                    "filters": {
                        "type": "object",
                        "additionalProperties": {"type": "array", "items": TEXT},
                        "description": "the names of the values that are counted, by dimension",
                    },
                    "tagOperator": TEXT | {"enum": ["OR", "AND"]},
                    "bots": TEXT | {"enum": ["exclude", "include", "only"]},
                },
                "required": ["name", "expiresAt", "filters"],
            },
        ]
    },
}
"""The schemas of this endpoint, by the names in its operation's references."""

BODY: Final[Described] = {
    "required": True,
    "content": json_content(ref("OpenShare"), {"token": EXAMPLE_SHARE_TOKEN}),
}
ANSWERS: Final[dict[int, Described]] = {
    200: public_answer(
        "The report. Links are numbered unless the share shows their names.",
        json_content(ref("SharedAnswer")),
    ),
    400: public_error(400, example="Content-Type: must be application/json"),
    401: public_error(
        401, "The password is missing or wrong (`password_required`).", "password: wrong"
    ),
    403: public_error(
        403,
        "The request comes from a page of another origin.",
        "session: accepted only from pages of this service",
    ),
    404: public_error(
        404, "The link is unknown, revoked or expired.", "share: expired, revoked or unknown"
    ),
    413: public_error(413),
    429: public_error(429),
    500: public_error(500),
    503: public_error(503),
}
