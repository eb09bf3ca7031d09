"""TLS in front of a real server without TLS, such as the Redis of the suite."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.stores.relay import relay
from tests.system.certificates import Certificate


@asynccontextmanager
async def tls_front(
    target: str, files: Certificate, clients_of: str | None = None
) -> AsyncIterator[int]:
    """Yield a port that speaks TLS and passes requests on to the store at `target`.

    `clients_of` is the file of the authority whose certificates clients must have, if any.
    """
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(files.cert, files.key)
    if clients_of is not None:
        context.load_verify_locations(clients_of)
        context.verify_mode = ssl.CERT_REQUIRED
    async with relay(target) as way:
        server = await asyncio.start_server(way.accept, "127.0.0.1", 0, ssl=context)
        try:
            yield server.sockets[0].getsockname()[1]
        finally:
            server.close()
