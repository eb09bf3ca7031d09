"""The paths of proven custom domains, which lead to links as `/c/<slug>` does.

Slugs and the further paths of a link lead to it. Neither `s` nor `d` in the query says which.
"""

from functools import partial
from urllib.parse import unquote, urlsplit

from msgspec.structs import replace

from tracker.clicks.enrich import Enrichment
from tracker.clicks.redirects.deciding import decide
from tracker.clicks.redirects.redirect import Redirect
from tracker.clicks.redirects.redirection import Answer, RedirectResponse
from tracker.clicks.redirects.response import Continuation
from tracker.clicks.sources import referrer_host
from tracker.clicks.visit import Visit, without_stuck_text
from tracker.clock import now_ms
from tracker.errors import ErrorCode, NotFound
from tracker.links.cache import LinkCache
from tracker.links.destination import location_of
from tracker.links.domain import ServedName
from tracker.links.domains import Domains
from tracker.links.hostnames import canonical_hostname
from tracker.links.link import CachedLink
from tracker.links.site.unknown_paths import UnknownPaths
from tracker.stores.batch import Waiter, notify
from tracker.stores.redis import keys
from tracker.syntax.url_path import name_of


class CustomPaths:
    """The endpoint of these paths."""

    def __init__(
        self,
        redirect: Redirect,
        links: LinkCache,
        domains: Domains,
        unknown: UnknownPaths,
        enrichment: Enrichment,
        own_host: str,
    ) -> None:
        self._redirect = redirect
        self._links = links
        self._domains = domains
        self._unknown = unknown
        self._enrichment = enrichment
        self._own_host = own_host

    def host(self, header: str) -> str:
        """Return the hostname in a Host header; empty if it can be no custom domain."""
        if header == self._own_host:
            return ""
        name = canonical_hostname(header.partition(":")[0])
        return name if "." in name and name != self._own_host else ""

    def domain_in_memory(self, header: str) -> ServedName | None:
        """Return the proven custom domain of a Host header, if it is in memory."""
        known = self._domains.peek(header) or self._domains.peek(self.host(header))
        domain = None if known is None else known.value
        return domain if domain is not None and domain.verified else None

    async def answer(self, visit: Visit) -> RedirectResponse:
        """Answer as `Redirect.answer` does. Raises NotFound if the host has no own paths."""
        domain = await self._domains.by_name(self.host(visit.host), visit.address)
        if domain is None or not domain.verified:
            raise NotFound("no such path", code=ErrorCode.UNKNOWN_PATH)
        return await self._redirect.answer(visit, partial(self.begin, domain))

    def begin(
        self, domain: ServedName, visit: Visit, waiter: Waiter[Answer], sent: Visit | None = None
    ) -> None:
        """Answer a GET or HEAD as `Redirect.begin` does. `sent` is the visit with stuck text."""
        name = name_of(visit.path or "")
        if not name:
            self._record(domain, visit, waiter, sent, None)
            return
        key = keys.link(domain.namespace, domain.form_of(name))
        known = self._links.peek(key)
        if known is None:
            record = partial(self._record, domain, visit, waiter, sent)
            self._links.load(key, visit.address, Continuation(waiter, record))
        else:
            self._record(domain, visit, waiter, sent, known.value)

    def _record(
        self,
        domain: ServedName,
        visit: Visit,
        waiter: Waiter[Answer],
        sent: Visit | None,
        link: CachedLink | None,
    ) -> None:
        if link is not None:
            if self._leads_to_a_path(domain, link, visit):
                raise NotFound("short link: leads to a path of its domain")
            self._redirect.record(visit, waiter, domain, link)
        elif sent is None and (of_slug := _without_stuck_text(visit)):
            self.begin(domain, of_slug, waiter, visit)
        else:
            notify(waiter, waiter.set_result, self._without_link(domain, sent or visit))

    def _leads_to_a_path(self, domain: ServedName, link: CachedLink, visit: Visit) -> bool:
        """Return whether the destination is a path of the domain that a link in memory has.

        In a loop of paths it is, after one round.
        """
        url, deciding = link.destination_url, link.options and link.options.deciding
        name = link.domain_name
        is_spelled = "xn--" in name  # a URL may have it in letters
        if deciding and (is_spelled or name in url.lower() or name.encode() in deciding.lower()):
            decision, _ = decide(self._enrichment, visit, link, deciding, now_ms())
            url = decision.destination_url
        if not is_spelled and name not in url.lower():
            return False
        location, host = location_of(url)
        path = name_of(urlsplit(location).path[1:])
        known = self._links.peek(keys.link(domain.namespace, domain.form_of(path)))
        return host == name and known is not None and known.value is not None

    def _without_link(self, domain: ServedName, visit: Visit) -> Answer:
        """Answer the path of a proven custom domain that leads to no link. Raises NotFound."""
        url = domain.root_url
        if sent := visit.path:
            path = name_of(sent) or unquote(sent)
            path = path if domain.case_sensitive else path.casefold()
            referrer = referrer_host(visit.headers.referrer)
            self._unknown.record(domain.namespace, path, referrer, visit.address)
            url = domain.not_found_url
        if (answer := self._redirect.elsewhere(url)) is None:
            raise NotFound("short link: not found")
        return answer


def _without_stuck_text(visit: Visit) -> Visit | None:
    """Return the visit without the text that is stuck to a slug; None if there is none.

    A slash is no such text, because paths may have it.
    """
    path = visit.path or ""
    found = None if "/" in path.partition("&")[0] else without_stuck_text(path, visit.query)
    return None if found is None else replace(visit, path=found[0], query=found[1])
