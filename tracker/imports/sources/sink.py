"""Sink: its export, as a file or by its API."""

from collections.abc import Iterable
from typing import Any, Final

from tracker.errors import BadRequest
from tracker.imports.item import SourceItem, SourcePassword
from tracker.imports.readers import fields
from tracker.imports.readers.json_records import api_reader, json_format
from tracker.imports.readers.rules import SourceRules
from tracker.imports.source import Parameters, Source

_HASHED: Final = "sink-pwd:"
_MASKED: Final = "__SINK_MASKED__"
_LOST: Final = {
    fields.NO_FRAMES: "cloaking proxy",
    fields.NO_PREVIEWS: "description image",
    "no page warns of the destination": "unsafe",
}


def _link(number: int, record: fields.Record) -> Iterable[SourceItem]:
    passes = fields.is_true(record.get("redirectWithQuery"))
    rules = SourceRules()
    rules.add_systems(record, {"google": "Android", "apple": "iOS"})
    rules.add_countries("geo", record.get("geo") or {})
    yield fields.link(
        number,
        record,
        "destination_url:url internal_name:title tags created_at:createdAt expires_at:expiration"
        " notes:comment",
        path=record["slug"],
        pass_query=passes,
        password=_password(record.get("password") or ""),
        rules=tuple(rules.rules),
        losses=(
            *rules.losses,
            *fields.losses(record, _LOST),
            *fields.query_loss(record["url"] if passes else ""),
        ),
    )


def _password(text: str) -> SourcePassword | None:
    """Return a password. Beside the hash stand its last characters in clear: they are dropped."""
    if text.startswith(_MASKED):
        return SourcePassword("unknown")
    if not text.startswith(_HASHED):
        return fields.password("password", text)
    _, version, iterations, salt, digest, *_ = text.split(":")
    if version != "v1" or not iterations.isdecimal():
        raise BadRequest("password: is hashed in a way that is not known")
    return SourcePassword("pbkdf2", f"pbkdf2-sha256${iterations}${salt}${digest}")


def _following(_: Parameters, answer: Any, __: list[Any]) -> Parameters | None:
    return None if answer.get("list_complete", True) else {"cursor": answer["cursor"]}


SINK: Final = Source(
    name="sink",
    label="Sink",
    files=(json_format(_link, "links", "slug"),),
    key_headers=lambda key: {"Authorization": f"Bearer {key}"},
    read_api=api_reader(_link, "api/link/export", {}, "links", _following),
)
