"""The handler of a request that is found by asking a store, before its body is received."""

from collections.abc import Awaitable, Callable

from tornado.httputil import HTTPHeaders, HTTPMessageDelegate, RequestStartLine, ResponseStartLine


class LateDelegate(HTTPMessageDelegate):
    """A delegate that does as the one that `find` returns."""

    def __init__(self, find: Callable[[], Awaitable[HTTPMessageDelegate]]) -> None:
        self._find = find
        self._found = HTTPMessageDelegate()

    async def headers_received(
        self, start_line: RequestStartLine | ResponseStartLine, headers: HTTPHeaders
    ) -> None:
        self._found = await self._find()
        if (waiting := self._found.headers_received(start_line, headers)) is not None:
            await waiting

    def data_received(self, chunk: bytes) -> Awaitable[None] | None:
        return self._found.data_received(chunk)

    def finish(self) -> None:
        self._found.finish()

    def on_connection_close(self) -> None:
        self._found.on_connection_close()
