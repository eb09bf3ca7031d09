"""The limits of webhooks, each stated once, and the sizes of their caches in memory."""

from typing import Final

MAX_WEBHOOKS_PER_ACCOUNT: Final = 10
"""Each has a delivery stored with every event, in one transaction."""

MAX_TEMPLATE_BYTES: Final = 16 * 1024
MAX_TEMPLATE_DEPTH: Final = 8
MAX_PAYLOAD_BYTES: Final = 64 * 1024
"""Larger than the limit of a template, because a template may repeat a long value."""

MAX_FILLED_TARGET_CHARACTERS: Final = 8 * 1024
"""The URL of a request without the payload of a GET: what common servers read of a head's line."""

MAX_HEADERS: Final = 20
MAX_HEADERS_CHARACTERS: Final = 8 * 1024
"""Names and values of a webhook's own headers together, before and after macros are filled."""

MAX_IN_FLIGHT: Final = 256
"""Requests in total; far fewer than the client can have in flight."""

MAX_PER_HOST: Final = 96
MAX_PER_WEBHOOK: Final = 64
MAX_PER_SLOW_WEBHOOK: Final = 16

SLOW_MS: Final = 1000
"""A receiver that takes longer to answer is slow."""

MAX_WEBHOOKS_PER_CLAIM: Final = 50

MAX_ROWS_PER_COMMAND: Final = 500
"""Deliveries that one command inserts: commands have a time limit."""

MAX_TESTS_PER_ACCOUNT: Final = 4
MAX_TESTS: Final = 32
"""Samples that a process sends at once, for one account and in total."""

MAX_CLIENT_REQUESTS: Final = 1000
"""Requests that the client has in flight. Further ones would wait within their ATTEMPT_SECONDS, so
senders start fewer."""

ATTEMPT_SECONDS: Final = 15.0
"""The longest that an attempt takes, from the query to DNS to the end of the answer."""

CONNECT_SECONDS: Final = 10.0
"""The part of ATTEMPT_SECONDS within which the connection, with TLS, must be established."""

MAX_BODY_BYTES: Final = 1024
"""Bytes of an answer's body that are read and kept."""

MAX_HEAD_BYTES: Final = 8 * 1024
"""Bytes of an answer's head. As many fields as fit cost 9 ms of processor time."""

MAX_READS: Final = 64
"""Reads from the socket that return data, for head and body together. Each costs some 0.1 ms; a
server that writes every field of its head by itself takes 30."""

MAX_CHUNKS: Final = 64
"""Chunks of a body, many of which one read may bring. Each costs 0.03 ms."""

MAX_ERROR_CHARACTERS: Final = 200
"""The part of an error of the HTTP client that is kept."""

MAX_REMEMBERED_WEBHOOKS: Final = 10_000
"""Webhooks whose health a process knows."""

CACHED_TEMPLATES: Final = 100
"""Parsed templates in memory."""

CACHED_TARGETS: Final = 1000
"""Parsed targets in memory."""

CACHED_AMOUNTS: Final = 10_000
"""Converted amounts of money in memory."""
