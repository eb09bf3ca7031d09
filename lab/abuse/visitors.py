"""Visitors beside an attack: clicks and conversions, also of links that no memory has."""

from itertools import cycle
from typing import Final

from lab.load import requests
from lab.load.mixed import Mixed
from lab.load.scene import Scene

HOT: Final = 1_000
COLD: Final = 5_000
"""Links that are opened so seldom that each is gone from the service's memory when it comes up."""

_EVERY: Final = 50
"""One request in so many opens a cold link."""

SOURCES: Final = tuple(f"127.0.1.{number}" for number in range(1, 65))
"""Visitors have addresses of their own."""


class Visitors(Mixed):
    """Traffic for `lab.load.client`, whose answered ids are kept."""

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene._replace(slugs=scene.slugs[:HOT]))
        cold = scene._replace(slugs=scene.slugs[HOT:])
        self._cold = cycle(requests.clicks(cold, COLD))
        self._sent = 0

    def next(self) -> bytes:
        self._sent += 1
        return super().next() if self._sent % _EVERY else next(self._cold)
