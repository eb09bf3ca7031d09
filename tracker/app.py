"""The Tornado application."""

from tornado.web import Application

from tracker.api.handler import UnknownPath, log_request
from tracker.api.routes import ROUTES
from tracker.services import Services


def make_app(services: Services) -> Application:
    given = {"services": services}
    return Application(
        [(path, handler, given) for path, handler in ROUTES],
        default_handler_class=UnknownPath,
        default_handler_args=given,
        log_function=log_request,
    )
