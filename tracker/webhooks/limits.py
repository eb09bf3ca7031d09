"""The limits of webhooks, each stated once, and the sizes of their caches."""

from typing import Final

MAX_WEBHOOKS_PER_ACCOUNT: Final = 10
"""A conversion is settled with a delivery for each, in one transaction."""

MAX_TEMPLATE_BYTES: Final = 16 * 1024
MAX_TEMPLATE_DEPTH: Final = 20
"""Adaptive Cards, which Teams takes, have ten and more."""

MAX_PAYLOAD_BYTES: Final = 64 * 1024
"""Larger than a template, because a template may repeat a long value."""

MAX_CLICKS, MAX_CLICKS_BYTES = 500, 1024 * 1024
"""Of a request. The first 2 KB of each click fit; the usual one has 700 bytes."""

MAX_CLICKS_TOLD: Final = 2_000
"""Clicks of an account that one transaction tells of, shared by its webhooks. With two and a half
transactions a second, rendering them takes a third of a core."""

MAX_WAITING: Final = 1_000
"""Requests about clicks and links that wait for a webhook: 6 minutes, if there always are some."""

MAX_FILLED_TARGET_CHARACTERS: Final = 8 * 1024
"""Common servers read request lines of this length. The payload of a GET does not count."""

MAX_HEADERS: Final = 20
MAX_HEADERS_CHARACTERS: Final = 8 * 1024
"""Names and values together, before and after macros are filled."""

MAX_IN_FLIGHT: Final = 1024
"""Half of them may wait for slow receivers: 500 a second, if each answers in a second. One takes 25
KB and its payload. They may be a quarter of a process's open files."""

MAX_BYTES_IN_FLIGHT: Final = 24 * 1024 * 1024
"""Requests that are not yet written. A share of their number is a share of these bytes too."""

MAX_PER_HOST: Final = 96
MAX_PER_WEBHOOK: Final = 64
MAX_PER_SLOW_WEBHOOK: Final = 16

SLOW_MS: Final = 1000
"""A receiver that takes longer to answer is slow."""

MAX_DELIVERIES_PER_CLAIM: Final = 100
"""With twice the number, newly due deliveries wait twice as long for the next claim."""

MAX_ROWS_PER_COMMAND: Final = 500
"""Inserts of one command: commands have a time limit."""

MAX_TESTS_PER_ACCOUNT: Final = 4
MAX_TESTS: Final = 32

MAX_SENT_NOW: Final = 10_000
"""Waiting deliveries that one request makes due. The rest keeps its times."""

MAX_CLIENT_REQUESTS: Final = 1200
"""More would wait, and that counts for their ATTEMPT_SECONDS, so senders and tests start fewer."""

ATTEMPT_SECONDS: Final = 15.0
"""From the DNS query to the end of the answer."""

CONNECT_SECONDS: Final = 10.0
"""The part of ATTEMPT_SECONDS for connection and TLS."""

MAX_BODY_BYTES: Final = 1024
"""The part of an answer's body that is read and stored. In chunks of a byte it costs 10 ms."""

MAX_HEAD_BYTES: Final = 8 * 1024
"""The head of an answer. As many fields as fit cost 9 ms of processor time."""

MAX_READS: Final = 64
"""Reads per answer. Each costs 0.1 ms; a server that writes each field by itself takes 30."""

MAX_ERROR_CHARACTERS: Final = 200

MAX_REMEMBERED_WEBHOOKS: Final = 10_000
"""Webhooks whose health a process knows."""

CACHED_TEMPLATES: Final = 100

CACHED_TARGETS: Final = 1000
