"""The words of a status, the currency and the time of a conversion, as senders write them."""

import re
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from tests.factories import make_event_config
from tests.paths import ROOT
from tracker.clock import iso, now, now_ms
from tracker.conversions.corrections.status import OnRepeat, Status, click_key
from tracker.conversions.postbacks.aliases import AliasedParameter
from tracker.conversions.postbacks.fields import fields_in_json, fields_in_text, merged
from tracker.conversions.postbacks.parameters import (
    ConversionParameters,
    checked_parameters,
    parse_text,
)
from tracker.conversions.postbacks.times import FUTURE_MS, MAX_DAYS_AGO, parse_moment
from tracker.conversions.postbacks.words import WORDS, Meaning, checked_statuses, meaning_of
from tracker.conversions.resolution import Reported, currency_of, read_by, report_of
from tracker.errors import BadRequest

CLICK = "0190b5a2-7c1e-7d3f-8a4b-5c6d7e8f9a0b"
COUNTED = Reported(Status.APPROVED, on_repeat=OnRepeat.COUNT)
OPPOSITES = ("1", "2", "3", "5", "hold", "dep", "subscribe", "accept")


def read(query: str, **config: Any) -> tuple[ConversionParameters, Reported]:
    return read_by(make_event_config(**config), parse_text(f"pbk=k&{query}".encode()))


def test_the_ready_table_has_no_word_that_networks_use_differently() -> None:
    for word in ("rejected", "reject", "declined", "trash", "cancel", "cancelled", "refused"):
        assert WORDS[word] is Meaning.REJECTED
    assert {WORDS["fraud"], WORDS["duplicate"]} == {Meaning.REJECTED}
    assert WORDS["rebill"] is Meaning.COUNT
    assert not WORDS.keys() & set(OPPOSITES)
    assert all(word == word.strip().casefold() for word in WORDS)


def update(status: Status) -> Reported:
    return Reported(status, on_repeat=OnRepeat.UPDATE)


@pytest.mark.parametrize(
    ("query", "config", "reported"),
    [
        ("status=approved", {}, update(Status.APPROVED)),
        ("status=%20TRASH", {}, update(Status.REJECTED)),
        ("status=rebill", {}, COUNTED),
        (
            "status=1",
            {"statuses": {"1": "rejected"}},
            update(Status.REJECTED),
        ),
        (
            "status=Trash",
            {"statuses": {"trash": "pending"}},
            update(Status.PENDING),
        ),
        (
            "status=trash",
            {"on_repeat": OnRepeat.FIRST},
            Reported(Status.REJECTED, None, OnRepeat.FIRST),
        ),
        (
            "status=rebill",
            {"on_repeat": OnRepeat.FIRST},
            COUNTED,
        ),
        ("value=1", {"on_repeat": OnRepeat.UPDATE}, Reported(on_repeat=OnRepeat.UPDATE)),
        ("value=1", {}, Reported()),
        ("state=CA", {}, Reported()),
        ("state=declined", {}, update(Status.REJECTED)),
        ("conversionStatus=Declined", {}, update(Status.REJECTED)),
        ("[Status]=Declined", {}, update(Status.REJECTED)),
        (
            "ok=1&state=declined",
            {"statuses": {"1": "pending"}, "parameter_aliases": {"ok": "status"}},
            update(Status.PENDING),
        ),
        ("status=T-1", {"parameter_aliases": {"status": "transaction_id"}}, Reported()),
    ],
)
def test_a_word_means_what_its_configuration_says_else_what_it_means_everywhere(
    query: str, config: dict[str, Any], reported: Reported
) -> None:
    if "parameter_aliases" in config:
        names = config["parameter_aliases"].items()
        config = {**config, "parameter_aliases": {a: AliasedParameter(b) for a, b in names}}
    if "statuses" in config:
        config = {
            **config,
            "statuses": checked_statuses(
                {word: Meaning(one) for word, one in config["statuses"].items()}
            ),
        }
    assert read(query, **config)[1] == reported


@pytest.mark.parametrize("status", list(Status))
def test_an_unknown_word_is_kept_told_and_has_the_status_of_its_configuration(
    status: Status,
) -> None:
    parameters, reported = read(f"status=Zwart&click_id={CLICK}", unknown_status=status)
    warning = f"status: zwart has no meaning yet; recorded as {status}"
    assert reported == Reported(status, "zwart", OnRepeat.UPDATE, (warning,))
    assert parameters.transaction_id == click_key(UUID(CLICK))
    without_key = read_by(None, parse_text(f"click_id={CLICK}&status=Zwart".encode()))[1]
    assert without_key == Reported(warnings=("status: zwart is ignored; it is no known word",))


@pytest.mark.parametrize(
    ("query", "config", "key"),
    [
        (f"click_id={CLICK}&status=approved", {}, f"\x1fclick:{CLICK}"),
        (f"click_id={CLICK}&status=approved&txid=T", {}, "T"),
        (f"click_id={CLICK}&status=approved&txid=-", {}, f"\x1fclick:{CLICK}"),
        (f"click_id={CLICK}&status=rebill", {}, None),
        (f"click_id={CLICK}&status=-", {}, None),
        (f"click_id={CLICK}&value=1", {"on_repeat": OnRepeat.UPDATE}, None),
        ("status=approved", {}, None),
    ],
)
def test_a_repeat_is_recognised_by_its_transaction_id_else_by_click_and_status(
    query: str, config: dict[str, Any], key: str | None
) -> None:
    assert read(query, **config)[0].transaction_id == key


