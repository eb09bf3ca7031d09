"""A handler gets the same request as Tornado itself would make of the head."""

import time
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st
from tornado.httputil import (
    HTTPConnection,
    HTTPHeaders,
    HTTPInputError,
    HTTPServerRequest,
    RequestStartLine,
)
from tornado.web import RequestHandler

from tests.http.serving import application, client_of, get, post, serving
from tracker.http.request import ReceivedRequest


class Peer(NamedTuple):
    remote_ip: str = "192.0.2.1"
    protocol: str = "https"


class Connection(HTTPConnection):
    context = Peer()


CONNECTION = Connection()


def tornados(line: RequestStartLine, headers: HTTPHeaders) -> HTTPServerRequest:
    return HTTPServerRequest(start_line=line, headers=headers, connection=CONNECTION)


def ours(line: RequestStartLine, headers: HTTPHeaders) -> HTTPServerRequest:
    return ReceivedRequest(line, headers, CONNECTION)


NAMES = vars(tornados(RequestStartLine("GET", "/", "HTTP/1.1"), HTTPHeaders({"Host": "a"})))


def assert_same(target: str, host: str | None, version: str = "HTTP/1.1") -> None:
    """Check that both agree in every attribute of a request, or in the reason of its rejection."""
    headers = HTTPHeaders({"Accept": "*/*"} if host is None else {"Host": host})
    shown = []
    for make in (tornados, ours):
        try:
            request = make(RequestStartLine("GET", target, version), headers)
        except HTTPInputError as error:
            shown.append(str(error))
        else:
            assert abs(request._start_time - time.time()) < 60
            request._start_time = 0.0
            shown.append(repr([(name, getattr(request, name)) for name in NAMES]))
    assert shown[0] == shown[1]


HOSTS = (
    *("a", "A.Test:80", "[::1]:8080", "127.0.0.1", "a:", ":80", "a%41", "a:99999", "x" * 255),
    *("x" * 256, "X" * 300 + ":1"),
    *("", None, "a b", "a,b", "a/b", "ü", "a:b", "a:80:80", "x" * 300 + " "),
)
TARGETS = (
    *("/", "/a?", "/?&", "/a?x=1&y=2&x=3&z=", "/a?b=%41+%zz&%3d=%00&=", "/ü?ü=ÿ", "*"),
    *("/a?x=1?y", "/&&&?a", "/?" + "a=1&" * 99, "/?" + "a=1&" * 100),
    *("/?" + "a=1&" * 999 + "b", "/?" + "a=1&" * 1000 + "b"),
)


def test_a_host_and_a_target_are_read_or_refused_as_in_tornado() -> None:
    for host in HOSTS:
        assert_same("/a", host)
        assert_same("/a", host, "HTTP/1.0")
        assert_same("/a", host)  # and again, known by now
    for target in TARGETS:
        assert_same(target, "a")


@given(
    target=st.text(st.characters(min_codepoint=33, max_codepoint=255)),
    host=st.none() | st.text(st.characters(max_codepoint=255), max_size=20),
    version=st.sampled_from(["HTTP/1.0", "HTTP/1.1"]),
)
def test_any_accepted_head_becomes_the_request_that_tornado_would_make(
    target: str, host: str | None, version: str
) -> None:
    assert_same(f"/{target}", host, version)


class Show(RequestHandler):
    def get(self) -> None:
        self.finish(f"{self.get_arguments('a')} {self.get_query_arguments('a')}")

    post = get


async def test_a_handler_reads_the_arguments_of_query_and_form() -> None:
    form = "Content-Type: application/x-www-form-urlencoded\r\n"
    async with serving(application(("/show", Show))) as (_, port), client_of(port) as client:
        client.send(get("/show?a=1&a=2") + post(b"a=form", "/show?a=1", form) + get("/other"))
        assert (await client.answer()).body == b"['1', '2'] ['1', '2']"
        assert (await client.answer()).body == b"['1', 'form'] ['1']"
        assert (await client.answer()).status == 404
