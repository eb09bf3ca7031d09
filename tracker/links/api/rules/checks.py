"""The rules for rules and splits in requests. Each error names the path of its field.

What passes is in its canonical form.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

import msgspec
from msgspec import UNSET, UnsetType

from tracker.calendar import is_zone
from tracker.errors import BadRequest
from tracker.links.api.rules.schema import (
    MAX_NAME_CHARACTERS,
    RuleCondition,
    RuleInput,
    SplitInput,
    TimeCondition,
    VariantInput,
)
from tracker.links.api.rules.values import CANONICAL, is_daily
from tracker.links.macros import check_macros
from tracker.links.rules.rule import KINDS
from tracker.syntax.invisible import check_visible, stripped
from tracker.syntax.url import check_url
from tracker.web.schema import sent_fields, trimmed

MAX_BYTES: Final = 32 * 1024
"""The limit of all rules of a link, as JSON: each process keeps them with the link."""

# In JSON, no text has its quotation marks unescaped.
_GIVEN: Final = re.compile(rb'"(?:id|secret)":"[0-9a-f-]+",?')

Rules = Sequence[RuleInput] | UnsetType
LinkSplit = SplitInput | UnsetType | None


def checked_url(field: str, url: str) -> str:
    """Return a URL that visitors are sent to. Raises BadRequest if it breaks a rule."""
    url = stripped(url)
    check_visible(field, url)
    check_url(field, url)
    return url


def parts(rules: Rules, split: LinkSplit) -> Iterator[tuple[str, RuleInput | VariantInput]]:
    """Yield each rule and variant, with its path and a dot."""
    splits = [("split", split)]
    for number, rule in enumerate(rules or ()):
        yield f"rules[{number}].", rule
        splits.append((f"rules[{number}].split", rule.split))
    for at, one in splits:
        for number, variant in enumerate(one.variants if isinstance(one, SplitInput) else ()):
            yield f"{at}.variants[{number}].", variant


def check_rules(rules: Rules, split: LinkSplit) -> None:
    """Raises BadRequest if a rule or split breaks a rule."""
    check_size(rules, split)
    for at, part in parts(rules, split):
        part.name = trimmed(f"{at}name", part.name, MAX_NAME_CHARACTERS)
        if isinstance(part.destination_url, str):
            path = f"{at}destination_url"
            part.destination_url = checked_url(path, part.destination_url)
            check_macros(path, part.destination_url)
    for number, rule in enumerate(rules or ()):
        if (rule.destination_url is UNSET) == (rule.split is UNSET):
            raise BadRequest(f"rules[{number}]: needs exactly one of destination_url, split")
        for position, condition in enumerate(rule.conditions):
            _check_condition(f"rules[{number}].conditions[{position}]", condition)


def check_size(rules: object, split: object) -> None:
    """Raises BadRequest if they are too large for a link, ids that the service gave left out."""
    given = _GIVEN.sub(b"", msgspec.json.encode((rules or (), split or None)))
    if len(given) > MAX_BYTES:
        raise BadRequest(f"rules: with split at most {MAX_BYTES:,} bytes of JSON")


def _check_condition(at: str, condition: RuleCondition) -> None:
    kinds = sent_fields(condition).keys() - {"not_"}
    if len(kinds) != 1:
        raise BadRequest(f"{at}: needs exactly one of {', '.join(KINDS)}")
    [kind] = kinds
    if isinstance(condition.time, TimeCondition):
        _check_time(f"{at}.time", condition.time)
    if kind in CANONICAL:
        values = []
        for number, text in enumerate(getattr(condition, kind)):
            with _at(f"{at}.{kind}[{number}]"):
                values.append(CANONICAL[kind](text.strip()))
        setattr(condition, kind, list(dict.fromkeys(values)))


def _check_time(at: str, time: TimeCondition) -> None:
    if not is_zone(time.zone):
        raise BadRequest(f"{at}.zone: must be a time zone such as Europe/Berlin")
    if not sent_fields(time).keys() - {"zone"}:
        raise BadRequest(f"{at}: needs weekdays, hours, from or to")
    forms = []
    for name, text in (("from", time.from_), ("to", time.to)):
        with _at(f"{at}.{name}"):
            forms.append(isinstance(text, str) and is_daily(text))
    if isinstance(time.from_, str) and isinstance(time.to, str):
        if forms[0] != forms[1]:
            raise BadRequest(f"{at}.to: must have the form of from")
        if time.to == time.from_ or (time.to < time.from_ and not forms[0]):
            raise BadRequest(f"{at}.to: must be after from")


@contextmanager
def _at(path: str) -> Iterator[None]:
    try:
        yield
    except BadRequest as error:
        raise error.with_message(f"{path}: {error.message}") from None
