"""The rules for rules and splits in requests. Each error names the path of its field.

What passes is in its canonical form.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

import msgspec
from msgspec import UNSET, UnsetType

from tracker.calendar import is_zone
from tracker.errors import BadRequest
from tracker.links.api.rule_schema import (
    MAX_NAME_CHARACTERS,
    RuleCondition,
    RuleIn,
    SplitIn,
    TimeCondition,
    VariantIn,
)
from tracker.links.macros import check_macros
from tracker.links.rules.rule import KINDS
from tracker.links.rules.values import CANONICAL, is_daily
from tracker.syntax.invisible import check_visible, stripped
from tracker.syntax.url import check_url
from tracker.web.schema import sent_fields, trimmed

MAX_BYTES: Final = 32 * 1024
"""The limit of all rules of a link, as JSON: each process keeps them with the link."""

Rules = Sequence[RuleIn] | UnsetType
LinkSplit = SplitIn | UnsetType | None


def checked_url(field: str, url: str) -> str:
    """Return a URL that visitors are sent to. Raises BadRequest if it breaks a rule."""
    url = stripped(url)
    check_visible(field, url)
    check_url(field, url)
    return url


def targets(rules: Rules, split: LinkSplit) -> Iterator[tuple[str, RuleIn | VariantIn, str]]:
    """Yield each destination: its path, the rule or variant that has it, and its URL."""
    for number, rule in enumerate(rules or ()):
        at = f"rules[{number}]."
        if isinstance(rule.destination_url, str):
            yield f"{at}destination_url", rule, rule.destination_url
        yield from _of_split(f"{at}split.", rule.split)
    yield from _of_split("split.", split)


def _of_split(at: str, split: LinkSplit) -> Iterator[tuple[str, RuleIn | VariantIn, str]]:
    for number, one in enumerate(split.variants if isinstance(split, SplitIn) else ()):
        yield f"{at}variants[{number}].destination_url", one, one.destination_url


def check_rules(rules: Rules, split: LinkSplit) -> None:
    """Raises BadRequest if a rule or split breaks a rule."""
    for path, target, url in targets(rules, split):
        target.destination_url = checked_url(path, url)
        check_macros(path, target.destination_url)
    for number, rule in enumerate(rules or ()):
        _check_rule(f"rules[{number}]", rule)
    if isinstance(split, SplitIn):
        _check_names("split", split)
    if len(msgspec.json.encode((rules or (), split or None))) > MAX_BYTES:
        raise BadRequest(f"rules: with split at most {MAX_BYTES:,} bytes of JSON")


def _check_rule(at: str, rule: RuleIn) -> None:
    rule.name = trimmed(f"{at}.name", rule.name, MAX_NAME_CHARACTERS)
    if (rule.destination_url is UNSET) == (rule.split is UNSET):
        raise BadRequest(f"{at}: needs exactly one of destination_url, split")
    if isinstance(rule.split, SplitIn):
        _check_names(f"{at}.split", rule.split)
    for number, condition in enumerate(rule.conditions):
        _check_condition(f"{at}.conditions[{number}]", condition)


def _check_names(at: str, split: SplitIn) -> None:
    for number, one in enumerate(split.variants):
        one.name = trimmed(f"{at}.variants[{number}].name", one.name, MAX_NAME_CHARACTERS)


def _check_condition(at: str, condition: RuleCondition) -> None:
    kinds = [name for name in KINDS if name in sent_fields(condition)]
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
    daily = []
    for name, text in (("from", time.from_), ("to", time.to)):
        if isinstance(text, str):
            with _at(f"{at}.{name}"):
                daily.append(is_daily(text))
    if isinstance(time.from_, str) and isinstance(time.to, str):
        if daily[0] != daily[1]:
            raise BadRequest(f"{at}.to: must have the form of from")
        if time.to == time.from_ or (time.to < time.from_ and not daily[0]):
            raise BadRequest(f"{at}.to: must be after from")


@contextmanager
def _at(path: str) -> Iterator[None]:
    try:
        yield
    except BadRequest as error:
        raise BadRequest(f"{path}: {error.message}") from None
