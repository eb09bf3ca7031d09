"""The output of wrk is parsed."""

import pytest

from lab.bench.wrk import parse
from lab.harness import CannotMeasure

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
