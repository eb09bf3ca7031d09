"""OpenAPI of `/api/join`."""

from typing import Final

from tracker.access.invitations import InvitationKind
from tracker.access.passwords import MAX_CHARACTERS, MIN_CHARACTERS
from tracker.access.roles import Role
from tracker.api.limits import MAX_TEXT_CHARACTERS, MAX_TOKEN_CHARACTERS
from tracker.api.openapi.parts import (
    TEXT,
    Described,
    json_content,
    public_answer,
    public_error,
    ref,
)
from tracker.syntax.email import MAX_EMAIL_CHARACTERS

EXAMPLE_TOKEN: Final = "q8Zr0mD1Vt3cXbY5nK7sLwP9hGfEaJ2uR4iToSdQvNc"  # noqa: S105

_TOKEN = TEXT | {"maxLength": MAX_TOKEN_CHARACTERS, "description": "the link's part after the #"}
_PASSWORD_RULE = f"a new one has {MIN_CHARACTERS} to {MAX_CHARACTERS} characters"


def _object(required: tuple[str, ...], **properties: Described) -> Described:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def _or_null(schema: Described) -> Described:
    return schema | {"type": [schema["type"], "null"]}


JOIN_SCHEMAS: Final[dict[str, Described]] = {
    "PreviewJoin": _object(("token",), token=_TOKEN),
    "Join": _object(
        ("token", "password"),
        token=_TOKEN,
        password=TEXT | {"description": f"of the person, if the preview says so; {_PASSWORD_RULE}"},
        name=_or_null(TEXT)
        | {
            "maxLength": MAX_TEXT_CHARACTERS,
            "description": "required of a person who does not exist yet",
        },
        email=_or_null(TEXT)
        | {
            "maxLength": MAX_EMAIL_CHARACTERS,
            "description": "required if the invitation has none",
        },
        code=_or_null(TEXT)
        | {"description": "of the second factor, after an answer 401 code_required"},
    ),
    "JoinPreview": _object(
        ("kind", "email", "account", "role", "has_password", "needs_code"),
        kind=TEXT | {"enum": list(InvitationKind)},
        email=_or_null(TEXT) | {"description": "null: the person chooses it"},
        account=_or_null(
            _object(("id", "name"), id=TEXT | {"format": "uuid"}, name=TEXT),
        )
        | {"description": "null for a password reset"},
        role=_or_null(TEXT) | {"enum": [*Role, None]},
        has_password={
            "type": "boolean",
            "description": "the person exists: joining needs the password they have",
        },
        needs_code={
            "type": "boolean",
            "description": "a reset needs a code of the second factor; false for an invitation, "
            "which asks for one after the password",
        },
    ),
}
"""The schemas of these endpoints, by the names in their operations' references."""


def _answers(meaning: str, schema: str, errors: dict[int, Described]) -> dict[int, Described]:
    return {
        200: public_answer(meaning, json_content(ref(schema))),
        400: public_error(400, example="Content-Type: must be application/json"),
        **errors,
        403: public_error(
            403,
            "The request comes from a page of another origin.",
            "session: accepted only from pages of this service",
        ),
        404: public_error(
            404,
            "The link is unknown, expired, used or withdrawn.",
            "link: expired, used or withdrawn",
        ),
        413: public_error(413),
        429: public_error(429),
        500: public_error(500),
        503: public_error(503),
    }


def _body(schema: str, example: Described) -> Described:
    content = json_content(ref(schema), {"token": EXAMPLE_TOKEN, **example})
    return {"required": True, "content": content}


_WRONG = public_error(401, "The person's password or code is wrong.", "e-mail or password: wrong")

PREVIEW_BODY: Final = _body("PreviewJoin", {})
PREVIEW_ANSWERS: Final = _answers("What the link is for.", "JoinPreview", {})
JOIN_BODY: Final = _body(
    "Join", {"name": "Ada Lovelace", "password": "correct horse battery staple"}
)
JOIN_ANSWERS: Final = _answers("Joined, and signed in.", "SessionRecord", {401: _WRONG})
