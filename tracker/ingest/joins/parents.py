"""The parents of clicks: a visitor brings the id of the click that led to this one.

A parent may be stored later, by another drain. Both sides store first and look afterwards, so the
later one finds the other. Conversions copy the link of the parent from their click, so whoever
stores one looks at its click again afterwards.
"""

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from typing import Final

from tracker.clicks.document import PARENT_LINK, ClickDocument
from tracker.clicks.store import Clicks
from tracker.conversions.document import changed
from tracker.conversions.store import Conversions
from tracker.ingest.planning.write_set import Move, WriteConflict, WriteSet
from tracker.stores.mongodb.documents import shared_id

ClicksById = Mapping[bytes, ClickDocument]
Write = Callable[[WriteSet], Awaitable[None]]

_MAX_PLANS: Final = 5
"""Attempts at one write. Each write conflict with another drain takes one."""

_OF_PARENT: Final = ("account_id", "link_id", "at")
_OF_CHILD: Final = (*_OF_PARENT, "domain_name", "test", "parent_id", PARENT_LINK)


class Parents:
    """The parents of the clicks that one drain stores."""

    def __init__(self, clicks: Clicks, conversions: Conversions, write: Write) -> None:
        self._clicks = clicks
        self._conversions = conversions
        self._write = write

    async def look_up(self, clicks: ClicksById) -> set[bytes]:
        """Give new clicks the links of their parents, where known. Return those that name one."""
        children = [one for one in clicks.values() if "parent_id" in one]
        links = await self._links(children, clicks)
        for one in children:
            if one["_id"] in links:
                one["parent_link_id"] = links[one["_id"]]
        return {one["_id"] for one in children}

    async def join(
        self,
        named: Collection[bytes],
        children: Collection[bytes],
        new: Iterable[ClickDocument],
    ) -> None:
        """Find the parents of stored `children`, and the children of the stored clicks `named`.

        Those of the `new` ones that were stored with the links of their parents lack nothing.
        """
        if not children and not named:
            return
        complete = {one["_id"] for one in new if PARENT_LINK in one}
        await self._join({*children} - complete)
        last = bytes(16)
        while found := await self._clicks.children(named, after=last):
            await self._join(set(found) - complete)
            last = found[-1]

    async def _join(self, ids: Collection[bytes]) -> None:
        """Repeatable: a drain may have died between the clicks and their conversions."""
        for _ in range(_MAX_PLANS if ids else 0):
            clicks = await self._clicks.find(ids, _OF_CHILD)
            waiting = [one for one in clicks.values() if PARENT_LINK not in one]
            links = await self._links(waiting)
            found = [one for one in waiting if one["_id"] in links]
            for one in found:
                one["parent_link_id"] = links[one["_id"]]
            try:
                await self._write(WriteSet([], [], [], children=found))
            except WriteConflict:
                continue
            await self._join_conversions({k: v for k, v in clicks.items() if PARENT_LINK in v})
            return
        if ids:
            raise WriteConflict

    async def _join_conversions(self, clicks: ClicksById) -> None:
        last = conflicts = 0
        while clicks and (found := await self._conversions.without_parent(clicks, after=last)):
            moves = []
            for one in found:
                link = clicks[one["click_id"] or b""]["parent_link_id"]
                moves.append(Move(one, changed(one, {"parent_link_id": link})))
            try:
                await self._write(WriteSet([], [], moves))
            except WriteConflict:
                conflicts += 1
                if conflicts == _MAX_PLANS:
                    raise
            else:
                last = found[-1]["_id"]

    async def _links(
        self, children: Sequence[ClickDocument], known: ClicksById | None = None
    ) -> dict[bytes, bytes]:
        """Return the link of each child's parent. Of equal ids, the `known` click is the parent."""
        if not children:
            return {}
        wanted = {one["parent_id"] for one in children}
        parents = dict(await self._clicks.find(wanted - (known or {}).keys(), _OF_PARENT))
        parents |= {one: known[one] for one in wanted if known and one in known}
        return {
            one["_id"]: shared_id(parent["link_id"])
            for one in children
            if (parent := parents.get(one["parent_id"])) and _is_parent(parent, one)
        }


def _is_parent(parent: ClickDocument, child: ClickDocument) -> bool:
    """Return whether a click may be the parent: it is of the same account and older."""
    is_older = (parent["at"], parent["_id"]) < (child["at"], child["_id"])
    return is_older and parent["account_id"] == child["account_id"]
