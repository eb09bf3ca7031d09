"""What others may do at sign-in, and what a person from a known network still can."""

import time
from typing import Any

import orjson
import pytest

from tests.accounts.api.signing_in import sign_in
from tests.sharing.api.shares import FROM_PAGE, share
from tests.sharing.api.shares import PASSWORD as SHARE_PASSWORD
from tests.web.client import Client, Response
from tests.web.person import PASSWORD, create_person
from tests.web.world import World
from tracker.access.client_address import ClientAddress
from tracker.access.rate_limit import LimitScope
from tracker.access.roles import Role
from tracker.accounts import sign_in as module
from tracker.accounts import sign_in_limit
from tracker.accounts.accounts import Account
from tracker.accounts.sign_in_limit import FOR_EMAIL, PER_MINUTE
from tracker.service.services import Services

ADA, HOME, ELSEWHERE = "ada@example.com", "198.51.100.7", "203.0.113.7"


@pytest.fixture(autouse=True)
def proxied(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let X-Forwarded-For name the client, refuse without a wait, and let no minute pass."""
    services.web = services.web._replace(client_address=ClientAddress("1"))
    monkeypatch.setattr(module, "REFUSED_AFTER_SECONDS", 0.0)
    for name in ("_ADDRESS", "_SHARE_ADDRESS"):
        of_a_minute: LimitScope = getattr(sign_in_limit, name)
        monkeypatch.setattr(sign_in_limit, name, of_a_minute._replace(window_seconds=3600))


async def attempt(
    client: Client, email: str, address: str, password: str = "wrong horse battery"
) -> Response:
    return await sign_in(client, email, password, X_Forwarded_For=address)


async def known_from(client: Client, services: Services, account: Account, address: str) -> None:
    """Create Ada, who has signed in from an address."""
    person = await create_person(services, ADA, PASSWORD)
    await services.accounts.members.add(account.id, person.id, Role.OWNER)
    assert (await attempt(client, ADA, address, PASSWORD)).status == 200


async def use_up(client: Client, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Use up the attempts of an address, for e-mails that belong to nobody."""

    async def refuses(*_: object) -> bool:
        return False

    with monkeypatch.context() as patch:
        patch.setattr("tracker.access.passwords.Passwords.verify", refuses)
        for number in range(PER_MINUTE):
            await attempt(client, f"{number}@example.com", address)
    assert (await attempt(client, "last@example.com", address)).status == 429


async def test_a_person_at_an_address_that_is_used_up_is_refused_if_its_network_is_not_known(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await known_from(world.client, world.services, world.account, ELSEWHERE)
    await use_up(world.client, HOME, monkeypatch)
    assert (await attempt(world.client, ADA, HOME, PASSWORD)).status == 429


async def test_guesses_from_everywhere_do_not_keep_a_person_out_of_a_known_network(
    world: World,
) -> None:
    await known_from(world.client, world.services, world.account, HOME)
    # One attempt of ten was Ada's own.
    answers = [await attempt(world.client, ADA, f"203.0.{n}.7") for n in range(FOR_EMAIL)]
    assert [one.status for one in answers] == [401] * (FOR_EMAIL - 1) + [429]
    assert answers[-1].error.startswith("sign-in: too many attempts; ")
    assert int(answers[-1].headers["Retry-After"]) > 60
    # The right password does not help there: nobody learns that it was right.
    assert (await attempt(world.client, ADA, "203.0.200.7", PASSWORD)).status == 429
    assert (await attempt(world.client, ADA, HOME, PASSWORD)).status == 200


async def test_no_refusal_tells_whether_somebody_has_signed_in_from_here(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A wrong password is checked for Ada alone, and answered like one that is not."""
    await known_from(world.client, world.services, world.account, HOME)
    await use_up(world.client, HOME, monkeypatch)
    monkeypatch.setattr(module, "REFUSED_AFTER_SECONDS", 0.4)
    checked = list[str]()
    matches = world.services.accounts.passwords._matches

    def noted(stored: str, password: str) -> bool:
        checked.append(password)
        return matches(stored, password)

    monkeypatch.setattr(world.services.accounts.passwords, "_matches", noted)
    seen = list[Any]()
    for email in (ADA, "eve@example.com"):
        began = time.monotonic()
        answer = await attempt(world.client, email, HOME, f"guess for {email}")
        assert time.monotonic() - began >= 0.4
        headers = {k: v for k, v in answer.headers.get_all() if k not in _OF_EACH_ANSWER}
        seen.append((answer.status, answer.body, headers))
    assert seen[0] == seen[1]
    assert checked == [f"guess for {ADA}"]
    # A full queue of passwords does not tell it either.
    monkeypatch.setattr("tracker.access.passwords.MAX_WAITING", 0)
    for email in (ADA, "eve@example.com"):
        assert (await attempt(world.client, email, HOME)).status == 429


@pytest.mark.parametrize("email", [ADA, "eve@example.com"])
async def test_guesses_elsewhere_do_not_tell_whether_somebody_has_signed_in_from_here(
    world: World, email: str
) -> None:
    await known_from(world.client, world.services, world.account, HOME)
    await world.services.stores.redis.delete(
        *await world.services.stores.redis.keys("rate_limit:sign_in*")
    )
    for number in range(FOR_EMAIL):
        assert (await attempt(world.client, email, f"203.0.{number}.7")).status == 401
    statuses = [(await attempt(world.client, email, HOME)).status for _ in range(FOR_EMAIL + 1)]
    assert statuses == [429] * (FOR_EMAIL + 1)


async def test_passwords_of_shares_and_of_people_are_counted_apart(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await known_from(world.client, world.services, world.account, ELSEWHERE)
    _, token = await share(world.api, world.account, password=SHARE_PASSWORD)
    statuses = [
        (await read(world.client, token, HOME, f"guess {number}")).status
        for number in range(PER_MINUTE + 1)
    ]
    assert statuses == [401] * PER_MINUTE + [429]
    assert (await attempt(world.client, ADA, HOME, PASSWORD)).status == 200
    await use_up(world.client, ELSEWHERE, monkeypatch)
    assert (await read(world.client, token, ELSEWHERE, SHARE_PASSWORD)).status == 200


async def read(client: Client, token: str, address: str, password: str) -> Response:
    body = orjson.dumps({"token": token, "password": password})
    return await client.post("/api/shared", body, X_Forwarded_For=address, **FROM_PAGE)


_OF_EACH_ANSWER = ("Date", "X-Request-Id", "Retry-After")
