"""The options of a link in requests, and the rules of each."""

from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any, Final
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, UnsetType

from tracker.access.passwords import Passwords
from tracker.errors import BadRequest
from tracker.links.api.rules.checks import check_rules, checked_url
from tracker.links.api.rules.schema import RulesIn, SplitInput
from tracker.links.options import (
    CLICK_PARAMETER,
    NAMES,
    LinkOptions,
    RedirectStatus,
    check_parameter,
)
from tracker.links.rules.identity import Known, identified
from tracker.public_url import EVERYWHERE, is_everywhere
from tracker.syntax.amounts import DECIMALS, MAX_COST, cost_text
from tracker.syntax.url_path import MAX_NAME_BYTES, name_of, written
from tracker.web.limits import MAX_URL_CHARACTERS
from tracker.web.schema import in_utc, sent_fields

EXPIRED_URL: Final = "expired_url"

MAX_PASSWORD_CHARACTERS: Final = 128
MAX_CLICKS: Final = 1_000_000_000
MAX_NOTES_CHARACTERS: Final = 2_000
MAX_PATHS: Final = 20
PATH_RULE: Final = (
    f"1 to {MAX_NAME_BYTES} bytes of UTF-8, ? and # percent-encoded, without control characters, "
    "and with no two slashes at an end"
)

_Moment = Annotated[datetime, Meta(tz=True, examples=["2099-01-31T09:30:00.000Z"])]
STARTS: Final = "before it visitors get `expired_url`, else 404; null: at once"
EXPIRES: Final = "from then on visitors get `expired_url`, else 404; null: never"

Status = Annotated[RedirectStatus, Meta(description="301 not with a time or max_clicks")]
PassQuery = Annotated[
    bool, Meta(description="false: of the visitor's parameters none is passed on")
]
ClickParameter = Annotated[
    str,
    Meta(
        description="name of the parameter with the click id",
        extra_json_schema={"pattern": f"^{CLICK_PARAMETER.pattern}$"},
    ),
]
NoReferrer = Annotated[bool, Meta(description="true: browsers send the destination no referrer")]
ExpiredUrl = Annotated[
    str,
    Meta(
        description="where visitors are redirected outside the link's time; no click is recorded",
        extra_json_schema={"maxLength": MAX_URL_CHARACTERS},
    ),
]
OpeningClicks = Annotated[
    int, Meta(description="clicks before its import whose days are not known; in no report")
]
Password = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=MAX_PASSWORD_CHARACTERS,
        description="visitors are asked for it; null: none",
    ),
]
Notes = Annotated[
    str,
    Meta(description="for the owner", extra_json_schema={"maxLength": MAX_NOTES_CHARACTERS}),
]
Paths = Annotated[
    list[str],
    Meta(
        description="more paths that lead to the link on its custom domain, percent-encoded or not",
        extra_json_schema={"maxItems": MAX_PATHS},
        examples=[["summer/sale", "%C3%A9t%C3%A9"]],
    ),
]


MaxClicks = Annotated[
    int, Meta(ge=1, le=MAX_CLICKS, description="people's clicks until it has expired; null: any")
]

_COST: Final = "what a click of the link costs, unless the click says it; null: not known"
# Any, because msgspec would accept a number in a string too.
SentCost = Annotated[
    Any,
    Meta(
        description=f"{_COST}; at most {DECIMALS} decimals",
        extra_json_schema={"type": ["number", "null"], "minimum": 0, "maximum": MAX_COST},
    ),
]
Cost = Annotated[Decimal, Meta(description=_COST)]


class OptionsIn(msgspec.Struct, kw_only=True):
    """The options of a link to create or to change."""

    starts_at: Annotated[_Moment, Meta(description=STARTS)] | UnsetType | None = UNSET
    expires_at: Annotated[_Moment, Meta(description=EXPIRES)] | UnsetType | None = UNSET
    expired_url: ExpiredUrl | UnsetType | None = UNSET
    redirect_status: Status | UnsetType = UNSET
    pass_query: PassQuery | UnsetType = UNSET
    click_parameter: ClickParameter | UnsetType = UNSET
    no_referrer: NoReferrer | UnsetType = UNSET
    password: Password | UnsetType | None = UNSET
    notes: Notes | UnsetType | None = UNSET
    max_clicks: MaxClicks | UnsetType | None = UNSET
    paths: Paths | UnsetType = UNSET
    cost_per_click: SentCost = UNSET
    rules: RulesIn | UnsetType = UNSET
    split: SplitInput | UnsetType | None = UNSET


def options_of(body: OptionsIn) -> LinkOptions:
    """Return the options of a link to create, to be checked: with a password for its hash."""
    sent = sent_fields(body)
    sent["password_hash"] = sent.pop("password", None)
    return LinkOptions(**{name: sent[name] for name in NAMES if name in sent})


async def fields_of(
    body: OptionsIn, passwords: Passwords, stored: str | None = None
) -> dict[str, Any]:
    """Return the fields that were sent, with the hash of a password instead of it.

    The `stored` hash stays if it is of this password.
    """
    sent = sent_fields(body)
    if "password" in sent:
        password = sent.pop("password")
        if password and not (stored and await passwords.verify(stored, password)):
            stored = await passwords.hash(password)
        sent["password_hash"] = password and stored
    return sent


def rule_fields(body: OptionsIn, known: Known) -> dict[str, Any]:
    """Return the rules and the split that were sent as they are stored. Raises BadRequest."""
    sent = {"rules": body.rules, "split": body.split}
    given = {name: value for name, value in sent.items() if value is not UNSET}
    return identified(msgspec.to_builtins(given, builtin_types=(UUID,)), known)


def check_options_in(body: OptionsIn) -> None:
    """Check each option, in its canonical form. Raises BadRequest if one breaks a rule."""
    for name in ("starts_at", "expires_at"):
        moment = getattr(body, name)
        if isinstance(moment, datetime):
            setattr(body, name, _in_milliseconds(in_utc(name, moment)))
    if isinstance(body.expired_url, str):
        body.expired_url = checked_url(EXPIRED_URL, body.expired_url)
    if isinstance(body.click_parameter, str):
        check_parameter("click_parameter", body.click_parameter)
    if body.cost_per_click not in (UNSET, None):
        body.cost_per_click = cost_text("cost_per_click", body.cost_per_click)
    if isinstance(body.notes, str):
        body.notes = body.notes.strip() or None
        if body.notes is not None and len(body.notes) > MAX_NOTES_CHARACTERS:
            raise BadRequest(f"notes: at most {MAX_NOTES_CHARACTERS} characters")
    if isinstance(body.paths, list):
        body.paths = list(dict.fromkeys(map(_checked_path, body.paths)))
        if len(body.paths) > MAX_PATHS:
            raise BadRequest(f"paths: at most {MAX_PATHS}")
    check_rules(body.rules, body.split)


def _checked_path(text: str) -> str:
    """Return a path as it is shown. Raises BadRequest if no link can have it."""
    path = text.strip().removeprefix("/")
    name = "" if "?" in path or "#" in path else name_of(path, "utf-8")
    if not name:
        raise BadRequest(f"paths: {PATH_RULE}")
    if is_everywhere(f"/{name}"):
        raise BadRequest(f"paths: {name} is the service's, as are {', '.join(EVERYWHERE)}")
    return written(name)


def _in_milliseconds(moment: datetime) -> datetime:
    """Return a time as MongoDB stores it."""
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)
