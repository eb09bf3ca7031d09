"""Deliveries of every account, as an operator lists them and sends them again."""

from datetime import timedelta
from uuid import UUID

from tests.factories import create_webhook
from tests.scripts.conftest import Awaited, Run
from tests.webhooks.sending.scene import converted
from tracker.clock import iso, now
from tracker.ids import new_id
from tracker.service.services import Services
from tracker.webhooks.store import Webhook


async def webhooks_with_failed(services: Services, *numbers: int) -> list[Webhook]:
    """Make webhooks, each of another account, with this many failed deliveries."""
    made = []
    for number in numbers:
        account_id = new_id()
        made.append(await create_webhook(services, account_id))
        await converted(services, account_id, number)
    attempt = {"at": now(), "milliseconds": 5, "code": 500, "answer": "", "error": None}
    expires_at = now() + timedelta(days=1)  # what has expired, MongoDB deletes within a minute
    failed = {
        "$set": {"status": "failed", "attempts": [attempt], "expires_at": expires_at},
        "$unset": {"due_at": ""},
    }
    await services.stores.mongodb["deliveries"].update_many({}, failed)
    return made


async def statuses(services: Services, webhook: Webhook) -> set[str]:
    rows = services.stores.mongodb["deliveries"].find({"webhook_id": webhook.id})
    return {row["status"] async for row in rows}


def test_deliveries_of_every_account_are_listed_newest_first(
    run: Run, do: Awaited, services: Services
) -> None:
    one, other = do(webhooks_with_failed(services, 2, 1))
    rows = run.rows("deliveries", "list")
    assert [row["created_at"] for row in rows] == sorted(
        (row["created_at"] for row in rows), reverse=True
    )
    assert {row["account_id"] for row in rows} == {str(one.account_id), str(other.account_id)}
    for row in rows:
        assert (row["kind"], row["status"], row["attempts"]) == ("conversion", "failed", 1)
        assert (row["last_code"], row["last_error"], row["next_attempt_at"]) == (500, None, None)
        assert "payload" not in row


def test_a_list_has_only_deliveries_that_match_every_filter(
    run: Run, do: Awaited, services: Services
) -> None:
    one, other = do(webhooks_with_failed(services, 2, 1))
    later = iso(now() + timedelta(hours=1))
    for arguments, number in (
        (("--account", str(one.account_id)), 2),
        (("--webhook", str(other.id)), 1),
        (("--webhook", str(other.id), "--account", str(one.account_id)), 0),
        (("--status", "failed", "--since", "2026-01-31"), 3),
        (("--status", "due"), 0),
        (("--since", later), 0),
    ):
        assert len(run.rows("deliveries", "list", *arguments)) == number, arguments
    ended = run("deliveries", "list", "--limit", "2")
    assert ended.stderr == "3 in total; the newest 2 are shown\n"


def test_failed_deliveries_are_retried_by_id_or_by_filter_but_not_to_inactive_webhooks(
    run: Run, do: Awaited, services: Services
) -> None:
    one, other, off = do(webhooks_with_failed(services, 2, 2, 1))
    do(services.webhooks.webhooks.change(off.id, {"active": False}))
    listed = run.rows("deliveries", "list", "--webhook", str(one.id))
    assert run.rows("deliveries", "retry", listed[0]["id"]) == [
        {"retried": 1, "inactive": 0, "being_sent": 0}
    ]
    assert do(statuses(services, one)) == {"due", "failed"}
    assert do(statuses(services, other)) == {"failed"}
    assert run.rows("deliveries", "retry", "--all") == [
        {"retried": 3, "inactive": 1, "being_sent": 0}
    ]
    assert do(statuses(services, one)) == do(statuses(services, other)) == {"due"}
    assert do(statuses(services, off)) == {"failed"}
    rows = do(services.stores.mongodb["deliveries"].find({"status": "due"}).to_list(None))
    assert all("expires_at" not in row and row["due_at"] <= now() for row in rows)


def test_unknown_deliveries_are_named_and_nothing_is_retried_without_a_choice(
    run: Run, do: Awaited, services: Services
) -> None:
    [one] = do(webhooks_with_failed(services, 1))
    [listed] = run.rows("deliveries", "list")
    unknown = str(UUID(int=7))
    for arguments, said in (
        ((listed["id"], unknown), f"not found: {unknown}"),
        ((), "name ids, --account, --webhook or --since, or pass --all"),
        (("--status", "failed"), "name ids"),
    ):
        ended = run("deliveries", "retry", *arguments)
        assert (ended.returncode, ended.stdout) == (1, "")
        assert said in ended.stderr
    assert do(statuses(services, one)) == {"failed"}
