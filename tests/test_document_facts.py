"""The tables, links and names in the documents are those of the code."""

import re
from typing import Any, get_args
from uuid import UUID

import msgspec
import pytest

from config.settings import Settings
from lab.abuse.attacker import ROWS
from tests.documents import (
    API,
    ARCHITECTURE,
    CONSOLE,
    DECISIONS,
    DOCUMENTS,
    GUIDES,
    README,
    REPORTS,
    SECURITY,
    WEBHOOKS,
    named,
    table,
    text,
)
from tests.paths import ROOT
from tests.web.table import KEYED_ENDPOINTS
from tracker import metrics
from tracker.access.principal import OPERATOR, SCOPES, Principal
from tracker.access.roles import SCOPES_OF, Role
from tracker.conversions.postbacks.fields import NAMES, REPORTED
from tracker.conversions.rules import Rule
from tracker.errors import ErrorCode, ErrorReason, TrackerError
from tracker.feeds.api.clicks import ListClicks
from tracker.links.api.short_link_record import ShortLink
from tracker.links.api.short_link_schema import CreateShortLink
from tracker.links.macros import MACROS
from tracker.reports.api.figures import FiguresOfAll
from tracker.reports.api.filters import ReportFilters
from tracker.reports.dimensions import OWN_PREFIX
from tracker.reports.query import GroupBy
from tracker.stores.builtin import binaries
from tracker.webhooks.api.schema import CreateWebhook
from tracker.webhooks.macros import is_known

