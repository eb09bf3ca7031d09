"""Changes of links in one process, and the time until another process redirects by them."""

import time
from array import array
from typing import Final

from lab.client import Outcome, outcome
from lab.harness import CannotMeasure, wait_until
from lab.requests import ask, call, head
from lab.scene import Scene, destination_of

_SEEN_SECONDS: Final = 20.0
_LOOK_SECONDS: Final = 0.001


async def measure_changes(port: int, other_port: int, scene: Scene, seconds: float) -> Outcome:
    """Change links on `port`; return how soon after the answer each is seen on `other_port`."""
    path = f"/api/short-links?accountId={scene.account_id}"
    _, listed = await call(port, scene.key, "GET", path)
    links = [(row["id"], row["slug"]) for row in listed["rows"]]
    latencies = array("d")
    began = time.perf_counter()
    while (passed := time.perf_counter() - began) < seconds or not latencies:
        link_id, slug = links[len(latencies) % len(links)]
        wanted = f"{destination_of(slug)}&change={len(latencies)}"
        # The other process remembers the link as it was.
        await _redirects(other_port, slug, "")
        change = {"accountId": str(scene.account_id), "destination_url": wanted}
        status, _ = await call(port, scene.key, "PATCH", f"/api/short-links/{link_id}", change)
        changed = time.perf_counter()
        if status != "200":
            raise CannotMeasure(f"the change of {slug} was answered with {status}")

        async def is_seen(slug: str = slug, wanted: str = wanted) -> bool:
            return await _redirects(other_port, slug, wanted)

        if not await wait_until(is_seen, _SEEN_SECONDS, _LOOK_SECONDS):
            raise CannotMeasure(f"the change of {slug} is not seen after {_SEEN_SECONDS:.0f} s")
        latencies.append(time.perf_counter() - changed)
    return outcome(latencies, passed, {})


async def _redirects(port: int, slug: str, destination: str) -> bool:
    answer = await ask(port, head("GET", f"/c/{slug}", {}))
    return f"\r\nlocation: {destination}".encode() in answer.replace(b"Location", b"location")
