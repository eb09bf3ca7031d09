"""The origins of pages that may report clicks: a list of the account's.

An entry is an origin (`https://shop.example`), a host of any scheme and port (`shop.example`), or
all hosts below one (`*.example.com`, without the host itself).
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple
from uuid import UUID

from tracker.errors import BadRequest, Forbidden
from tracker.ids import id_text
from tracker.links.hostnames import canonical_hostname
from tracker.stores.cache.cache import Cache, Versioned
from tracker.stores.cache.lookup import FieldLookup
from tracker.stores.mongodb.database import MongoDB
from tracker.stores.mongodb.documents import updated
from tracker.stores.redis import keys
from tracker.stores.services import StoreServices
from tracker.syntax.url import split_url

FIELD: Final = "origins"
MAX_ORIGINS: Final = 100

_CACHE_ENTRIES: Final = 10_000
_CACHED_ORIGINS: Final = 1000
_MAX_CHARACTERS: Final = 300
_ORIGIN: Final = re.compile(r"https?://([a-z0-9._-]{1,253}|\[[0-9a-f:.]{2,45}\])(?::[0-9]{1,5})?")


class Origin(NamedTuple):
    """Where a page comes from: its host, and all entries that would allow it."""

    host: str
    entries: frozenset[str]


class AllowedOrigins(Versioned, frozen=True, kw_only=True):
    """The cached list of an account."""

    origins: frozenset[str]


OriginsCache = Cache[AllowedOrigins]


def origins_cache(stores: StoreServices) -> OriginsCache:
    """Build the cache of lists. Its keys are `keys.origins(account_id)`."""
    fields = ["version", FIELD]
    lookup = FieldLookup(stores.mongodb.reads, "accounts", "_id", fields, _allowed, UUID)
    return Cache(stores.copies, AllowedOrigins, lookup, _CACHE_ENTRIES)


class Origins:
    """The lists of all accounts. Every process sees a change within a second."""

    def __init__(self, mongodb: MongoDB, cache: OriginsCache) -> None:
        self._accounts = mongodb["accounts"]
        self._cache = cache

    async def allow(self, account_id: bytes, origin: Origin) -> bool:
        """Return whether the account's list has the origin. Raises Unavailable."""
        found = await self._cache.get(keys.origins(id_text(account_id)))
        return found is not None and not found.origins.isdisjoint(origin.entries)

    async def change(self, account_id: UUID, origins: Sequence[str]) -> None:
        """Set a checked list. Raises NotFound, or Unavailable while Redis would serve the old."""
        name = keys.origins(str(account_id))
        await self._cache.begin_update(name)
        update = {"$set": {FIELD: list(origins)}, "$inc": {"version": 1}}
        allowed = _allowed(await updated(self._accounts, {"_id": account_id}, update, "account"))
        await self._cache.changed(name, allowed, allowed.version)


def checked_origins(sent: Sequence[str]) -> list[str]:
    """Return entries in the form that is compared. Raises BadRequest, naming the entry."""
    return list(dict.fromkeys(_checked(f"{FIELD}[{at}]", text) for at, text in enumerate(sent)))


def _checked(field: str, text: str) -> str:
    text = text.strip()
    if "://" in text and len(text) <= _MAX_CHARACTERS:
        parts = split_url(field, text)
        host, port = parts.address
        default = 443 if parts.scheme.lower() == "https" else 80
        shown = f"[{host}]" if ":" in host else host
        origin = f"{parts.scheme.lower()}://{shown}{'' if port == default else f':{port}'}"
        if parts.path in ("", "/") and not parts.query and not parts.fragment:
            return origin
    else:
        is_below = text.startswith("*.")
        name = canonical_hostname(text.removeprefix("*."))
        if name and ("." in name or not is_below):
            return f"*.{name}" if is_below else name
    raise BadRequest(f"{field}: must be like https://shop.example, shop.example or *.example.com")


@lru_cache(_CACHED_ORIGINS)
def origin_of(header: str) -> Origin:
    """Return the origin in a header. Raises Forbidden if it names no page of the web."""
    found = _ORIGIN.fullmatch(header)
    if found is None:
        raise Forbidden("Origin: required, as browsers send it for a page of the web")
    labels = found[1].split(".")
    below = (f"*.{'.'.join(labels[at:])}" for at in range(1, len(labels)))
    return Origin(found[1], frozenset((header, found[1], *below)))


def _allowed(row: Mapping[str, Any]) -> AllowedOrigins:
    return AllowedOrigins(version=row.get("version", 0), origins=frozenset(row.get(FIELD, ())))
