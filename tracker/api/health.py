"""Whether the process is alive, and whether it serves."""

from tracker import __version__
from tracker.api.handler import Handler
from tracker.api.readiness import degraded_parts, unserved
from tracker.errors import Unavailable


class Healthz(Handler):
    """The process answers: restart it if it does not."""

    methods = ("GET", "HEAD")

    def get(self) -> None:
        self.answer({"status": "ok", "version": __version__})

    head = get


class Readyz(Handler):
    """Names every part that is degraded; 503 only while visitors or postbacks cannot be served.

    Either tells what waits in the spool: journal records that were taken while Redis was
    unavailable, or full.
    """

    methods = ("GET", "HEAD")

    async def get(self) -> None:
        degraded = await degraded_parts(self.services)
        waiting = self.services.journal.bytes_waiting
        if self.services.serves and (lost := unserved(degraded)):
            reasons = [f"{part}: {reason}" for part, reason in degraded.items()]
            reasons += [f"{waiting} bytes wait in the spool"] if waiting else []
            raise Unavailable(f"{' and '.join(lost)} cannot be served; {'; '.join(reasons)}")
        answer: dict[str, object] = {"status": "degraded" if degraded else "ready"}
        if degraded:
            answer["degraded"] = degraded
        if waiting:
            answer["spool_bytes"] = waiting
        self.answer(answer)

    head = get
