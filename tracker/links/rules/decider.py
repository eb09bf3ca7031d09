"""Where a visitor of a link with rules or a split is sent. Pure.

The redirect, the test endpoint and the console ask the same decider.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

import msgspec

from tracker.links.rules.draw import Draw, first_active
from tracker.links.rules.matching import Test, test_of
from tracker.links.rules.rule import Condition, Deciding, Rule, Split
from tracker.links.rules.visitor import Visitor


class Decision(NamedTuple):
    """The destination, and what led to it, by ids as in clicks.

    Without a rule it is the link's own destination or split.
    """

    destination_url: str
    rule_id: bytes | None = None
    variant_id: bytes | None = None


class _Target:
    """The end of a rule: a destination or a split.

    Bots draw no variant and get `bots_url`; so does everybody if no variant has a weight.
    """

    __slots__ = ("_draw", "undrawn")

    def __init__(self, rule_id: bytes | None, bots_url: str, split: Split | None) -> None:
        self.undrawn = Decision(bots_url, rule_id)
        self._draw = None if split is None else Draw(split)

    def decide(self, visitor: Visitor) -> Decision:
        if self._draw is None or not visitor.draws():
            return self.undrawn
        found = self._draw.variant(visitor.address or "", visitor.user_agent)
        if found is None:
            return self.undrawn
        return Decision(found.destination_url, self.undrawn.rule_id, found.id.bytes)


class Decider:
    """The compiled rules of a link whose own destination is `destination_url`."""

    def __init__(self, deciding: Deciding, destination_url: str) -> None:
        self._tests = [_tests_of(rule.conditions) for rule in deciding.rules]
        self._holds = tuple(holds for holds, _ in self._tests)
        self._targets = [_target(rule, destination_url) for rule in deciding.rules]
        self._own = _Target(None, destination_url, deciding.split)
        self._variants = {
            str(one.id): Decision(
                one.destination_url, None if rule is None else rule.id.bytes, one.id.bytes
            )
            for rule, split in deciding.splits()
            for one in split.variants
        }

    def decide(self, visitor: Visitor) -> Decision:
        for number, holds in enumerate(self._holds):
            if holds(visitor):
                return self._targets[number].decide(visitor)
        return self._own.decide(visitor)

    def variant(self, variant_id: str) -> Decision | None:
        """Return the decision for a variant, active or not; None if there is none of this id."""
        return self._variants.get(variant_id)

    def failures(self, visitor: Visitor) -> list[int | None]:
        """Return for each rule its first condition that does not hold; None if all hold."""
        return [_first_failed(tests, visitor) for _, tests in self._tests]


def _tests_of(conditions: Sequence[Condition]) -> tuple[Test, Sequence[Test]]:
    encoded = _ENCODER.encode(conditions)
    return (_shared_tests if len(encoded) <= _SHARED_BYTES else _tests)(encoded)


def _tests(conditions: bytes) -> tuple[Test, Sequence[Test]]:
    """Return the test of a rule, and the tests of its conditions."""
    tests = [test_of(one) for one in _CONDITIONS_DECODER.decode(conditions)]
    return _all(tests), tests


_SHARED_BYTES: Final = 500
_shared_tests = lru_cache(maxsize=2_000)(_tests)
"""Rules of many links share short conditions: else 900 busy links with ten rules miss the
processor's cache, and a click takes 6 µs more."""


def _all(tests: Sequence[Test]) -> Test:
    """Return the test of a rule: without a condition it never holds."""
    if len(tests) == 1:
        return tests[0]

    def hold(visitor: Visitor) -> bool:
        for test in tests:
            if not test(visitor):
                return False
        return bool(tests)

    return hold


def _target(rule: Rule, destination_url: str) -> _Target:
    if rule.split is None:
        return _Target(rule.id.bytes, rule.destination_url or destination_url, None)
    first = first_active(rule.split.variants)
    url = destination_url if first is None else first.destination_url
    return _Target(rule.id.bytes, url, rule.split)


def _first_failed(tests: Sequence[Test], visitor: Visitor) -> int | None:
    return next((number for number, test in enumerate(tests) if not test(visitor)), None)


_ENCODER: Final = msgspec.msgpack.Encoder()
_DECODER: Final = msgspec.msgpack.Decoder(Deciding)
_CONDITIONS_DECODER: Final = msgspec.msgpack.Decoder(list[Condition])


def encoded(deciding: Deciding) -> bytes | None:
    """Return the form that is cached with a link; None if it decides nothing."""
    return _ENCODER.encode(deciding) if deciding.rules or deciding.split else None


def decider_of(cached: bytes, destination_url: str) -> Decider:
    """Return the decider of a cached link."""
    is_small = len(cached) <= _SMALL_BYTES
    return (_small_decider if is_small else _large_decider)(cached, destination_url)


def _decider(cached: bytes, destination_url: str) -> Decider:
    return Decider(_DECODER.decode(cached), destination_url)


# To compile ten rules takes 0.1 ms and 20 KB; the most that a link may have, 2 ms and 0.7 MB.
_SMALL_BYTES: Final = 2_048
_small_decider = lru_cache(maxsize=1_000)(_decider)
_large_decider = lru_cache(maxsize=50)(_decider)
