"""The redirect of a short link, for any web framework.

Guarantee: a 302 with a click id is returned only after the journal has the click.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from uuid import UUID

from msgspec.structs import replace

from tracker.clicks.click import Click, click_of
from tracker.clicks.enrich import Enrichment
from tracker.clicks.redirects.deciding import decide
from tracker.clicks.redirects.limited import LimitedClicks
from tracker.clicks.redirects.protection import check_pass
from tracker.clicks.redirects.redirection import (
    Answer,
    RedirectResponse,
    closed,
    redirection,
    usual,
)
from tracker.clicks.redirects.response import Continuation, Recording
from tracker.clicks.visit import Visit
from tracker.clock import iso, moment, now_ms
from tracker.errors import MethodNotAllowed, NotFound, Required
from tracker.ids import SLUG, new_click_id
from tracker.journal.appender import USED_UP
from tracker.journal.journal import Journal
from tracker.links.cache import LinkCache
from tracker.links.destination import destination_of, location_of
from tracker.links.domain import ServedName
from tracker.links.domains import Domains
from tracker.links.hostnames import canonical_hostname
from tracker.links.link import CachedLink, Link, cached_link
from tracker.links.options import CLICK_ID, RedirectOptions
from tracker.links.rules.decider import Decision
from tracker.stores.batch import Waiter, notify
from tracker.stores.redis import keys
from tracker.syntax.url import parameter
from tracker.syntax.url_path import name_of
from tracker.visitor_dimensions import NAMES as VISITOR_DIMENSIONS

METHODS = "GET, HEAD, OPTIONS"

Begin = Callable[[Visit, Waiter[Answer]], None]
"""Finds the link of a GET or HEAD, as `Redirect.begin` does."""

# Without a look-up, the link may be one that takes POST.
_OPTIONS = RedirectResponse(204, (("Allow", f"{METHODS}, POST"), ("Cache-Control", "no-store")))


class Redirect:
    """The endpoint of short links."""

    def __init__(
        self,
        links: LinkCache,
        domains: Domains,
        journal: Journal,
        enrichment: Enrichment,
        limited: LimitedClicks,
        own_host: str,
    ) -> None:
        self._links = links
        self._domains = domains
        self._journal = journal
        self._enrichment = enrichment
        self._limited = limited
        self._own_host = own_host

    async def record_test(self, visit: Visit, link: Link) -> tuple[UUID, str] | None:
        """Record a test click; return its id and Location once it is durable.

        Return None if visitors get 404.
        """
        opened = self.open(visit, cached_link(link), now_ms())
        if opened is None:
            return None
        location, click = opened
        await self._journal.append(replace(click, test=True))
        return UUID(bytes=click.id), location

    async def answer(self, visit: Visit, begin: Begin | None = None) -> RedirectResponse:
        """Return the redirect to the link's destination, once its click is durable.

        Raises BadRequest without a slug, NotFound without such a link or domain, MethodNotAllowed
        for other methods, RateLimited for too many unknown links, PasswordRequired of a protected
        link without a pass. Raises Unavailable if no store can find the link or accepts the click.
        """
        if visit.method == "OPTIONS":
            return _OPTIONS
        if visit.method not in ("GET", "HEAD", "POST"):
            raise MethodNotAllowed(METHODS)
        waiter: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        (begin or self.begin)(visit, waiter)
        answer = await waiter
        return usual(answer) if isinstance(answer, str) else answer

    def begin(self, visit: Visit, waiter: Waiter[Answer]) -> None:
        """Answer a GET or HEAD as `answer` does.

        `waiter` gets the answer once the click is durable, in this call if there is none; or an
        error. Raises the errors that need no store.
        """
        slug = _slug(visit)
        host, named = self._host(visit)
        domain = None
        if host:
            known = self._domains.peek(host)
            if known is None:
                if visit.slug is not None:
                    _check(slug)
                find_link = partial(self._find_link, visit, waiter, slug, host, named)
                self._domains.load(host, visit.address, Continuation(waiter, find_link))
                return
            domain = known.value
        self._find_link(visit, waiter, slug, host, named, domain)

    def _find_link(
        self,
        visit: Visit,
        waiter: Waiter[Answer],
        slug: str,
        host: str,
        named: bool,
        domain: ServedName | None,
    ) -> None:
        namespace = self._domains.namespace(domain, named) if host or named else ""
        if namespace is None:
            raise NotFound("d: no such domain" if named else "short link: not found")
        if not namespace:
            domain = None  # whoever claims the name, this is a link of the default domain
        if domain is not None:
            _check(slug)
            slug = domain.form_of(slug)
        name = keys.link(namespace, slug)
        known = self._links.peek(name)
        if known is None:
            if not namespace:
                _check(slug)
            record = partial(self.record, visit, waiter, domain)
            self._links.load(name, visit.address, Continuation(waiter, record))
        else:
            self.record(visit, waiter, domain, known.value)

    def elsewhere(self, url: str | None) -> RedirectResponse | None:
        """Return the redirect to a URL of a domain; None without one, or if it leads back."""
        if url is None:
            return None
        location, host = location_of(url)
        return None if self._leads_back(host) else usual(location)

    def record(
        self,
        visit: Visit,
        waiter: Waiter[Answer],
        domain: ServedName | None,
        link: CachedLink | None,
    ) -> None:
        """Record the click of a visit, then answer it.

        Raises NotFound if visitors get 404, MethodNotAllowed for POST, which only asks for a pass.
        """
        at = now_ms()
        options = None if link is None else link.options
        answer: Answer | None = None
        if options is not None and link is not None:
            of_domain = partial(self.elsewhere, None if domain is None else domain.expired_url)
            answer = closed(options, at, of_domain=of_domain)
            if answer is None and options.password_key is not None:
                check_pass(visit.headers.cookies, link, options.password_key, at)
        if answer is None:
            opened = self.open(visit, link, at)
            if opened is None:
                raise NotFound("short link: not found")
            location, click = opened
            if visit.method == "POST":
                raise MethodNotAllowed(METHODS)
            if options is None:
                answer = location
            else:
                answer = redirection(options, location)
                if link is not None and options.max_clicks is not None:
                    kept, limited = visit.method != "HEAD", self._limited
                    answer_if = partial(_limited_answer, options, at, of_domain, answer)
                    limited.begin(limited.answer(link, options, click, kept, answer_if, waiter))
                    return
            if visit.method != "HEAD":
                self._journal.append_and_notify(click, Recording(waiter, answer))
                return
        notify(waiter, waiter.set_result, answer)

    def open(self, visit: Visit, link: CachedLink | None, at: int) -> tuple[str, Click] | None:
        """Return the Location and the click of a visit; None if it gets 404."""
        if link is None:
            return None
        decision, is_test = None, False
        if link.options is not None and (deciding := link.options.deciding) is not None:
            decision, is_test = decide(self._enrichment, visit, link, deciding, at)
        click_id = new_click_id()
        shown_id = None if visit.method == "HEAD" else str(click_id)
        led = self.lead(visit, link, at, decision, shown_id)
        if led is None:
            return None
        location, utm = led
        return location, click_of(visit, link, click_id.bytes, at, utm, decision, is_test)

    def lead(
        self, visit: Visit, link: CachedLink, at: int, to: Decision | None, shown_id: str | None
    ) -> tuple[str, str] | None:
        """Return Location and UTM parameters of a visit; None if it would lead here again."""
        options = link.options
        destination = destination_of(
            link.destination_url if to is None else to.destination_url,
            CLICK_ID if options is None else options.click_parameter,
        )
        if destination.redirect_host is not None and self._leads_back(destination.redirect_host):
            return None
        used = destination.used_macros
        macros = self._macros(visit, at, link, shown_id, used) if used else {}
        query = visit.query if options is None or options.pass_query else ""
        return destination.location(query, shown_id, macros), destination.utm(macros)

    def _leads_back(self, host: str) -> bool:
        """Return whether `host` is a custom domain, which was not served when the link was written.

        Its redirects may lead here again, without end. A visit to it has brought it into memory.
        """
        known = self._domains.peek(host)
        return known is not None and bool(self._domains.namespace(known.value, named=False))

    def _host(self, visit: Visit) -> tuple[str, bool]:
        """Return the hostname ("": the default domain), and whether it must be a custom domain.

        It must be one if the query names it, as `d`. Else it is the Host header of a visit to /c/.
        """
        named = parameter(visit.query, "d")
        if not named:
            if visit.slug is None or visit.host == self._own_host:
                return "", False
            host = canonical_hostname(visit.host.partition(":")[0])
            return "" if host == self._own_host else host, False
        host = canonical_hostname(named)
        if self._own_host in (host, named.lower()):  # `d` as sent may be an IP address
            return "", False
        return host, True

    def _macros(
        self,
        visit: Visit,
        at: int,
        link: CachedLink,
        shown_id: str | None,
        used: frozenset[str],
    ) -> dict[str, str]:
        macros = {
            "click_id": shown_id or "",
            "click_timestamp": iso(moment(at)),
            "slug": _slug(visit),
            "link_id": str(UUID(bytes=link.id)),
            "account_id": str(UUID(bytes=link.account_id)),
            "domain_name": link.domain_name or self._own_host,
        }
        if not used.isdisjoint(VISITOR_DIMENSIONS):
            headers = visit.headers
            macros |= self._enrichment.values(
                visit.address, headers.edge_country, headers.user_agent
            )
        return macros


def _limited_answer(
    options: RedirectOptions,
    at: int,
    of_domain: Callable[[], RedirectResponse | None],
    usual: Answer,
    state: int,
) -> Answer:
    return closed(options, at, state == USED_UP, of_domain) or usual


def _check(slug: str) -> None:
    if not SLUG.fullmatch(slug):
        raise NotFound("short link: not found")


def _slug(visit: Visit) -> str:
    """Return slug or path as sent. Raises BadRequest if the query names no slug."""
    if visit.path is not None:
        return name_of(visit.path)
    if visit.slug is not None:
        return visit.slug
    slug = parameter(visit.query, "s")
    if not slug:
        raise Required("s: required: the slug of a short link")
    return slug
