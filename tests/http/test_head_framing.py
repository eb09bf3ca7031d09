"""The fields of a head decide how long its body is, and whether its connection is kept."""

import pytest

from tracker.http.head import CHUNKED, body_length, keeps_alive
from tracker.http.rejection import RejectedRequest


@pytest.mark.parametrize(
    ("fields", "length"),
    [
        ({}, 0),
        ({"Content-Length": "0"}, 0),
        ({"Content-Length": "12"}, 12),
        ({"Transfer-Encoding": "chunked"}, CHUNKED),
        ({"Transfer-Encoding": "Chunked"}, CHUNKED),
    ],
)
def test_the_fields_give_the_length_of_the_body(fields: dict[str, str], length: int) -> None:
    assert body_length("HTTP/1.1", fields) == length


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"Content-Length": "1\n1"}, 400),
        ({"Content-Length": "1,1"}, 400),
        ({"Content-Length": ""}, 400),
        ({"Content-Length": "-1"}, 400),
        ({"Content-Length": "\u0661"}, 400),
        ({"Content-Length": "\xb2"}, 400),
        ({"Content-Length": "1", "Transfer-Encoding": "chunked"}, 400),
        ({"Transfer-Encoding": "chunked\nchunked"}, 400),
        ({"Transfer-Encoding": "chunked, chunked"}, 400),
        ({"Transfer-Encoding": "chunked, gzip"}, 400),
        ({"Transfer-Encoding": ",chunked"}, 400),
        ({"Transfer-Encoding": "chunked,"}, 400),
        ({"Transfer-Encoding": ""}, 400),
        ({"Transfer-Encoding": "gzip, chunked"}, 501),
        ({"Transfer-Encoding": "gzip\nchunked"}, 501),
    ],
)
def test_fields_that_could_be_read_in_two_ways_are_refused(
    fields: dict[str, str], status: int
) -> None:
    with pytest.raises(RejectedRequest) as rejected:
        body_length("HTTP/1.1", fields)
    assert rejected.value.status == status


def test_chunks_are_refused_in_http_1_0() -> None:
    with pytest.raises(RejectedRequest) as rejected:
        body_length("HTTP/1.0", {"Transfer-Encoding": "chunked"})
    assert rejected.value.status == 400


@pytest.mark.parametrize(
    ("connection", "in_1_1", "in_1_0"),
    [
        (None, True, False),
        ("keep-alive", True, True),
        ("Keep-Alive", True, True),
        ("close", False, False),
        ("foo\nCLOSE", False, False),
        ("keep-alive, close", False, False),
        ("foo , keep-alive", True, True),
        ("closed", True, False),
        ("", True, False),
    ],
)
def test_the_connection_options_decide_whether_the_connection_is_kept(
    connection: str | None, in_1_1: bool, in_1_0: bool
) -> None:
    fields = {} if connection is None else {"Connection": connection}
    assert keeps_alive("HTTP/1.1", fields) is in_1_1
    assert keeps_alive("HTTP/1.0", fields) is in_1_0
