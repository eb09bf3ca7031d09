"""What a source's link becomes here, by the rules of new links. Pure."""

import re
from collections.abc import Sequence
from hashlib import sha256
from typing import Any, Final, NamedTuple

import msgspec

from tracker.access.passwords import is_supported_hash
from tracker.errors import BadRequest
from tracker.ids import SLUG
from tracker.imports.item import Loss, SourceLink, SourcePassword
from tracker.links.api.option_schema import (
    MAX_CLICKS,
    MAX_NOTES_CHARACTERS,
    MAX_PASSWORD_CHARACTERS,
)
from tracker.links.api.short_link_schema import NewShortLink
from tracker.links.domain import Domain
from tracker.syntax.invisible import stripped
from tracker.syntax.url_path import folded, name_of, written
from tracker.web.limits import MAX_TAG_NAME_CHARACTERS, MAX_TAGS, MAX_TEXT_CHARACTERS

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_OPTIONS: Final = ("starts_at", "expires_at", "expired_url", "max_clicks", "external_id")


class Candidate(NamedTuple):
    """A link that may be created, with the names of its `tags`."""

    item: SourceLink
    body: NewShortLink
    domain: Domain | None
    tags: Sequence[str]
    losses: Sequence[Loss]

    @property
    def paths(self) -> dict[str, str]:
        """Return names by slug, if it has one, and path as visits are compared with it."""
        slugs = [self.body.slug] if self.body.slug else []
        paths = [*slugs, *(name_of(path, "utf-8") for path in self.body.paths or ())]
        return {path: name_on(self.domain, path) for path in paths}

    @property
    def takes(self) -> dict[str, str]:
        """Return what no other link may have, with the fields."""
        external = self.body.external_id
        return {
            name_of_id(self.item): "id",
            **dict.fromkeys(self.paths.values(), "path"),
            **({name_of_external(external): "external_id"} if external else {}),
        }


def name_on(domain: Domain | None, path: str) -> str:
    """Return a name with its domain, the same for paths that the domain does not tell apart."""
    if domain is None:
        return f"/{path}"
    return f"{domain.id}/{path if domain.case_sensitive else folded(path)}"


def name_of_id(item: SourceLink) -> str:
    return f"id {item.id}"


def name_of_external(external_id: object) -> str:
    return f"external {external_id}"


def candidate(item: SourceLink, domain: Domain | None) -> Candidate:
    """Return what a link becomes on a domain; None: the service's own.

    Raises BadRequest, with the field at fault and the rule.
    """
    digest(item)  # so that all its texts can be stored
    losses = list(item.losses)
    name = _CONTROL.sub(" ", item.internal_name or "")
    fields: dict[str, Any] = {
        "destination_url": item.destination_url,
        "domain_id": domain and domain.id,
        "active": item.active and (item.password is None or is_kept(item.password)),
        "pass_query": item.pass_query,
        "rules": list(item.rules),
        "split": item.split,
        "internal_name": _cut("internal_name", name, MAX_TEXT_CHARACTERS, losses),
        "notes": _cut("notes", item.notes or "", MAX_NOTES_CHARACTERS, losses),
        **_paths(item, domain),
    }
    for option in _OPTIONS:
        value = getattr(item, option)
        if value is not None:
            fields[option] = value
    if item.archived:
        losses.append(Loss("archived", "goes on working, so it is not archived here"))
    if item.max_clicks is not None and not 1 <= item.max_clicks <= MAX_CLICKS:
        raise BadRequest(f"max_clicks: must be 1 to {MAX_CLICKS:,}")
    if item.password is not None and not is_kept(item.password):
        losses.append(Loss("password", "does not come along, so the link is inactive"))
    named = [_CONTROL.sub(" ", one) for one in item.tags]
    cut = [_cut("tags", one, MAX_TAG_NAME_CHARACTERS, losses) for one in named]
    tags = list(dict.fromkeys(one for one in cut if one))
    if len(tags) > MAX_TAGS:
        losses.append(Loss("tags", f"at most {MAX_TAGS}"))
    try:
        return Candidate(item, NewShortLink(**fields), domain, tags[:MAX_TAGS], losses)
    except ValueError as error:
        raise BadRequest(str(error)) from None


def is_kept(password: SourcePassword) -> bool:
    """Return whether visitors can be asked for the password here."""
    if password.scheme == "plain":
        return 0 < len(password.text) <= MAX_PASSWORD_CHARACTERS
    return password.scheme == "argon2" or is_supported_hash(password.text)


def digest(item: SourceLink) -> bytes:
    """Return what tells whether a link has changed at its source. Raises BadRequest."""
    # Without the password: this is no hash for one.
    password = item.password and SourcePassword(item.password.scheme)
    kept = msgspec.structs.replace(item, row=0, clicks=None, losses=(), password=password)
    try:
        return sha256(msgspec.msgpack.encode(kept)).digest()
    except UnicodeEncodeError:
        raise BadRequest("row: has text that is no valid Unicode") from None


def _paths(item: SourceLink, domain: Domain | None) -> dict[str, Any]:
    paths = (item.path, *item.aliases)
    if not item.path:
        raise BadRequest("path: is the root of a domain, which no link can be")
    slug = next((one for one in paths if SLUG.fullmatch(one)), None)
    others = [one for one in dict.fromkeys(paths) if one != slug]
    if others and domain is None:
        raise BadRequest("path: only links of custom domains have other paths than a slug")
    return {"slug": slug, **({"paths": [*map(written, others)]} if others else {})}


def _cut(field: str, text: str, limit: int, losses: list[Loss]) -> str | None:
    text = stripped(text)
    if len(text) > limit:
        losses.append(Loss(field, f"cut to {limit} characters"))
    return stripped(text[:limit]) or None
