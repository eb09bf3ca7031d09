"""The cut-over check: whether each printed path answers here as it does at its source.

A path is asked of what answers visitors, as HEAD, so nothing is recorded. The answer of the source
follows from its own data, which the rows of the import have. Redirects are equal if their
destinations are, whatever their status. Of a link with rules, each destination is right: visitors
differ.
"""

import asyncio
from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, Final, NamedTuple
from urllib.parse import quote

import msgspec

from tracker.clicks.redirects.custom_paths import CustomPaths
from tracker.clicks.visit import ClientHeaders, Visit
from tracker.clock import now
from tracker.errors import BadRequest, TrackerError, Unavailable
from tracker.imports.item import SourceLink
from tracker.imports.rows import ImportRow, ImportRows
from tracker.imports.store import CutOver, Import, Imports
from tracker.links.destination import Destination
from tracker.links.services import LinkServices
from tracker.public_url import is_everywhere

_HEADERS: Final = ClientHeaders.from_headers("", "", "", "")
_NO_MACROS: Final = ("(?!)",)


class Answer(NamedTuple):
    """The answer to a path: 302 for any redirect. `reason` is of an error of ours."""

    status: int
    location: str = ""
    reason: str = ""


class CutOverCheck:
    """The checks of one process. A chunk may be repeated: it says the same of its rows."""

    def __init__(
        self, imports: Imports, rows: ImportRows, links: LinkServices, paths: CustomPaths
    ) -> None:
        self._imports = imports
        self._rows = rows
        self._links = links
        self._paths = paths

    async def run(self, held: Import, stop: asyncio.Event) -> dict[str, Any] | None:
        """Ask all paths; return the fields of the end, None if stopped before."""
        state = held.cut_over or CutOver(at=now())
        while rows := await self._rows.of_links(held.id, state.position):
            if stop.is_set():
                return None
            state = await self._chunk(held, state, rows)
            fields = {"cut_over": msgspec.structs.asdict(state), "attempts": 0}
            await self._imports.advance(held, fields)
        return {"state": "done", "cut_over.is_complete": True}

    async def _chunk(self, held: Import, state: CutOver, rows: Sequence[ImportRow]) -> CutOver:
        links = await self._links.links.find_all([one.link_id for one in rows if one.link_id])
        paths, answers, domains = 0, dict[int, dict[str, Any]](), {*state.domains}
        for row in rows:
            source = msgspec.msgpack.decode(row.source, type=SourceLink)
            link = links.get(row.link_id) if row.link_id else None
            domains |= {link.domain_id} if link and link.domain_id else set()
            host = link.domain_name if link and link.domain_name else self._links.public_url.host
            paths += 1 + len(source.aliases)
            answers[row.number] = await self._compared(host, source)
        await self._rows.set_answers(held.id, answers)
        return msgspec.structs.replace(
            state,
            position=rows[-1].number,
            paths=state.paths + paths,
            differ=state.differ + sum(one["differ"] for one in answers.values()),
            domains=[*domains],
        )

    async def _compared(self, host: str, link: SourceLink) -> dict[str, Any]:
        """Return how many paths of a link differ, and how the first of them does."""
        expected, told = answer_of_source(link, now()), list[str]()
        same = {expected[:2]}
        if expected.location == _normal(link.destination_url):
            variants = link.split.variants if link.split else ()
            same |= {(302, _normal(str(one.destination_url))) for one in (*link.rules, *variants)}
        for path in (link.path, *link.aliases):
            answered = await self._ask(host, path)
            if answered[:2] not in same:
                there, here = (one.location or one.status for one in (expected, answered))
                why = answered.reason and f" ({answered.reason})"
                told.append(f"{host}/{path}: {there} there, {here} here{why}")
        return {"differ": len(told), "difference": told[0] if told else ""}

    async def _ask(self, host: str, path: str) -> Answer:
        sent = quote(path)
        if is_everywhere(f"/{sent}"):
            return Answer(404, reason="is a path of the service itself")
        visit = Visit("HEAD", host, None, query="", address="", headers=_HEADERS, path=sent)
        try:
            response = await self._paths.answer(visit)
        except Unavailable:
            raise
        except TrackerError as error:
            return Answer(error.status, reason=error.message)
        location = dict(response.headers).get("Location", "")
        return Answer(302, _normal(location)) if location else Answer(response.status)


def answer_of_source(link: SourceLink, at: datetime) -> Answer:
    """Return the answer of a source by its own data. Archived links go on working there."""
    if not link.active:
        return Answer(404)
    if (
        (link.max_clicks is not None and (link.clicks or 0) >= link.max_clicks)
        or (link.starts_at is not None and at < link.starts_at)
        or (link.expires_at is not None and at >= link.expires_at)
    ):
        return Answer(404) if link.expired_url is None else Answer(302, _normal(link.expired_url))
    if link.password is not None:
        return Answer(401)
    return Answer(302, _normal(link.destination_url))


@lru_cache(maxsize=1000)
def _normal(url: str) -> str:
    """Return a URL as redirects write it, without its click id."""
    try:
        return Destination(url, _NO_MACROS).location("", None, {})
    except BadRequest:  # such a link was refused
        return url
