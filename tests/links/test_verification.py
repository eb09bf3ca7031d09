"""The proof of a domain by DNS, with a real server on loopback."""

import asyncio
import time

import pytest

from config.settings import Settings, SettingsError, read
from tests.dns.dns_server import DnsServer
from tests.waiting import PATIENCE_SECONDS
from tracker.clock import now
from tracker.ids import new_id
from tracker.links import verification as module
from tracker.links.domain import Domain
from tracker.links.verification import look_up, verification

NAME, TXT, TOKEN = "go.example", "_tracker.go.example", "To-ken_1"
HOST = "a-0123456789abcdef01234567.tracker.test"
VALUE = f"tracker-verification={TOKEN}"
DOMAIN = Domain(
    version=1,
    id=new_id(),
    account_id=new_id(),
    domain_name=NAME,
    verified=False,
    token=TOKEN,
    created_at=now(),
)
WANTED = verification(DOMAIN, HOST)


def asking(dns: DnsServer) -> tuple[str, int] | None:
    return Settings(dns_resolver=dns.address).dns_address


def test_a_service_without_a_hostname_offers_no_cname_record() -> None:
    assert verification(DOMAIN, None).cname is None


ZONES: list[tuple[str, dict[tuple[str, str], list[str]], bool]] = [
    ("nothing", {}, False),
    ("TXT", {(TXT, "TXT"): [f'"{VALUE}"']}, True),
    ("TXT in pieces", {(TXT, "TXT"): [f'"{VALUE[:9]}" "{VALUE[9:]}"']}, True),
    ("TXT among others", {(TXT, "TXT"): ['"v=spf1 -all"', f'"{VALUE}"']}, True),
    ("TXT of another case", {(TXT, "TXT"): [f'"{VALUE.lower()}"']}, False),
    ("TXT with more", {(TXT, "TXT"): [f'"{VALUE}x"']}, False),
    ("TXT of the token alone", {(TXT, "TXT"): [f'"{TOKEN}"']}, False),
    ("TXT that is no text", {(TXT, "TXT"): ['"\\255\\000"']}, False),
    ("TXT elsewhere", {(NAME, "TXT"): [f'"{VALUE}"']}, False),
    ("TXT behind a CNAME", {(TXT, "CNAME"): ["p.x."], ("p.x", "TXT"): [f'"{VALUE}"']}, True),
    ("another type", {(TXT, "A"): ["192.0.2.1"], (NAME, "A"): ["192.0.2.1"]}, False),
    ("CNAME", {(NAME, "CNAME"): [f"{HOST}."]}, True),
    ("CNAME of another case", {(NAME, "CNAME"): [f"{HOST.upper()}."]}, True),
    ("CNAME to the base host", {(NAME, "CNAME"): ["tracker.test."]}, False),
    (
        "CNAME to another account's",
        {(NAME, "CNAME"): ["a-0123456789abcdef01234568.tracker.test."]},
        False,
    ),
    ("CNAME elsewhere", {(NAME, "CNAME"): ["other.test."]}, False),
    ("CNAME below", {(NAME, "CNAME"): [f"x.{HOST}."]}, False),
    ("CNAME of the label", {(TXT, "CNAME"): [f"{HOST}."]}, False),
    ("CNAME in a chain", {(NAME, "CNAME"): ["a.x."], ("a.x", "CNAME"): [f"{HOST}."]}, False),
    ("both", {(TXT, "TXT"): [f'"{VALUE}"'], (NAME, "CNAME"): [f"{HOST}."]}, True),
]


@pytest.mark.parametrize(("zone", "proven"), [row[1:] for row in ZONES], ids=[r[0] for r in ZONES])
async def test_one_of_the_records_has_to_be_there_exactly(
    dns: DnsServer, zone: dict[tuple[str, str], list[str]], proven: bool
) -> None:
    for (name, kind), values in zone.items():
        dns.has(name, kind, *values)
    assert (await look_up(WANTED, asking(dns))).proven is proven
    assert sorted(dns.asked) == [(TXT, "TXT"), (NAME, "CNAME")]


async def test_a_check_keeps_what_others_have_written_within_bounds(dns: DnsServer) -> None:
    before = now()
    dns.has(NAME, "CNAME", "Other.Example.")
    dns.has(TXT, "TXT", '"<b>\\000\\255"', f'"{"a" * 200}" "{"b" * 200}"')
    check = await look_up(WANTED, asking(dns))
    assert sorted(check.txt) == ["<b>\0\ufffd", "a" * 200 + "b" * 55]
    assert (check.cname, check.error) == (["other.example"], None)
    assert before <= check.at <= now()
    dns.has(TXT, "TXT", *(f'"{number}"' for number in range(20)), f'"{VALUE}"')
    check = await look_up(WANTED, asking(dns))
    assert (check.proven, len(check.txt)) == (True, 10)


FAILURES = ["SERVFAIL", "REFUSED", "NOTIMP", "FORMERR", "YXDOMAIN"]


@pytest.mark.parametrize("failing", [[TXT, NAME], [TXT], [NAME]], ids=["both", "TXT", "CNAME"])
@pytest.mark.parametrize("code", FAILURES)
async def test_a_server_that_fails_is_no_answer(
    dns: DnsServer, code: str, failing: list[str]
) -> None:
    for name in failing:
        dns.fails(name, code)
    check = await look_up(WANTED, asking(dns))
    assert (check.proven, check.error) == (False, f"no answer for {' and '.join(failing)}")


async def test_a_server_that_fails_for_one_record_may_prove_by_the_other(dns: DnsServer) -> None:
    dns.fails(NAME, "SERVFAIL")
    dns.has(TXT, "TXT", f'"{VALUE}"')
    check = await look_up(WANTED, asking(dns))
    assert (check.proven, check.txt, check.error) == (True, [VALUE], f"no answer for {NAME}")


@pytest.mark.parametrize("silent", [{TXT, NAME}, {TXT}, {NAME}], ids=["both", "TXT", "CNAME"])
async def test_a_silent_server_is_not_waited_for_longer_than_the_limit(
    dns: DnsServer, silent: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert module.TIMEOUT_SECONDS < 5
    monkeypatch.setattr(module, "TIMEOUT_SECONDS", 0.3)
    monkeypatch.setattr("tracker.dns.resolver.LOOKUP_SECONDS", 3600.0)
    dns.silent = silent
    began = time.monotonic()
    check = await asyncio.wait_for(look_up(WANTED, asking(dns)), PATIENCE_SECONDS)
    assert (check.proven, check.error is None) == (False, False)
    assert time.monotonic() - began > 0.25


async def test_a_lost_query_is_sent_again(dns: DnsServer) -> None:
    dns.has(TXT, "TXT", f'"{VALUE}"')
    dns.lost = 2
    assert (await look_up(WANTED, asking(dns))).proven
    assert len(dns.asked) == 4


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("", None),
        ("127.0.0.1:5353", ("127.0.0.1", 5353)),
        ("::1", ("::1", 53)),
        ("[::1]:5353", ("::1", 5353)),
    ],
)
def test_the_resolver_is_set_by_address_and_port(
    text: str, address: tuple[str, int] | None
) -> None:
    assert read({"DNS_RESOLVER": text}).dns_address == address


@pytest.mark.parametrize("text", ["dns.example", "127.0.0.1:0", "127.0.0.1 127.0.0.2", "[::1]"])
def test_an_invalid_resolver_setting_is_rejected_by_name(text: str) -> None:
    with pytest.raises(SettingsError, match="DNS_RESOLVER="):
        read({"DNS_RESOLVER": text})
