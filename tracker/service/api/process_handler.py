"""The base of handlers that look at the whole process."""

from typing import cast

from tracker.service.services import Services
from tracker.web.handler import Handler


class ProcessHandler(Handler):
    """The base of the handlers of health, readiness and metrics."""

    @property
    def services(self) -> Services:
        return cast(Services, self.process)
