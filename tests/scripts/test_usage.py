"""Wrong usage of the commands: exit code 2, and the option with its rule. No store is reached."""

import importlib
import shlex
import sys

import pytest

ID = "0190b5a2-7c1e-7d3f-8a4b-5c6d7e8f9a0b"
RULES = f"accounts set --account {ID}"
KEY = f"api_keys create --account {ID}"
CONFIG = f"event_configs create --account {ID} --name Purchase --payout-type RevShare"
INVITE = f"members invite --account {ID}"

NAME = "argument name: 1 to 255 characters, no control characters"
ALIASES = "argument --parameter-aliases: "
SCOPES = "argument --scopes/--scope: "

WRONG = [
    ("accounts", "required: ACTION"),
    ("accounts create ''", NAME),
    ("accounts create 'a\nb'", NAME),
    (f"accounts create {'a' * 256}", NAME),
    ("accounts create a\udcffb", NAME),
    ("accounts set --account x", "argument --account: id: must be a UUID"),
    (f"{RULES} --require-pbk yes", "argument --require-pbk: "),
    (f"{RULES} --max-value -1", "argument --max-value: "),
    (f"{RULES} --max-value much", "argument --max-value: "),
    (f"{RULES} --max-per-click 0", "argument --max-per-click: "),
    (f"{RULES} --max-per-click 1.5", "argument --max-per-click: "),
    (f"{RULES} --time-zone Mars/Olympus", "--time-zone: must be an IANA time zone"),
    ("api_keys revoke trk_secret", "argument ID: id: must be a UUID"),
    (f"{KEY} --name 'a\tb'", "argument --name: 1 to 255 characters"),
    (f"{KEY} --scopes links", SCOPES),
    (f"{KEY} --scopes everything:*", SCOPES),
    (f"{KEY} --scope links:read,links", SCOPES),
    (f"{KEY} --scopes ''", SCOPES),
    (f"{KEY} --expires-days 0", "argument --expires-days: 1 to 3650 days"),
    (f"{KEY} --expires-days -1", "argument --expires-days: 1 to 3650 days"),
    (f"{KEY} --expires-days 1.5", "argument --expires-days: 1 to 3650 days"),
    (f"{KEY} --expires-days 3651", "argument --expires-days: 1 to 3650 days"),
    (f"{KEY} --expires-days {'9' * 5000}", "argument --expires-days: "),
    (f"{CONFIG} --payout -1", "argument --payout: "),
    (f"{CONFIG} --payout sNaN", "argument --payout: "),
    (f"{CONFIG} --payout 1000000001", "argument --payout: "),
    (f"{CONFIG} --payout 0.0000001", "argument --payout: "),
    (f"{CONFIG} --payout 1e999999999", "argument --payout: "),
    (f"{CONFIG} --payout-type rev-share", "argument --payout-type: "),
    (f"{CONFIG} --parameter-aliases cid", ALIASES),
    (f"{CONFIG} --parameter-aliases cid=pbk", ALIASES),
    (f"{CONFIG} --parameter-aliases cid=click_id,cid=value", ALIASES),
    (f"{CONFIG} --parameter-aliases 'c id=click_id'", ALIASES),
    (INVITE, "one of the arguments --owner --editor --viewer is required"),
    (f"{INVITE} --owner ada", "argument --owner: "),
    (f"{INVITE} --owner a@example.com --viewer a@example.com", "not allowed with"),
    ("members remove a@example.com", "required: --account"),
    ("members reset 'a b@example.com'", "argument EMAIL: no white space"),
    ("deliveries list --since yesterday", "must be a day or a moment"),
    ("deliveries list --status lost", "invalid choice"),
    ("deliveries list --limit 0", "1 or more"),
    ("deliveries retry 7", "must be a UUID"),
    ("deliveries retry --status delivered", "invalid choice"),
    ("dead_letters list --limit many", "argument --limit: "),
    ("dead_letters list --after first", "argument --after: "),
    ("dead_letters replay --all", "unrecognized arguments: --all"),
    ("dead_letters replay 1-", "argument ID: must be the id of a letter"),
    ("dead_letters replay '1-1\n'", "argument "),
    ("dead_letters drop", "one of the arguments ID --all is required"),
    ("dead_letters drop --all 1-1", "not allowed with argument --all"),
    ("verify --from 2026-02-30", "must be a day such as 2026-01-31"),
    ("verify --account x", "must be a UUID"),
    ("verify --from 2026-01-02 --to 2026-01-01", "--from: must not be after --to"),
    ("rebuild_rollups --from 2026-01-01", "required: --to"),
    ("rebuild_rollups --from 2026-01-02 --to 2026-01-01", "--from: must not be after --to"),
]


def test_wrong_usage_exits_2_and_names_the_option(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for line, rule in WRONG:
        name, *arguments = shlex.split(line)
        monkeypatch.setattr(sys, "argv", ["command", *arguments])
        with pytest.raises(SystemExit) as ended:
            importlib.import_module(f"scripts.{name}").main()
        shown = capsys.readouterr()
        assert (ended.value.code, shown.out) == (2, ""), line
        assert shown.err.startswith(f"usage: python -m scripts.{name}"), line
        assert rule in shown.err, line
