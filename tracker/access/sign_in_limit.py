"""The limits of attempts to sign in: for each network, and for each e-mail. Nobody is locked out.

- A network has PER_MINUTE attempts a minute, whoever they are for.
- An e-mail has FOR_EMAIL attempts in a quarter of an hour, shared by all networks from which its
  person has not signed in before. Each network from which they have has as many of its own, so a
  stranger who tries passwords does not keep the person out.
- The counters are the same for e-mails that belong to nobody.

They are counted in Redis. While it is unavailable, each process counts for itself.
"""

from collections.abc import Collection
from hashlib import blake2b
from typing import Final

from tracker.access.rate_limit import RateLimiter, Scope
from tracker.db import keys
from tracker.errors import RateLimited
from tracker.limits.allowance import Allowance
from tracker.metrics import RATE_LIMITED

PER_MINUTE: Final = 20
FOR_EMAIL: Final = 10
FOR_EMAIL_SECONDS: Final = 15 * 60

_NETWORK: Final = Scope("sign_in", PER_MINUTE, 60)
_EMAIL: Final = Scope("sign_in_email", FOR_EMAIL, FOR_EMAIL_SECONDS)
_DIGEST_BYTES: Final = 16


class SignInLimit:
    """The counters of attempts to sign in."""

    def __init__(self, limiter: RateLimiter) -> None:
        self._limiter = limiter
        self._in_memory = Allowance(PER_MINUTE)

    async def count_network(self, network: str) -> None:
        """Count an attempt from a truncated address. Raises RateLimited beyond its limit."""
        await self._count(keys.rate_limit(_NETWORK.name, network), _NETWORK)

    async def count_email(self, email: str, network: str, known: Collection[bytes]) -> None:
        """Count an attempt for an e-mail from a network; `known` are its person's networks.

        Raises RateLimited beyond the limit.
        """
        await self._count(self._email_key(email, network, known), _EMAIL)

    async def forget_email(self, email: str, network: str, known: Collection[bytes]) -> None:
        """Forget the attempts that a success has followed. Never raises."""
        await self._limiter.forget(self._email_key(email, network, known))

    def _email_key(self, email: str, network: str, known: Collection[bytes]) -> str:
        own = network_digest(network)
        owner = blake2b(email.encode(), digest_size=_DIGEST_BYTES).hexdigest()
        return keys.rate_limit(_EMAIL.name, f"{owner}:{own.hex()}" if own in known else owner)

    async def _count(self, key: str, scope: Scope) -> None:
        usages = await self._limiter.count_scopes([(key, scope)])
        exceeded = next((usage for usage in usages if usage.exceeded), None)
        if exceeded is None and all(usage.requests for usage in usages):
            return
        if exceeded is None and self._in_memory.spend(key):
            return
        RATE_LIMITED.labels(scope.name).inc()
        seconds = exceeded.seconds_left if exceeded else 60
        raise RateLimited("sign-in: too many attempts; try again later", seconds)


def network_digest(network: str) -> bytes:
    """Return the digest of a truncated address under which a person's document remembers it."""
    return blake2b(network.encode(), digest_size=_DIGEST_BYTES).digest()