OTHERS = (ARCHITECTURE, *DECISIONS, "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
MAX_ARCHITECTURE_BYTES = 12 * 1024
MAX_CELL_CHARACTERS = 120
NO_SETTINGS = {"ACCOUNT_ID", "API_KEY", "POSTBACK_KEY", "FUZZ_SECONDS"} | {
    "KEY",
    "TRACKER_KEY",
    "TRACKER_HOST",
    "TRACKER_PUBLIC",
    "TRACKER_INTERNAL",
    "WEB_MEMORY",
    "WORKER_MEMORY",
    "ORDER_ID",
    "TRANSACTION_ID",
    binaries.REDIS_SERVER,
}
"""Variables of the banner, the built-in stores, the Makefile, ops/Caddyfile and compose.yaml; and
placeholders."""


PAGES = {"accountId", "cursor", "since", "pageSize", "format"}
"""Parameters of a feed's pages, which are no filters."""

OWN = {"parameter:sub1"}
"""The example of an account's own parameter."""


def fields(struct: type[msgspec.Struct]) -> set[str]:
    """Return the names of the fields as JSON has them."""
    return {field.encode_name for field in msgspec.structs.fields(struct)}


@pytest.mark.parametrize(
    ("document", "header", "names"),
    [
        (API, "field | required", fields(CreateShortLink) | {"account_id"}),
        (API, "field | meaning", fields(ShortLink)),
        (API, "macro", {f"{{{name}}}" for name, _ in MACROS}),
        (API, "parameter", set(NAMES | REPORTED)),
        (API, "rule", set(Rule)),
        (API, "filter", fields(ListClicks) - PAGES - {OWN_PREFIX} | OWN),
        (REPORTS, "`groupBy`", set(get_args(GroupBy)) | OWN),
        (REPORTS, "field", fields(FiguresOfAll)),
        (REPORTS, "filter", fields(ReportFilters) - {OWN_PREFIX} | OWN),
        (WEBHOOKS, "field | required", fields(CreateWebhook)),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_table_has_exactly_the_names_of_the_code(
    document: str, header: str, names: set[Any]
) -> None:
    assert named(document, header) == names


def test_every_macro_of_webhooks_that_is_named_exists() -> None:
    macros = re.findall(r"`\{([^{}\s`]+)\}`", text(WEBHOOKS))
    assert macros
    assert [one for one in macros if not is_known(one.replace("\\|", "|"))] == []


def test_the_readme_says_how_many_dimensions_reports_have() -> None:
    numbers = re.findall(r"by (?:any of )?(\d+) dimensions", text(README))
    assert {int(number) for number in numbers} == {len(get_args(GroupBy))}


def test_the_table_of_roles_has_the_scopes_of_each_role() -> None:
    writable = {one.access for one in KEYED_ENDPOINTS if isinstance(one.access, str)}
    shown: set[str] = set()
    for names, *cells in table(CONSOLE, "of the account"):
        for name in re.findall(r"`(\w+)`", names):
            shown.add(name)
            for role, cell in zip(reversed(Role), cells, strict=True):
                assert access(role, name, f"{name}:write" in writable) == cell, (role, name)
    assert shown == set(SCOPES)


def access(role: Role, name: str, writable: bool) -> str:
    """Return what a role may do with what a scope names, in the words of the table."""
    person = Principal(account_id=UUID(int=0), actor=OPERATOR, scopes=SCOPES_OF[role])
    if writable and person.covers([f"{name}:write"]):
        return "changes"
    return "sees" if person.covers([f"{name}:read"]) else "no"


def test_the_tables_of_errors_have_every_code_under_its_status() -> None:
    rows = re.findall(r"^\| (\d{3}) \| (`.*`) \|$", text(API), re.MULTILINE)
    shown = {(int(status), code) for status, codes in rows for code in re.findall(r"\w+", codes)}
    assert sorted(code for _, code in shown) == sorted(ErrorCode)
    assert {(one.status, str(one.code)) for one in TrackerError.__subclasses__()} <= shown
    assert named(API, "`X-Error-Reason`") == set(ErrorReason)


def test_every_setting_that_is_named_exists_and_has_the_default_that_is_shown() -> None:
    settings = {one.encode_name: one.default for one in msgspec.structs.fields(Settings)}
    for document in GUIDES:
        names = set(re.findall(r"`([A-Z]+(?:_[A-Z0-9]+)+)[=`]", text(document)))
        assert names - NO_SETTINGS <= settings.keys()
        for name, default in re.findall(r"`([A-Z_]+)` \(([\d,]+)\)", text(document)):
            assert settings[name] == int(default.replace(",", ""))


def test_every_metric_that_is_named_exists() -> None:
    exposed = set(re.findall(r"^# HELP (\w+)", metrics.exposition().decode(), re.MULTILINE))
    for document in GUIDES:
        assert set(re.findall(r"`(tracker_\w+)`", text(document))) <= exposed


def links(markdown: str) -> list[str]:
    """Return the targets of all links."""
    return re.findall(r"\]\(([^)\s]+)\)", markdown)


@pytest.mark.parametrize("document", [*GUIDES, *OTHERS])
def test_every_link_leads_to_a_file_and_a_heading(document: str) -> None:
    for link in links(text(document)):
        path, _, anchor = link.partition("#")
        if "://" in link:
            continue
        target = (ROOT / document).parent / path if path else ROOT / document
        assert target.is_file(), link
        assert not anchor or anchor in anchors(target.read_text(encoding="utf-8")), link


def anchors(markdown: str) -> set[str]:
    """Return the anchors of the headings, as repository hosts make them."""
    headings = re.findall(r"^#+ (.*)$", markdown, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", one.lower()).replace(" ", "-") for one in headings}


def test_the_proof_of_each_defence_is_an_attack_or_a_test() -> None:
    known = {row.name for row in ROWS}
    proofs: set[str] = set()
    for part in text(SECURITY).split(" shown by |\n")[1:]:
        for row in part.partition("\n\n")[0].splitlines():
            proofs |= set(re.findall(r"`([^`]+)`", row.strip("| ").split(" | ")[-1]))
    assert len(proofs) > len(known)
    assert {one for one in proofs if one not in known and not (ROOT / one).exists()} == set()


def test_the_architecture_is_read_in_ten_minutes() -> None:
    assert len(text(ARCHITECTURE).encode()) <= MAX_ARCHITECTURE_BYTES


def test_every_guarantee_links_to_its_test() -> None:
    guarantees = table(ARCHITECTURE, "guarantee")
    assert guarantees
    for guarantee, proof in guarantees:
        tests = links(proof)
        assert tests, guarantee
        assert all(re.fullmatch(r"tests/.*/test_\w+\.py", test) for test in tests), guarantee


def test_the_architecture_links_to_every_file_of_decisions() -> None:
    assert {link for link in links(text(ARCHITECTURE)) if link.startswith("docs/decisions/")} == {
        *DECISIONS
    }


@pytest.mark.parametrize("document", DECISIONS)
def test_every_decision_has_a_date(document: str) -> None:
    headings = re.findall(r"^## (.*)$", text(document), re.MULTILINE)
    assert headings
    assert [one for one in headings if not re.match(r"20\d\d-\d\d-\d\d: ", one)] == []


@pytest.mark.parametrize("document", DOCUMENTS)
def test_a_cell_of_a_table_is_short(document: str) -> None:
    rows = re.findall(r"^\| (.*) \|$", text(document), re.MULTILINE)
    cells = [cell for row in rows for cell in row.split(" | ")]
    assert [cell for cell in cells if len(cell) > MAX_CELL_CHARACTERS] == []
