"""Event configurations, as an operator creates them."""

from decimal import Decimal
from uuid import UUID

import pytest

from tests.scripts.conftest import Awaited, Run
from tracker.access.principal import OPERATOR
from tracker.service.services import Services


def arguments(account_id: str, *options: str) -> tuple[str, ...]:
    required = ("--account", account_id, "--name", "Purchase", "--payout-type", "RevShare")
    return ("create", *required, *options)


def test_a_configuration_is_made_and_found_by_its_postback_key(
    run: Run, account_id: str, services: Services, do: Awaited
) -> None:
    options = ("--payout", "12.5", "--parameter-aliases", "cid=click_id,payout=value")
    (made,) = run.rows("event_configs", *arguments(account_id, *options))
    assert made["parameter_aliases"] == options[-1]
    assert (made["payout_type"], made["payout"], made["active"]) == ("RevShare", 12.5, True)
    assert len(made["pbk"]) == 22
    found = do(services.conversions.event_configs.by_postback_key(made["pbk"]))
    assert found is not None
    assert (str(found.id), found.payout) == (made["id"], Decimal("12.5"))
    assert found.parameter_aliases == {"cid": "click_id", "payout": "value"}
    assert run.rows("event_configs", "list", "--account", account_id) == [made]
    [entry], _ = do(services.access.audit.page(UUID(account_id), 1, 10))
    assert (entry.action, entry.actor) == ("event_config.created", OPERATOR)
    assert (entry.target.id, entry.target.name) == (found.id, "Purchase")


def test_how_reports_are_read_is_set_with_a_configuration(run: Run, account_id: str) -> None:
    options = (
        "--statuses",
        "Hold=pending,upsell=count",
        "--window-days",
        "30",
        "--currency",
        "usd",
    )
    refused = run("event_configs", *arguments(account_id, *options))
    assert "currency: the account has none yet" in refused.stderr
    run("accounts", "set", "--account", account_id, "--currency", "EUR")
    (made,) = run.rows("event_configs", *arguments(account_id, *options, "--on-repeat", "first"))
    assert made["statuses"] == "hold=pending,upsell=count"
    assert (made["unknown_status"], made["on_repeat"]) == ("pending", "first")
    assert (made["window_days"], made["min_seconds"], made["currency"]) == (30, None, "USD")
    for option, wrong in (("--statuses", "a=sold"), ("--min-seconds", "0"), ("--currency", "EURO")):
        assert run("event_configs", *arguments(account_id, option, wrong)).returncode == 2


@pytest.mark.parametrize("sent", ["revshare", "REVSHARE", "RevShare"])
def test_a_payout_type_may_be_in_any_case(run: Run, account_id: str, sent: str) -> None:
    (made,) = run.rows("event_configs", *arguments(account_id, "--payout-type", sent))
    assert made["payout_type"] == "RevShare"


@pytest.mark.parametrize("payout", ["1000000000", "0.000001", "1e3"])
def test_a_payout_is_kept_exactly(run: Run, account_id: str, payout: str) -> None:
    ended = run("event_configs", *arguments(account_id, "--payout", payout))
    assert (ended.returncode, ended.stderr) == (0, "")
    line = next(one for one in ended.stdout.splitlines() if one.startswith("payout "))
    assert Decimal(line.split()[1]) == Decimal(payout)


def test_a_configuration_is_made_while_redis_is_unavailable(run: Run, account_id: str) -> None:
    ended = run("event_configs", *arguments(account_id), REDIS_URL="redis://127.0.0.1:1")
    assert ended.returncode == 0
    assert len(run.rows("event_configs", "list", "--account", account_id)) == 1
