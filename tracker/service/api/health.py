"""`/healthz`, `/livez` and `/readyz`: liveness and readiness of the process."""

from typing import cast

from tracker import __version__
from tracker.errors import Unavailable
from tracker.service.api.readiness import degraded_parts, why_unready
from tracker.service.services import Services
from tracker.web.handler import Handler
from tracker.web.openapi_parts import TEXT, public_error
from tracker.web.operator_routes import operator_routes, single_field_response


class Healthz(Handler):
    """The handler of `/healthz` and `/livez`: restart a process that does not answer."""

    def get(self) -> None:
        self.answer({"status": "ok", "version": __version__})

    head = get


class Readyz(Handler):
    """The handler of `/readyz`. It names degraded parts, and the bytes that wait in the spool."""

    async def get(self) -> None:
        """Raises Unavailable if requests should go to another process."""
        services = cast(Services, self.process)
        degraded = await degraded_parts(services)
        waiting = services.journal.journal.spool.bytes_waiting
        if services.serves and (why := why_unready(degraded)):
            reasons = [f"{part}: {reason}" for part, reason in degraded.items()]
            reasons += [f"{waiting} bytes wait in the spool"] if waiting else []
            raise Unavailable(f"{why}; {'; '.join(reasons)}")
        answer: dict[str, object] = {"status": "degraded" if degraded else "ready"}
        if degraded:
            answer["degraded"] = degraded
        if waiting:
            answer["spool_bytes"] = waiting
        self.answer(answer)

    head = get


_ALIVE = {200: single_field_response("status", {"const": "ok"})}

ENDPOINTS = (
    *operator_routes("/healthz", Healthz, "checkHealth", "Is the process alive", _ALIVE),
    *operator_routes("/livez", Healthz, "checkLiveness", "The same as /healthz", _ALIVE),
    *operator_routes(
        "/readyz",
        Readyz,
        "checkReadiness",
        "Is any part degraded, and are visitors and postbacks still served",
        {
            200: single_field_response(
                "status",
                {"enum": ["ready", "degraded"]},
                degraded={
                    "type": "object",
                    "description": "reasons by degraded part: redis, mongodb, spool, indexes, "
                    "event_ids, loops",
                    "additionalProperties": TEXT,
                },
                spool_bytes={
                    "type": "integer",
                    "description": "bytes that wait on disk for Redis, if there are any",
                },
            ),
            503: public_error(
                503,
                "Requests should go to another process. The message says what cannot be served, "
                "names every degraded part, and how many bytes wait on disk for Redis.",
                "visitors and postbacks cannot be served; redis: no answer; spool: no space left",
            ),
        },
    ),
)
