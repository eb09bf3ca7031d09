"""Accounts, as an operator creates, lists and configures them; usage, errors and help."""

from uuid import UUID

import orjson
import pytest

from tests.scripts.conftest import ROOT, Awaited, Run
from tracker.access.audit import FieldChange
from tracker.access.principal import OPERATOR
from tracker.ids import new_id
from tracker.service.services import Services


def test_an_account_is_made_and_listed(run: Run) -> None:
    assert run.rows("accounts", "list") == []
    (first,) = orjson.loads(
        run.process("accounts", "create", "  Acme \U0001f600 ", "--json").stdout
    )
    assert first["name"] == "Acme \U0001f600"
    (second,) = run.rows("accounts", "create", "Acme \U0001f600")
    assert run.rows("accounts", "list") == [first, second]


def test_one_row_is_printed_as_lines_and_several_as_a_table(run: Run) -> None:
    assert run("accounts", "list").stdout == "none\n"
    made = run("accounts", "create", "Acme").stdout.splitlines()
    assert [line.split()[0] for line in made] == ["id", "name", "created_at"]
    run("accounts", "create", "Another")
    header, *rows = run("accounts", "list").stdout.splitlines()
    assert header.split() == ["id", "name", "created_at"]
    assert [row.split()[1] for row in rows] == ["Acme", "Another"]


def test_the_json_option_may_follow_the_action(run: Run) -> None:
    assert run("accounts", "list", "--json").stdout == run("accounts", "--json", "list").stdout


def test_wrong_usage_of_a_process_exits_2(run: Run) -> None:
    ended = run.process("accounts", "create", "")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "argument name: 1 to 255 characters" in ended.stderr


def test_a_bad_setting_exits_2_by_name(run: Run) -> None:
    ended = run("accounts", "list", REDIS_URL="localhost")
    assert ended.returncode == 2
    assert "REDIS_URL: must start with" in ended.stderr


def test_production_never_starts_built_in_stores(run: Run) -> None:
    ended = run("accounts", "list", DYNO="run.1", MONGODB_URI="")
    assert ended.returncode == 2
    assert "MONGODB_URI: must be set" in ended.stderr


@pytest.mark.usefixtures("short_patience")
def test_an_unavailable_mongodb_exits_1_with_the_reason(run: Run) -> None:
    ended = run("accounts", "list", MONGODB_URI="mongodb://127.0.0.1:1/?directConnection=true")
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.startswith("python -m scripts.accounts: ")
    assert "Traceback" not in ended.stderr


COMMANDS = sorted(
    one.stem for one in (ROOT / "scripts").glob("*.py") if " main()" in one.read_text()
)


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_an_example_and_exits_0(run: Run, name: str) -> None:
    shown = run.process(name, "--help")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert f"example:\n  python -m scripts.{name}" in shown.stdout


def test_an_unknown_account_exits_1(run: Run) -> None:
    unknown = str(new_id())
    for line in (
        "api_keys create",
        "api_keys list",
        "event_configs create --name Purchase --payout-type CPA",
        "event_configs list",
        "link_lists",
        "members invite --owner ada@example.com",
        "verify",
    ):
        name, *rest = line.split()
        ended = run(name, *rest, "--account", unknown)
        assert (ended.returncode, ended.stdout) == (1, ""), line
        assert ended.stderr == f"python -m scripts.{name}: account {unknown}: not found\n"


def test_rules_against_forged_conversions_are_set_and_shown(run: Run) -> None:
    (account,) = run.rows("accounts", "create", "Acme")
    named = ("--account", account["id"])
    (shown,) = run.rows("accounts", "show", *named)
    off = {
        "time_zone": "UTC",
        "currency": None,
        "require_pbk": False,
        "no_negative_values": False,
        "max_value": None,
        "max_per_click": None,
    }
    assert shown == account | off
    options = ("--require-pbk", "true", "--max-value", "9.5", "--max-per-click", "1")
    (changed,) = run.rows("accounts", "set", *named, *options)
    on = {"require_pbk": True, "max_value": 9.5, "max_per_click": 1}
    assert changed == shown | on
    (changed,) = run.rows("accounts", "set", *named, "--max-value", "none")
    assert changed == shown | on | {"max_value": None}
    assert run.rows("accounts", "show", *named) == [changed]


def test_rules_that_the_operator_changes_are_in_the_audit_log_once(
    run: Run, account_id: str, services: Services, do: Awaited
) -> None:
    for _ in range(2):
        run.rows("accounts", "set", "--account", account_id, "--require-pbk", "true")
    [entry], _ = do(services.access.audit.page(UUID(account_id), 1, 10))
    assert (entry.action, entry.actor) == ("account.changed", OPERATOR)
    assert entry.changes == {"require_pbk": FieldChange(before=False, after=True)}


def test_a_time_zone_is_requested_and_audited(run: Run, services: Services, do: Awaited) -> None:
    (account,) = run.rows("accounts", "create", "Acme")
    named = ("--account", account["id"])
    (shown,) = run.rows("accounts", "set", *named, "--time-zone", "Europe/Berlin")
    assert shown["time_zone"] == "UTC"
    assert shown["time_zone_change"].startswith("Europe/Berlin from 2")
    assert run.rows("accounts", "set", *named, "--time-zone", "Europe/Berlin") == [shown]
    entries, total = do(services.access.audit.page(UUID(account["id"]), 1, 10))
    assert total == 1
    assert entries[0].changes == {"time_zone": FieldChange(before="UTC", after="Europe/Berlin")}
    assert entries[0].actor == OPERATOR
