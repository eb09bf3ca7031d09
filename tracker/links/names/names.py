"""The names of links on custom domains: slug and paths, as visits are compared with them.

Where case does not count, a link has the folded form of each too (`syntax/url_path`). A unique
index on (domain id, names) decides races. Links of earlier releases lack names until they change.
"""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, Protocol
from uuid import UUID

from pymongo.errors import OperationFailure

from tracker.errors import BadRequest, ErrorCode
from tracker.stores.mongodb.documents import DUPLICATE_KEY
from tracker.stores.mongodb.drivers import Database
from tracker.stores.mongodb.transaction import MongoSession
from tracker.syntax.url_path import folded, name_of

EXTERNAL_ID: Final = "external_id"


class Named(Protocol):
    """The part of a link that gives it names."""

    @property
    def domain_id(self) -> UUID | None: ...
    @property
    def slug(self) -> str: ...
    @property
    def paths(self) -> list[str]: ...


class NameTaken(Exception):
    """The error of a link, by its index, whose slug, path or external id another link has."""

    def __init__(self, index: int, field: str) -> None:
        self.index = index
        self.field = field

    def explained(self, at: str = "") -> BadRequest:
        within = "in this account" if self.field == EXTERNAL_ID else "on this domain"
        message = f"{at.format(self.index)}{self.field}: already taken {within}"
        return BadRequest(message, code=ErrorCode.ALREADY_TAKEN)


def names_of(slug: str, paths: Sequence[str], folds: bool) -> list[str]:
    names = dict.fromkeys((slug, *(name_of(path, "utf-8") for path in paths)))
    return [*names, *dict.fromkeys(map(folded, names))] if folds else [*names]


async def find_names(
    database: Database, links: Sequence[Named], session: MongoSession
) -> list[list[str]]:
    """Return the names of each link; none on the default domain. Raises NameTaken."""
    domain_ids = {link.domain_id for link in links if link.domain_id}
    folds = await _folding(database, domain_ids, session) if domain_ids else set()
    names = [
        names_of(link.slug, link.paths, link.domain_id in folds) if link.domain_id else []
        for link in links
    ]
    for domain_id in domain_ids:
        paths = {
            name: index
            for index, link in enumerate(links)
            if link.paths and link.domain_id == domain_id
            for name in names[index]
            if name != link.slug
        }
        slugs = {"domain_id": domain_id, "slug": {"$in": list(paths)}}
        if paths and (row := await database["links"].find_one(slugs, ["slug"], session=session)):
            raise NameTaken(paths[row["slug"]], "paths")
    return names


async def is_taken(database: Database, domain_id: UUID | None, slug: str) -> bool:
    """Return whether a slug is that of a link on the domain, or a path, even of an archived one."""
    taken: dict[str, Any] = {"domain_id": domain_id, "slug": slug}
    if domain_id:
        folds = bool(await _folding(database, [domain_id]))
        of_names = {"domain_id": domain_id, "names": {"$in": names_of(slug, (), folds)}}
        taken = {"$or": [taken, of_names]}
    return await database["links"].find_one(taken, ["_id"]) is not None


async def _folding(
    database: Database, domain_ids: Collection[UUID], session: MongoSession | None = None
) -> set[UUID]:
    wanted = {"_id": {"$in": list(domain_ids)}, "folds": True}
    rows = database["domains"].find(wanted, ["_id"], session=session)
    return {row["_id"] async for row in rows}


@contextmanager
def names_told(links: Sequence[Named]) -> Iterator[None]:
    """Raises NameTaken if MongoDB refuses a name or id of one of the links that are written."""
    try:
        yield
    except OperationFailure as error:
        if error.code != DUPLICATE_KEY or error.details is None:
            raise
        index, taken = int(error.details["index"]), error.details["keyValue"]
        if EXTERNAL_ID in taken:
            raise NameTaken(index, EXTERNAL_ID) from None
        slug = links[index].slug
        is_slug = taken.get("names", slug) in (slug, folded(slug))
        raise NameTaken(index, "slug" if is_slug else "paths") from None
