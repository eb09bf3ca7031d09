"""Records the clicks of pages, by the rules and the journal of redirects.

The same visitor and link within half an hour get the same click. The claim on it is set in the
script that appends: an answered id is always a click's. Without room in Redis, or without Redis,
clicks are recorded all the same, each as a new one.
"""

import asyncio
from functools import lru_cache, partial
from hashlib import blake2b
from typing import Final
from uuid import UUID

from msgspec.structs import replace
from redis.exceptions import RedisError

from tracker.clicks.click import Click
from tracker.clicks.pages.origins import Origin, Origins, origin_of
from tracker.clicks.pages.sent import PageClick, RecordedClick
from tracker.clicks.redirects.limited import LimitedClicks
from tracker.clicks.redirects.protection import PasswordRequired
from tracker.clicks.redirects.redirect import Redirect
from tracker.clicks.redirects.redirection import check_open
from tracker.clicks.visit import Visit
from tracker.clicks.visitors import Visitors
from tracker.clock import day_of, moment, now_ms
from tracker.errors import Forbidden, NotFound
from tracker.ids import SLUG
from tracker.journal.appender import LAST, USED_UP, Claim
from tracker.journal.journal import Journal
from tracker.links.hostnames import canonical_hostname
from tracker.links.link import CachedLink
from tracker.links.options import RedirectOptions
from tracker.links.services import LinkServices
from tracker.stores.redis import keys
from tracker.stores.redis.memory_budget import OptionalWrite
from tracker.stores.services import StoreServices

SAME_SECONDS: Final = 1800
"""The time in which a visitor's clicks of a link are one."""

_DIGEST_BYTES: Final = 10


class PageClicks:
    """The endpoint of pages, for any web framework."""

    def __init__(
        self,
        redirect: Redirect,
        limited: LimitedClicks,
        links: LinkServices,
        origins: Origins,
        visitors: Visitors,
        journal: Journal,
        stores: StoreServices,
    ) -> None:
        self._redirect = redirect
        self._limited = limited
        self._links = links.link_cache
        self._names = links.link_names
        self._domains = links.domains
        self._own_host = links.public_url.host
        self._origins = origins
        self._visitors = visitors
        self._journal = journal
        self._breaker = stores.breaker
        self._budget = stores.budget

    async def record(self, sent: PageClick, header: str, request: Visit) -> RecordedClick:
        """Record a click of a page whose Origin is `header`; return it once it is durable.

        Raises Forbidden for an origin that the account does not allow, NotFound for a link that
        redirects nobody, PasswordRequired for a protected one, and Unavailable as redirects do.
        """
        origin = origin_of(header)
        name = await self._name(sent, request.address)
        link = await self._links.get(name, request.address)
        if link is None or (sent.link_id and link.id != sent.link_id.bytes):
            raise NotFound("short link: not found")
        await self._check_origin(origin, link, request.address)
        at, options = now_ms(), link.options
        if options is not None:
            check_open(options, at, False)
            if options.password_key is not None:
                raise PasswordRequired(link)
        opened = self._redirect.open(sent.visit(request, name.partition("/")[2]), link, at)
        if opened is None:
            raise NotFound("short link: not found")
        _, click = opened
        if sent.consent:
            click = replace(click, consent=sent.consent)
        holder = await self._append(click, link, options)
        return RecordedClick(UUID(int=holder), holder == int.from_bytes(click.id))

    async def _name(self, sent: PageClick, address: str) -> str:
        """Return the name of the link in the cache. Raises NotFound."""
        if sent.link_id:
            found = await self._names.get(keys.link_name(sent.link_id), address)
            if found is None:
                raise NotFound("short link: not found")
            return found.name
        namespace, slug = "", str(sent.slug)
        if not SLUG.fullmatch(slug):
            raise NotFound("short link: not found")
        if sent.domain and (host := canonical_hostname(sent.domain)) != self._own_host:
            domain = await self._domains.by_name(host, address) if host else None
            of_domain = self._domains.namespace(domain, named=True)
            if domain is None or of_domain is None:
                raise NotFound("domain: no such domain")
            namespace, slug = of_domain, domain.form_of(slug)
        return keys.link(namespace, slug)

    async def _check_origin(self, origin: Origin, link: CachedLink, address: str) -> None:
        """Raises Forbidden unless the link's account allows the origin, or it is our own."""
        host = origin.host
        if host == self._own_host or await self._origins.allow(link.account_id, origin):
            return
        domain = await self._domains.by_name(host, address) if "." in host else None
        if domain is None or not domain.verified or domain.account_id != link.account_id:
            raise Forbidden("Origin: not on the account's list of origins")

    async def _append(self, click: Click, link: CachedLink, options: RedirectOptions | None) -> int:
        """Append a click unless its visitor has one; return the id of the durable one."""
        limit = None if options is None else options.max_clicks
        claim = await self._claim(click, limit is not None)
        if options is None or limit is None:
            holder = await self._journal.append_click_once(click, claim)
            return claim.holder if holder is None else holder
        waiter: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        check = partial(_checked, options, click.at)
        self._limited.begin(self._limited.answer(link, options, click, True, check, waiter, claim))
        state = await waiter
        return state if state > LAST else claim.holder

    async def _claim(self, click: Click, is_limited: bool) -> Claim:
        """Return the claim on a visitor's click; without names if nothing can be claimed now.

        Its salt may change at midnight, so it then has the names of both days.
        """
        holder = int.from_bytes(click.id)
        names: tuple[str, ...] = ()
        if self._breaker.is_open or not self._budget.allows(OptionalWrite.PAGE_CLICK):
            return Claim(names, holder, 0)
        days = _days(click.at // 60_000)
        try:
            salts = await self._visitors.salts(days)
        except RedisError as error:
            self._breaker.record_failure(error)
            return Claim(names, holder, 0)
        tag = self._journal.claim_tag(click, is_limited)
        names = tuple(keys.page_click(_digest(salts[day], click), tag) for day in days)
        return Claim(names, holder, SAME_SECONDS)


def _checked(options: RedirectOptions, at: int, state: int) -> int:
    check_open(options, at, state == USED_UP)
    return state


@lru_cache(maxsize=2)
def _days(minute: int) -> tuple[str, ...]:
    """Return the days of a minute, and of half an hour before."""
    minutes = (minute, minute - SAME_SECONDS // 60)
    return tuple(dict.fromkeys(day_of(moment(one * 60_000)) for one in minutes))


def _digest(salt: bytes, click: Click) -> str:
    """Return the visitor of a link, keyed by the salt of a day (`clicks/visitors`)."""
    visitor = f"{click.address}\0{click.user_agent}".encode("utf-8", "surrogatepass")
    salted = blake2b(click.link_id + visitor, key=salt, digest_size=_DIGEST_BYTES, person=b"page")
    return salted.hexdigest()
