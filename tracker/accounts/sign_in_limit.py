"""Limits on attempts to sign in, and on other guesses of a secret. Nobody is locked out.

- An address (IPv6: its network) has PER_MINUTE attempts, an e-mail FOR_EMAIL in 15 minutes.
- Beyond either, a person has a reserve for each network of an earlier sign-in. Nobody else can use
  it up: FOR_EMAIL attempts of an address, FOR_NETWORK of the network.

Unknown e-mails have the same counters. While Redis is unavailable, each process counts alone.
"""

from hashlib import blake2b
from typing import Final, NamedTuple
from uuid import UUID

from tracker.access.rate_limit import LimitScope, RateLimiter
from tracker.access.sessions import SessionClient
from tracker.accounts.people import Person
from tracker.errors import RateLimited
from tracker.limits.allowance import Allowance
from tracker.metrics import RATE_LIMITED
from tracker.stores.redis import keys

PER_MINUTE: Final = 20
FOR_EMAIL: Final = 10
FOR_NETWORK: Final = 30
FOR_SHARE: Final = 2_000
"""More than one address can try in an hour, so one visitor cannot close a share to the rest."""

_QUARTER_SECONDS: Final = 15 * 60
_HOUR_SECONDS: Final = 3600

_ADDRESS: Final = LimitScope("sign_in", PER_MINUTE, 60)
_EMAIL: Final = LimitScope("sign_in_email", FOR_EMAIL, _QUARTER_SECONDS)
_RESERVE: Final = LimitScope("sign_in_reserve", FOR_EMAIL, _QUARTER_SECONDS)
_NETWORK_RESERVE: Final = LimitScope("sign_in_reserve_network", FOR_NETWORK, _QUARTER_SECONDS)
_TOKEN: Final = LimitScope("sign_in_link", PER_MINUTE, 60)
_SHARE_ADDRESS: Final = LimitScope("share_password", PER_MINUTE, 60)
_SHARE: Final = LimitScope("share_password_total", FOR_SHARE, _HOUR_SECONDS)
for _scope in (_ADDRESS, _EMAIL, _RESERVE, _NETWORK_RESERVE, _TOKEN, _SHARE_ADDRESS, _SHARE):
    RATE_LIMITED.labels(_scope.name)
_DIGEST_BYTES: Final = 16

_Counter = tuple[str, LimitScope]


class Refusal(NamedTuple):
    """The exceeded limit, and the seconds until it has attempts again."""

    scope: str
    seconds: int

    def error(self, subject: str = "sign-in") -> RateLimited:
        """Return the error to raise, and count it."""
        RATE_LIMITED.labels(self.scope).inc()
        rule = "too many attempts; check the password, or try again later"
        return RateLimited(f"{subject}: {rule}", self.seconds)


class SignInLimit:
    """The counters of attempts. Each method counts one, and returns None within the limits."""

    def __init__(self, limiter: RateLimiter) -> None:
        self._limiter = limiter
        self._in_memory = Allowance(PER_MINUTE)

    async def count(self, email: str, client: SessionClient) -> Refusal | None:
        return await self._count(_counter(_ADDRESS, client.counted_as), _email_counter(email))

    async def count_email(self, email: str) -> Refusal | None:
        """Count an attempt for the e-mail of a reset whose token the client has."""
        return await self._count(_email_counter(email))

    async def count_reserve(self, person: Person, client: SessionClient) -> Refusal | None:
        return await self._count(*_reserve_counters(person, client))

    async def forget_reserve(self, person: Person, client: SessionClient) -> None:
        """Forget the attempts of a reserve once password and second factor, if on, were right.

        A right password alone must not: its codes share the reserve. Never raises.
        """
        for key, _ in _reserve_counters(person, client):
            await self._limiter.forget(key)

    async def count_token(self, invitation_id: UUID) -> Refusal | None:
        return await self._count(_counter(_TOKEN, str(invitation_id)))

    async def count_share(self, share_id: UUID, counted_as: str) -> Refusal | None:
        """Count a password for a share, from an address as limits count it."""
        return await self._count(
            _counter(_SHARE_ADDRESS, counted_as), _counter(_SHARE, str(share_id))
        )

    async def _count(self, *counters: _Counter) -> Refusal | None:
        usages = await self._limiter.count_scopes(counters)
        exceeded = next((usage for usage in usages if usage.exceeded), None)
        if exceeded is not None:
            return Refusal(exceeded.scope.name, exceeded.seconds_left)
        if all(usage.requests for usage in usages):
            return None
        exhausted = next((scope for key, scope in counters if not self._in_memory.use(key)), None)
        return None if exhausted is None else Refusal(exhausted.name, 60)


def is_known_network(person: Person, client: SessionClient) -> bool:
    """Return whether the person has signed in from the client's network before."""
    return network_digest(client.address) in person.networks


def network_digest(network: str) -> bytes:
    """Return the digest of a truncated address, as a person's document stores it."""
    return blake2b(network.encode(), digest_size=_DIGEST_BYTES).digest()


def _reserve_counters(person: Person, client: SessionClient) -> tuple[_Counter, _Counter]:
    return (
        _counter(_RESERVE, _digest(f"{person.email} {client.counted_as}")),
        _counter(_NETWORK_RESERVE, _digest(f"{person.email} {client.address}")),
    )


def _email_counter(email: str) -> _Counter:
    return _counter(_EMAIL, _digest(email))


def _counter(scope: LimitScope, owner: str) -> _Counter:
    return keys.rate_limit(scope.name, owner), scope


def _digest(text: str) -> str:
    return blake2b(text.encode(), digest_size=_DIGEST_BYTES).hexdigest()
