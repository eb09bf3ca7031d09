"""Changes of links and their rules during a run: who opens a link afterwards sees the new one.

Links are opened by HEAD, which records no click.
"""

import asyncio
import itertools
import re
from random import Random
from typing import Any, Final

from lab.requests import ask, call, call_until_answered, head
from lab.scene import Place, Scene

_CHANGE_SECONDS: Final = 0.2
_LOOK_SECONDS: Final = 0.02
_CHANGE: Final = re.compile(rb"[?&]change=(\d+)")

_Link = tuple[str, Place]
"""The id of a link, and where visitors open it."""


class LinkChanges:
    """Changes of links, and looks at where they lead; `old` counts redirects to what was before."""

    def __init__(self, scene: Scene, port: int, seed: int) -> None:
        self.changed = self.looks = self.old = 0
        self._scene = scene
        self._port = port
        self._random = Random(seed)  # noqa: S311
        self._answered: dict[str, int] = {}
        # Nobody looks during a change: the destination may be either one then.
        self._free = asyncio.Lock()

    async def run(self, stop: asyncio.Event) -> None:
        path = f"/api/short-links?accountId={self._scene.account_id}"
        rows = (await self._call("GET", path))["rows"]
        places = {one.slug: one for one in self._scene.places}
        links = [(row["id"], places[row["slug"]]) for row in rows]
        await asyncio.gather(self._keep_changing(links, stop), self._keep_looking(links, stop))

    async def _keep_changing(self, links: list[_Link], stop: asyncio.Event) -> None:
        for number in itertools.count(1):
            if stop.is_set():
                return
            link_id, _ = self._random.choice(links)
            body = {"accountId": str(self._scene.account_id), **_change(number)}
            path = f"/api/short-links/{link_id}"
            async with self._free:
                status, _ = await call(self._port, self._scene.key, "PATCH", path, body)
            if status == "200":
                self.changed += 1
                self._answered[link_id] = number
            await asyncio.sleep(_CHANGE_SECONDS)

    async def _keep_looking(self, links: list[_Link], stop: asyncio.Event) -> None:
        while not stop.is_set():
            async with self._free:
                await self._look(*self._random.choice(links))
            await asyncio.sleep(_LOOK_SECONDS)

    async def _look(self, link_id: str, place: Place) -> None:
        shown = await self._shown(place)
        if shown is None:
            return
        self.looks += 1
        if shown < self._answered.get(link_id, 0) and not await self._is_stored(link_id, shown):
            self.old += 1

    async def _shown(self, place: Place) -> int | None:
        """Return the change to whose destination the link leads; None without a redirect."""
        fields = {
            "Host": place.host or "127.0.0.1",
            "X-Forwarded-For": f"81.3.{self._random.randrange(250)}.7",
        }
        answer = await ask(self._port, head("HEAD", f"/c/{place.slug}", fields))
        if not answer.startswith(b"HTTP/1.1 302"):
            return None
        found = _CHANGE.search(answer)
        return int(found[1]) if found else 0

    async def _is_stored(self, link_id: str, shown: int) -> bool:
        """Return whether MongoDB has this destination.

        An earlier change that was never answered may have come last.
        """
        account = f"accountId={self._scene.account_id}"
        row = await self._call("GET", f"/api/short-links/{link_id}?{account}")
        found = _CHANGE.search(str(row.get("rules") or row["destination_url"]).encode())
        return shown == (int(found[1]) if found else 0)

    async def _call(self, method: str, path: str) -> Any:
        return (await call_until_answered(self._port, self._scene.key, method, path))[1]


def _change(number: int) -> dict[str, Any]:
    """Return the fields of a change: a destination without rules, a rule, or a rule's split."""
    url = f"https://shop.test/landing?c={{country}}&change={number}"
    rule = {"name": "All", "conditions": [{"ip": ["0.0.0.0/0", "::/0"]}]}
    if number % 3 == 0:
        return {"destination_url": url, "rules": []}
    if number % 3 == 1:
        return {"rules": [{**rule, "destination_url": url}]}
    variants = [{"name": name, "destination_url": url, "weight": 1} for name in ("A", "B")]
    return {"rules": [{**rule, "split": {"variants": variants}}]}
