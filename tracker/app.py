"""The Tornado application."""

from tornado.web import Application

from tracker.api.handler import UnknownPath, log_request
from tracker.api.routes import description, routes
from tracker.services import Services


def make_app(services: Services) -> Application:
    given = {"services": services}
    return Application(
        routes(given),
        default_handler_class=UnknownPath,
        default_handler_args=given,
        log_function=log_request,
        description=description,
        services=services,
    )