@pytest.mark.parametrize(
    ("query", "error"),
    [
        ("status={status}", "status: an unfilled macro, {status}; send the status"),
        (f"status={'x' * 65}", "status: must be text of 1 to 64 printable characters"),
        ("currency={currency}", "currency: an unfilled macro, {currency}; send a code"),
        ("currency=euro", "currency: must be a currency of ISO 4217 such as EUR"),
        ("currency=rub,usd,eur", "currency: must be a currency of ISO 4217 such as EUR"),
        ("occurred_at=[date]", "occurred_at: an unfilled macro, [date]; send a time"),
        ("occurred_at=yesterday", "occurred_at: must be ISO 8601 or Unix time"),
        ("occurred_at=20261129", "occurred_at: must be within the last 400 days"),
    ],
)
def test_what_is_no_word_currency_or_time_is_refused_by_its_name(query: str, error: str) -> None:
    with pytest.raises(BadRequest) as refused:
        currency_of(read(query)[0], None, None, restates=False)
    assert refused.value.message.startswith(error)


def test_fillers_count_as_not_sent_and_the_case_of_words_is_ignored() -> None:
    parameters, reported = read("status=N/A&currency=-&occurred_at=null")
    assert reported == Reported()
    assert [parameters.status, parameters.currency, parameters.occurred_at] == [None] * 3
    assert len(parameters.warnings) == 3
    assert read("currency=eur")[0].currency == "EUR"
    assert read("consent=Granted")[0].consent == "granted"
    unknown = read("consent=1")[0]
    assert unknown.consent is None
    assert unknown.warnings == ("consent: ignored, because it is neither granted nor denied",)
    sent = fields_in_json(b'{"pbk":"k","status":1,"currency":"usd","occurred_at":1}')
    both = merged(fields_in_text(b"status=2&currency=eur"), {**sent, "occurred_at": now_ms()})
    by_json = read_by(make_event_config(), checked_parameters(both))[0]
    assert (by_json.status, by_json.currency) == ("1", "USD")


def test_times_of_every_form_are_one_moment() -> None:
    at = now() - timedelta(days=3)
    at = at.replace(microsecond=0)
    ms, seconds = int(at.timestamp() * 1000), int(at.timestamp())
    zoned = at + timedelta(hours=2)
    for sent in (
        *(ms, seconds, str(ms), str(seconds), f"{seconds}.0", iso(at), f"{at:%Y-%m-%dT%H:%M:%S}"),
        *(f"{at:%Y-%m-%d %H:%M:%S}", f"{zoned:%Y-%m-%dT%H:%M:%S}+02:00"),
        *(f"{zoned:%Y-%m-%dT%H:%M:%S} 02:00", f"{zoned:%Y-%m-%d %H:%M:%S} 0200"),
    ):
        assert parse_moment("occurred_at", sent) == ms, sent


def test_times_are_within_400_days_and_no_later_than_clocks_differ() -> None:
    present = now_ms()
    assert parse_moment("t", present - (MAX_DAYS_AGO * 86_400_000 - 60_000))
    assert parse_moment("t", present + FUTURE_MS - 60_000) <= now_ms()
    for sent in (present - MAX_DAYS_AGO * 86_400_000 - 1, present + FUTURE_MS + 60_000, 0, 10**30):
        with pytest.raises(BadRequest, match="t: must be"):
            parse_moment("t", sent)
    wrong: Any
    for wrong in (True, [], "", "1e9", "2026-13-01", "٣", "9" * 50):
        with pytest.raises(BadRequest, match="t: must be ISO"):
            parse_moment("t", wrong)


def test_a_plain_conversion_adds_nothing_to_the_journal() -> None:
    for query in ("value=1", f"click_id={CLICK}&txid=T", "gclid=x&state=CA"):
        assert report_of(*read(query), make_event_config(), None) is None


def test_a_report_has_the_limits_of_time_only_for_a_click() -> None:
    config = make_event_config(window_days=30, min_seconds=2)
    report = report_of(*read(f"click_id={CLICK}"), config, None)
    assert report and (report.min_ms, report.max_ms) == (2_000, 30 * 86_400_000)
    assert report_of(*read("value=1"), config, None) is None


@pytest.mark.parametrize(
    ("statuses", "error"),
    [
        ({"": "pending"}, "statuses: words have 1 to 64 characters"),
        ({"a\n": "pending", "b\nb": "pending"}, "statuses: words have 1 to 64 characters"),
        ({"x" * 65: "pending"}, "statuses: words have 1 to 64 characters"),
        ({"OK": "pending", "ok": "approved"}, "statuses: ok has two meanings; case is ignored"),
        ({str(one): "pending" for one in range(101)}, "statuses: at most 100 words"),
    ],
)
def test_words_of_a_configuration_follow_rules(statuses: dict[str, str], error: str) -> None:
    with pytest.raises(BadRequest) as refused:
        checked_statuses({word: Meaning(one) for word, one in statuses.items()})
    assert refused.value.message == error
    assert meaning_of("ok", checked_statuses({" OK ": Meaning.PENDING})) is Meaning.PENDING


def test_the_document_has_each_word_of_the_table() -> None:
    section = (ROOT / "docs" / "api.md").read_text().partition("### Statuses\n")[2]
    table = section.partition("| word |")[2].partition("\n\n")[0]
    assert sorted(re.findall(r"`(\w+)`", table)) == sorted(WORDS)
