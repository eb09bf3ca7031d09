"""A bare process that redirects and records nothing: `bare.py tornado|front PORT`."""

import asyncio
import gc
import sys
from typing import Final

import uvloop
from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets
from tornado.web import Application, RequestHandler

from tracker.http.server import Server

DESTINATION: Final = "https://shop.test/landing/load?campaign=spring&utm_source=shop"


class Redirect(RequestHandler):
    """The handler of every slug."""

    def get(self, slug: str) -> None:
        self.redirect(DESTINATION)


async def _serve(kind: str, port: int) -> None:
    application = Application([(r"/c/(.*)", Redirect)], log_function=lambda handler: None)
    sockets = bind_sockets(port, "127.0.0.1")
    if kind == "front":
        server = Server(application, lambda status, reason: ("text/plain", reason.encode()))
        await server.listen(sockets)
    else:
        HTTPServer(application).add_sockets(sockets)
    # The service does the same.
    gc.collect()
    gc.freeze()
    await asyncio.Event().wait()


if __name__ == "__main__":
    uvloop.run(_serve(sys.argv[1], int(sys.argv[2])))
