"""The route table: every path and what answers it."""

from tornado.web import RequestHandler

from tracker.api.click import ClickQuery, ClickSlug
from tracker.api.event import EventHandler
from tracker.api.health import Healthz, Readyz
from tracker.api.short_links import ShortLinks

ROUTES: tuple[tuple[str, type[RequestHandler]], ...] = (
    (r"/c/.*", ClickSlug),
    (r"/api/click", ClickQuery),
    (r"/api/event", EventHandler),
    (r"/api/short-links", ShortLinks),
    (r"/healthz", Healthz),
    (r"/readyz", Readyz),
)
