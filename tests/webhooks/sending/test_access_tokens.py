"""A refresh token brings an access token, once an hour, and again when that was refused."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.webhooks.receiver import Handler, Received, Receiver, receiving
from tests.webhooks.sending.posting import request
from tracker.webhooks.delivery import Outcome
from tracker.webhooks.sending import access_tokens
from tracker.webhooks.sending.client import WebhookClient

UNSIGNED = Received("", "", "", {}, b"", "")
HEADER = "Google-Refresh id.apps s3cret-secret 1//refresh"


class Google:
    """A token server of ours, and a receiver that takes its current token only."""

    def __init__(self, receiver: Receiver) -> None:
        self.receiver = receiver
        self.forms: list[dict[str, str]] = []
        self.valid = 1
        self.refused = False
        self.seconds: object = 3599

    async def behave(self, handler: Handler) -> None:
        if handler.request.path == "/token":
            names = ("grant_type", "client_id", "client_secret", "refresh_token")
            self.forms.append({name: handler.get_argument(name) for name in names})
            if self.refused:
                handler.set_status(400)
                handler.finish('{"error": "invalid_grant"}')
                return
            granted = {
                "access_token": f"ya29.{self.valid}",
                "expires_in": self.seconds,
                "x": "y" * 2000,
            }
            handler.finish(json.dumps(granted))
            return
        bearer = handler.request.headers.get("Authorization")
        handler.set_status(200 if bearer == f"Bearer ya29.{self.valid}" else 401)
        handler.finish()


@asynccontextmanager
async def google(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[tuple[Google, WebhookClient]]:
    client = WebhookClient(allow_private=True, dns_address=None)
    async with receiving() as receiver:
        one = Google(receiver)
        receiver.behaviour = one.behave
        monkeypatch.setattr(receiver, "take", lambda _: UNSIGNED)  # as forms are
        monkeypatch.setattr(access_tokens, "_SECONDS", 60.0)  # however slow the machine
        monkeypatch.setattr(access_tokens, "URL", f"{receiver.url}/token")
        yield one, client
    client.close()


async def sent(
    google: Google, client: WebhookClient, header: str = HEADER, name: str = "Authorization"
) -> Outcome:
    made = request(f"{google.receiver.url}/events")
    made.headers = {**made.headers, name: header}
    return await client.send(made)


async def test_a_token_is_asked_for_once_and_anew_after_it_was_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with google(monkeypatch) as (one, client):
        many = await asyncio.gather(*(sent(one, client) for _ in range(5)))
        assert [outcome.error for outcome in many] == [None] * 5
        assert [outcome.code for outcome in many] == [200] * 5
        secrets = ("refresh_token", "id.apps", "s3cret-secret", "1//refresh")
        names = ("grant_type", "client_id", "client_secret", "refresh_token")
        assert one.forms == [dict(zip(names, secrets, strict=True))]
        one.valid = 2
        assert [(await sent(one, client)).code for _ in range(2)] == [401, 200]
        assert len(one.forms) == 2
        assert (await sent(one, client, HEADER, "authorization")).code == 200
        assert (await sent(one, client, "Bearer ya29.2")).code == 200
        assert len(one.forms) == 2


async def test_without_a_token_nothing_is_sent_and_the_reason_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with google(monkeypatch) as (one, client):
        one.refused = True
        for _ in range(2):
            outcome = await sent(one, client)
            assert (outcome.code, outcome.failure) == (None, "token")
            assert "invalid_grant" in (outcome.error or "")
            assert "s3cret" not in (outcome.error or "")
        assert len(one.forms) == 1  # a failure is not repeated at once


async def test_an_answer_that_is_not_understood_is_not_told_with_its_token(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with google(monkeypatch) as (one, client):
        one.seconds = "soon"
        outcome = await sent(one, client)
        assert (outcome.failure, "ya29" in (outcome.error or "")) == ("token", False)


async def test_a_token_that_is_forgotten_while_it_is_asked_for_is_used_once() -> None:
    asked: list[bytes] = []

    async def ask(_: str, form: bytes) -> Outcome:
        asked.append(form)
        tokens.forget(headers)
        answer = json.dumps({"access_token": "a"})
        return Outcome(code=200, milliseconds=1, answer=answer, error=None, retry_after=None)

    tokens, headers = access_tokens.AccessTokens(ask), {"Authorization": HEADER}
    for number in (1, 2):
        assert await tokens.filled(headers) == {"Authorization": "Bearer a"}
        assert len(asked) == number
