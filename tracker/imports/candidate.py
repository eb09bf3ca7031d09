"""What a source's link becomes here, by the rules of new links. Pure."""

import re
from collections.abc import Sequence
from hashlib import sha256
from typing import Any, Final, NamedTuple

import msgspec

from tracker.ids import SLUG
from tracker.imports.item import Loss, SourceLink, SourcePassword
from tracker.links.api.option_schema import MAX_NOTES_CHARACTERS
from tracker.links.api.short_link_schema import NewShortLink
from tracker.links.domain import Domain
from tracker.syntax.invisible import stripped
from tracker.web.limits import MAX_TAG_NAME_CHARACTERS, MAX_TAGS, MAX_TEXT_CHARACTERS

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_OPTIONS: Final = ("starts_at", "expires_at", "expired_url", "max_clicks", "external_id")


class Refused(Exception):
    """Why a row becomes no link: the field at fault, and the rule."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(reason)
        self.field = field


class Candidate(NamedTuple):
    """A link that may be created. `tags` are names; `archived` is no field of a request."""

    body: NewShortLink
    domain: Domain | None
    tags: Sequence[str]
    losses: Sequence[Loss]


def candidate(item: SourceLink, domain: Domain | None) -> Candidate:
    """Return what a link becomes on a domain; None: the service's own. Raises Refused."""
    losses = list(item.losses)
    fields: dict[str, Any] = {
        "destination_url": item.destination_url,
        "domain_id": domain and domain.id,
        "active": item.active,
        "pass_query": item.pass_query,
        "internal_name": _cut("internal_name", item.internal_name, MAX_TEXT_CHARACTERS, losses),
        "notes": _cut("notes", item.notes, MAX_NOTES_CHARACTERS, losses, lines=True),
        **_names(item, domain),
    }
    for name in _OPTIONS:
        value = getattr(item, name)
        if value is not None and name not in NewShortLink.__struct_fields__:
            losses.append(Loss(name, "cannot be kept"))
        elif value is not None:
            fields[name] = value
    if item.password is not None:
        fields["active"] = False
        losses.append(Loss("password", "cannot be kept, so the link is inactive"))
    tags = [_cut("tags", one, MAX_TAG_NAME_CHARACTERS, losses) for one in item.tags]
    named = list(dict.fromkeys(one for one in tags if one))
    if len(named) > MAX_TAGS:
        losses.append(Loss("tags", f"at most {MAX_TAGS}"))
    try:
        body = NewShortLink(**fields)
    except ValueError as error:
        field, _, reason = str(error).partition(": ")
        raise Refused(field, reason) from None
    return Candidate(body, domain, named[:MAX_TAGS], losses)


def digest(item: SourceLink) -> bytes:
    """Return what tells whether a link has changed at its source. Raises Refused."""
    password = item.password and SourcePassword(item.password.scheme)
    kept = msgspec.structs.replace(item, row=0, clicks=None, losses=(), password=password)
    try:
        return sha256(msgspec.msgpack.encode(kept)).digest()
    except UnicodeEncodeError:
        raise Refused("row", "has text that is no valid Unicode") from None


def _names(item: SourceLink, domain: Domain | None) -> dict[str, Any]:
    if not item.path:
        raise Refused("path", "is the root of a domain, which no link can be")
    if not item.aliases and SLUG.fullmatch(item.path):
        return {"slug": item.path}
    if domain is None:
        raise Refused("path", "only links of custom domains have other paths than a slug")
    if "paths" not in NewShortLink.__struct_fields__:
        raise Refused("path", "no slug")
    paths = (item.path, *item.aliases)
    slug = next((one for one in paths if SLUG.fullmatch(one)), None)
    return {"slug": slug, "paths": [one for one in paths if one != slug]}


def _cut(
    field: str, text: str | None, limit: int, losses: list[Loss], lines: bool = False
) -> str | None:
    if text is None:
        return None
    text = stripped(text if lines else _CONTROL.sub(" ", text))
    if len(text) > limit:
        losses.append(Loss(field, f"cut to {limit} characters"))
    return stripped(text[:limit]) or None
