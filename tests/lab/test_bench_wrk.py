"""The output of wrk is parsed, and wrk itself is run where it is installed."""

import asyncio
from pathlib import Path

import pytest

from lab.bench import wrk
from lab.bench.wrk import parse
from lab.harness import CannotMeasure
from tests.lab.answering import REDIRECT, answering

PRINTED = """Running 3s test @ http://127.0.0.1:15173
  1 threads and 64 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency    12.31ms   22.90ms 238.19ms   94.55%
    Req/Sec     8.61k     1.02k    9.93k    76.67%
  Latency Distribution
     50%    7.20ms
     75%    8.31ms
     90%    1.02s
     99%  120.44us
  25732 requests in 3.00s, 9.57MB read
Requests/sec:   8567.44
Transfer/sec:      3.19MB
"""


def test_the_output_of_wrk_is_parsed() -> None:
    found = parse(PRINTED)
    assert (found.requests, found.seconds, found.errors) == (25_732, 3.0, {})
    assert found.p50 == pytest.approx(0.0072)
    assert found.p99 == pytest.approx(0.00012044)
    assert found.rate == pytest.approx(25_732 / 3)


def test_errors_are_reported_and_do_not_count_as_answers() -> None:
    lines = (
        "  Socket errors: connect 0, read 3, write 0, timeout 9\n  Non-2xx or 3xx responses: 32\n"
    )
    found = parse(PRINTED.replace("Requests/sec", f"{lines}Requests/sec"))
    assert found.errors == {"read": 3, "timeout": 9, "other status": 32}
    assert found.requests == 25_700


@pytest.mark.parametrize(
    "printed",
    ["", "unable to connect to 127.0.0.1:1 Connection refused\n", PRINTED.replace("99%", "98%")],
)
def test_output_without_a_result_is_an_error_that_quotes_it(printed: str) -> None:
    with pytest.raises(CannotMeasure, match="wrk printed: "):
        parse(printed)


@pytest.mark.skipif(not wrk.is_installed(), reason="wrk is not installed")
async def test_wrk_holds_a_rate_and_reports_if_it_cannot(tmp_path: Path) -> None:
    ready, seen = asyncio.Event(), set[bytes]()

    async def answer(head: bytes, writer: asyncio.StreamWriter) -> None:
        seen.add(head)
        await ready.wait()
        writer.write(REDIRECT)

    requests = [b"GET /%d HTTP/1.1\r\nHost: a\r\n\r\n" % number for number in range(7)]
    async with answering(answer) as port:
        held_back = await wrk.run(tmp_path, port, requests, connections=20, seconds=1, pace=40)
        ready.set()
        found = await wrk.run(tmp_path, port, requests, connections=4, seconds=2, pace=40)
    assert held_back.errors["not sent in time"] > 0
    assert 0 < found.requests < 200  # many thousands as fast as it can
    assert seen == set(requests)
