"""The limits of a connection: sizes, counts and seconds. Read by every module of this room."""

import msgspec


class Limits(msgspec.Struct, frozen=True):
    """The limits of a server, in bytes and seconds. A limit itself is still allowed."""

    connections: int = 100_000
    """Open at once; beyond it a new one is closed before anything is read."""

    target_bytes: int = 8 * 1024
    """Bytes of the request target; beyond it 414."""

    head_bytes: int = 32 * 1024
    """Bytes of the request line and all fields; beyond it 431."""

    fields: int = 100
    """Header fields of a request; beyond it 431."""

    body_bytes: int = 8 * 1024 * 1024
    """Bytes of a body, unless the handler sets a limit of its own; beyond it 413."""

    waiting_bytes: int = 64 * 1024
    """Received while an answer is awaited; beyond it reading pauses. Not below `head_bytes`."""

    unsent_bytes: int = 64 * 1024
    """Written and not yet taken by the client; beyond it the futures of writes wait."""

    head_seconds: float = 10.0
    """From the first byte of a request to the last of its head; also to the very first byte."""

    body_seconds: float = 30.0
    """For a whole body, unless the handler sets a time of its own."""

    fast_path_seconds: float = 60.0
    """For an answer of the fast path, which takes milliseconds: one that never comes is a fault,
    and no client should wait for it for ever."""

    idle_seconds: float = 75.0
    """Between an answer and the next request."""

    stalled_seconds: float = 60.0
    """A client that takes nothing of its answer for so long is cut. The kernel tells only of every
    megabyte or so, so a slow client needs this long for that."""

    linger_seconds: float = 3.0
    """How long what a client still sends is read and dropped, so that it can read its answer."""

    linger_bytes: int = 1024 * 1024
    """How much of that: the longest body that any endpoint takes. The rest waits with the client
    until the connection is cut; sixty that sent 8 MiB each stopped visitors for 0.2 s."""

    @property
    def sweep_seconds(self) -> float:
        """How often a server looks for connections whose time is up; they end up to twice this
        late, never early."""
        shortest = min(
            self.head_seconds,
            self.body_seconds,
            self.idle_seconds,
            self.stalled_seconds,
            self.linger_seconds,
        )
        return min(1.0, shortest / 4)
