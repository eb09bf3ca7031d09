"""The caches of links, by slug, and of served names, by hostname."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from tracker.limits.allowance import Allowance
from tracker.links.domain import FILES, Domain, IsReserved, ServedName, namespace_of, served_name
from tracker.links.link import CachedLink, Link, cached_link
from tracker.stores.cache.cache import COPY_SECONDS, Cache, Versioned
from tracker.stores.cache.filling import Names
from tracker.stores.cache.lookup import FieldLookup
from tracker.stores.mongodb.documents import as_struct
from tracker.stores.mongodb.reads import MongoReads
from tracker.stores.redis import keys
from tracker.stores.services import StoreServices

LinkCache = Cache[CachedLink]
DomainCache = Cache[ServedName]

_LINK_FIELDS: Final = [name for name in Link.__struct_fields__ if name != "id"]
DOMAIN_FIELDS: Final = [
    name for name in Domain.__struct_fields__ if name not in ("id", "last_check", *FILES)
]
QUARANTINED_COPY_SECONDS: Final = 300.0
"""The life of the copy of a name in quarantine, which ends without a notice. A process may remember
it as long again."""

_NAMES_IN_MEMORY: Final = 10_000

_CLAIMS_PER_NAME: Final = 4
"""Claims that one query reads for each name on average. With more, each name gets queries of its
own, so a name with hundreds of claims costs no more."""


class _LinkLookup:
    def __init__(self, reads: MongoReads) -> None:
        self._reads = reads

    async def find(self, names: Sequence[str]) -> Mapping[str, Any]:
        """Return the links' documents by name, in one query."""
        groups: defaultdict[str, list[str]] = defaultdict(list)
        for name in names:
            namespace, _, form = name.removeprefix("link:").partition("/")
            groups[namespace].append(form)
        branches = [
            {"domain_id": UUID(namespace) if namespace else None, field: {"$in": group}}
            for namespace, group in groups.items()
            # A link of an earlier release has only its slug.
            for field in (("slug", "names") if namespace else ("slug",))
        ]
        rows = await self._reads.find("links", {"$or": branches}, _LINK_FIELDS, limit=len(names))
        return {name: row for row in rows for name in keys_of_link(row)}

    def value_of(self, found: Any) -> CachedLink | None:
        """Return the cached form of a link's document; None if visitors get 404."""
        return cached_link(as_struct(Link, found))


def keys_of_link(link: Mapping[str, Any]) -> list[str]:
    """Return all names in the cache of a link's document."""
    namespace = namespace_of(link["domain_id"])
    forms = dict.fromkeys((link["slug"], *link.get("names", ())))
    return [keys.link(namespace, form) for form in forms]


def names_of_links(cache: LinkCache) -> Names:
    fields = ["domain_id", "slug", "names"]
    return Names(cache, "links", {"archived": False}, fields, keys_of_link)


def link_cache(stores: StoreServices, max_values: int, misses: Allowance) -> LinkCache:
    lookup = _LinkLookup(stores.mongodb.reads)
    return Cache(stores.copies, CachedLink, lookup, max_values, misses)


class LinkName(Versioned, frozen=True, kw_only=True):
    """The name of a link in its cache, which never changes, cached by the link's id."""

    name: str


LinkNameCache = Cache[LinkName]


def link_name_cache(stores: StoreServices, misses: Allowance) -> LinkNameCache:
    def name_of(row: Mapping[str, Any]) -> LinkName:
        return LinkName(version=0, name=keys.link(namespace_of(row["domain_id"]), row["slug"]))

    lookup = FieldLookup(stores.mongodb.reads, "links", "_id", ["domain_id", "slug"], name_of, UUID)
    return Cache(stores.copies, LinkName, lookup, _NAMES_IN_MEMORY, misses)


class _DomainLookup:
    def __init__(self, reads: MongoReads, is_reserved: IsReserved) -> None:
        self._reads = reads
        self._is_reserved = is_reserved

    async def find(self, names: Sequence[str]) -> Mapping[str, Any]:
        """Return the claims to each name; only the decisive ones if there are many."""
        wanted = [name.removeprefix("domain:") for name in names]
        limit = _CLAIMS_PER_NAME * len(wanted) + 1
        rows = await self._rows({"domain_name": {"$in": wanted}}, limit)
        if len(rows) == limit:
            rows = [row for name in wanted for row in await self._decisive(name)]
        claims: defaultdict[str, list[Domain]] = defaultdict(list)
        for row in rows:
            claims[keys.domain(row["domain_name"])].append(as_struct(Domain, row))
        return claims

    async def _decisive(self, name: str) -> list[dict[str, Any]]:
        """Return the proven claim and two others of its account; without a proof, any two."""
        proven = await self._rows({"domain_name": name, "verified": True}, 1)
        others: dict[str, Any] = {"domain_name": name, "verified": False}
        if proven:
            others["account_id"] = proven[0]["account_id"]
        return proven + await self._rows(others, 2)

    async def _rows(self, wanted: Mapping[str, Any], limit: int) -> list[dict[str, Any]]:
        return await self._reads.find("domains", wanted, DOMAIN_FIELDS, limit=limit)

    def value_of(self, found: Any) -> ServedName | None:
        return served_name(found, self._is_reserved)


def domain_cache(
    stores: StoreServices, max_values: int, misses: Allowance, is_reserved: IsReserved
) -> DomainCache:
    lookup = _DomainLookup(stores.mongodb.reads, is_reserved)
    return Cache(stores.copies, ServedName, lookup, max_values, misses, _copy_seconds)


def _copy_seconds(name: ServedName) -> float:
    return QUARANTINED_COPY_SECONDS if name.quarantined else COPY_SECONDS


def names_of_domains(cache: DomainCache) -> Names:
    return Names(
        cache,
        "domains",
        {"quarantined_until": None},
        ["domain_name"],
        lambda row: [keys.domain(row["domain_name"])],
    )
