"""Protected links: who has given the password, for an hour, and the tries of all others.

A pass is a cookie, signed with a key that is derived from the stored hash (`links/options`). So
every process knows it, and it ends with the password. Only a try reads the hash.
"""

from collections.abc import Mapping
from hmac import compare_digest, digest
from typing import Any, Final
from uuid import UUID

from pymongo.errors import PyMongoError

from tracker.access.passwords import Passwords
from tracker.access.rate_limit import LimitScope, RateLimiter
from tracker.clock import now_ms
from tracker.errors import ErrorCode, RateLimited, TrackerError, Unauthorized
from tracker.limits.allowance import Allowance
from tracker.links.link import CachedLink, Link
from tracker.links.options import password_key
from tracker.links.store import Links
from tracker.stores.redis import keys

PASS_SECONDS: Final = 3600
PER_NETWORK: Final = 20
FOR_LINK: Final = 300
"""More than one network can try in ten minutes, so one visitor cannot close a link to the rest."""

_NETWORK: Final = LimitScope("link_password", PER_NETWORK, 60)
_LINK: Final = LimitScope("link_password_total", FOR_LINK, 600)


class PasswordRequired(Unauthorized):
    """A visit to a protected link without a pass. Nothing of it tells where the link leads."""

    def __init__(self, link: CachedLink, is_wrong: bool = False) -> None:
        rule = "wrong" if is_wrong else "this link asks for one"
        super().__init__(f"password: {rule}", code=ErrorCode.PASSWORD_REQUIRED)
        self.hint = "The password is wrong." if is_wrong else "Type its password to open it."
        self.link = link


def check_pass(cookies: str, link: CachedLink, key: bytes, at: int) -> None:
    """Raises PasswordRequired unless the cookies have a pass for the link."""
    name = f"pass-{link.id.hex()}="
    for cookie in map(str.strip, cookies.split(";")):
        if cookie.startswith(name):
            until = cookie.removeprefix(name).partition(".")[0]
            expected = _signed(until, link.id, key)
            # Nobody else can sign, so what is signed is a number.
            if compare_digest(cookie.encode(), expected.encode()) and int(until) * 1000 > at:
                return
    raise PasswordRequired(link)


def new_pass(link_id: bytes, key: bytes, at: int) -> str:
    """Return a cookie: its name and value."""
    return _signed(str(at // 1000 + PASS_SECONDS), link_id, key)


def _signed(until: str, link_id: bytes, key: bytes) -> str:
    signature = digest(key, link_id + until.encode(), "sha256").hex()
    return f"pass-{link_id.hex()}={until}.{signature}"


class Protection:
    """The tries of passwords, within limits by network and by link."""

    def __init__(self, links: Links, passwords: Passwords, limiter: RateLimiter) -> None:
        self._links = links
        self._passwords = passwords
        self._limiter = limiter
        self._without_redis = Allowance(PER_NETWORK), Allowance(FOR_LINK // 10)

    async def unlock(self, link: CachedLink, password: str, address: str) -> str:
        """Return a pass. Each try counts before it is compared, also a right one.

        Raises PasswordRequired for a wrong one, RateLimited, Unavailable if too many are waiting.
        """
        if not password:
            raise PasswordRequired(link)
        await self._count(self._limiter.counted_as(address), link.id.hex())
        stored = await self._links.find(UUID(bytes=link.id))
        hashed = stored and stored.password_hash
        if not stored or not hashed or not await self._passwords.verify(hashed, password):
            raise PasswordRequired(link, is_wrong=True)
        if self._passwords.is_outdated(hashed):
            hashed = await self._renewed(stored, hashed, password)
        return new_pass(link.id, password_key(hashed), now_ms())

    async def _count(self, network: str, link_id: str) -> None:
        owners = ((_NETWORK, network), (_LINK, link_id))
        counters = [(keys.rate_limit(scope.name, owner), scope) for scope, owner in owners]
        for usage in (usages := await self._limiter.count_scopes(counters)):
            usage.check()
        tried = network, link_id
        if not usages[0].requests and not all(map(Allowance.use, self._without_redis, tried)):
            raise RateLimited("password: too many attempts; try again later", 60)

    async def _renewed(self, link: Link, hashed: str, password: str) -> str:
        """Replace an imported hash, unless the password has changed; return the valid one."""
        try:
            renewed = await self._passwords.hash(password)

            def fields_of(it: Link) -> Mapping[str, Any]:
                fields = {"password_hash": renewed, "renewed_version": it.version + 1}
                return fields if it.password_hash == hashed else {}

            [changed] = await self._links.change_all([link], fields_of)
        except (TrackerError, PyMongoError):  # the next right password tries again
            return hashed
        return renewed if changed.password_hash == renewed else hashed
