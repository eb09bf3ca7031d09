"""Rows of the conformance table about connections and request lines."""

from tests.http.row import (
    AB,
    GET,
    HOST,
    UNKNOWN,
    WAITING,
    Row,
    chunked,
    closed,
    get,
    kept,
    line,
    of_lines,
    of_whole_lines,
    old,
    post,
    refused,
    saw,
    sized,
)

CONNECTIONS = (
    Row("a plain request", get(), kept(GET)),
    Row("nothing", b"\r\n", WAITING),
    Row("half a request line", b"GET / HT", WAITING),
    Row("half a head", b"GET / HTTP/1.1\r\n" + HOST, WAITING),
    Row("two requests", get() * 2, kept(GET, GET)),
    Row("ten requests", get() * 10, kept(*[GET] * 10)),
    Row("a request and half of one", get() + get()[:20], kept(GET)),
    Row("a body and a request", sized(b"2", b"ab") + get(), kept(AB, GET)),
    Row("chunks and a request", chunked(b"2\r\nab\r\n0\r\n\r\n") + get(), kept(AB, GET)),
    Row("order", line(b"GET /1") + line(b"GET /2"), kept(saw("GET", "/1"), saw("GET", "/2"))),
    Row("close", get(b"Connection: close\r\n"), closed(GET)),
    Row("close in capitals", get(b"CONNECTION: CLOSE\r\n"), closed(GET)),
    Row("close among options", get(b"Connection: foo, close\r\n"), closed(GET)),
    Row("close in a second field", get(b"Connection: foo\r\nConnection: close\r\n"), closed(GET)),
    Row("close and keep-alive", get(b"Connection: keep-alive, close\r\n"), closed(GET)),
    Row("nothing after close", get(b"Connection: close\r\n") + get(), closed(GET)),
    Row("keep-alive", get(b"Connection: keep-alive\r\n"), kept(GET)),
    Row("Proxy-Connection", get(b"Proxy-Connection: close\r\n") * 2, kept(GET, GET)),
    Row("an option nobody knows", get(b"Connection: x-closed\r\n"), kept(GET)),
    Row("an empty Connection field", get(b"Connection:\r\n"), kept(GET)),
    Row("1.0", b"GET / HTTP/1.0\r\n" + HOST + b"\r\n", closed(GET)),
    Row("1.0 without Host", b"GET / HTTP/1.0\r\n\r\n", closed(saw("GET", host="127.0.0.1"))),
    Row("1.0 keep-alive", old(b"keep-alive"), kept(GET)),
    Row("1.0 Keep-Alive", old(b"Keep-Alive"), kept(GET)),
    Row("1.0 keep-alive among options", old(b"keep-alive, foo"), kept(GET)),
    Row("1.0 keep-alive after a space and a comma", old(b"foo , keep-alive"), kept(GET)),
    Row("1.0 another option", old(b"closed"), closed(GET)),
    Row("1.0 keep-alive twice", old(b"keep-alive") * 2, kept(GET, GET)),
    Row("1.0 close", old(b"close"), closed(GET)),
    Row(
        "1.0 with a body",
        b"POST / HTTP/1.0\r\n" + HOST + b"Content-Length: 2\r\n\r\nab",
        closed(AB),
    ),
    Row("1.0 two Hosts", b"GET / HTTP/1.0\r\n" + HOST * 2 + b"\r\n", refused()),
    Row(
        "HTTP/2 upgrade",
        get(
            b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
            b"HTTP2-Settings: AAMAAABkAAQAAP__\r\n"
        ),
        kept(GET),
    ),
    Row(
        "websocket",
        get(
            b"Connection: Upgrade\r\nUpgrade: websocket\r\n"
            b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: x\r\n"
        ),
        kept(GET),
    ),
    Row(
        "upgrade and the next",
        get(b"Connection: Upgrade\r\nUpgrade: h2c\r\n") + get(),
        kept(GET, GET),
    ),
    Row(
        "upgrade with a body",
        post(b"Connection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: 2\r\n", b"ab") + get(),
        kept(AB, GET),
    ),
    Row(
        "upgrade with chunks",
        chunked(b"2\r\nab\r\n0\r\n\r\n", b"Connection: Upgrade\r\nUpgrade: h2c\r\n") + get(),
        kept(AB, GET),
    ),
    Row("an empty line before", b"\r\n" + get(), kept(GET)),
    Row("empty lines before", b"\r\n\r\n\r\n" + get(), kept(GET)),
    Row("many empty lines before", b"\r\n" * 40 + get(), kept(GET)),
    Row("an empty line between", get() + b"\r\n" + get(), kept(GET, GET)),
    Row("an empty line after a body", sized(b"2", b"ab") + b"\r\n" + get(), kept(AB, GET)),
    Row("a bare LF before", b"\n" + get(), refused()),
    Row("a bare CR before", b"\r" + get(), refused()),
    Row("a space before", b" " + get(), refused()),
    Row("garbage after a request", get() + b"\x00\x01\x02", refused(400, GET)),
    Row("TLS", bytes.fromhex("16030100c8010000c40303"), refused()),
)

METHODS = (
    *of_lines(refused(), *(b"GE(T /", b"GET: /", b"GE\0T /", b"G\xc9T /", b" /")),
    *of_lines(
        UNKNOWN,
        *(b"get /", b"FOO /", b"PROPFIND /", b"TRACE /", b"CONNECT a.example:80", b"CONNECT *"),
        *(b"!#$%&'*+-.^_`|~09 /",),
    ),
    *(
        Row(method, get(line=f"{method} / HTTP/1.1".encode()), kept(saw(method)))
        for method in ("HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
    ),
    Row("HEAD between", line(b"HEAD /") + get(), kept(saw("HEAD"), GET)),
    Row("unknown, then known", line(b"FOO /") + get(), kept(GET, statuses=(405, 200))),
)

VERSIONS = (
    *of_whole_lines(
        refused(505),
        *(b"GET / HTTP/2.0", b"GET / HTTP/2", b"GET / HTTP/1.2", b"GET / HTTP/0.9"),
        b"GET / HTTP/1.10",
    ),
    *of_whole_lines(
        refused(),
        *(b"GET / HTTP/", b"GET / http/1.1", b"OPTIONS / RTSP/1.0", b"GET / HTTP/1.1 "),
        *(b"GET / HTTP/1.1 x", b"GET / HTTP/1,1", b"GET / HTTP/1.1\r"),
    ),
    Row("2.0 and no end", b"GET / HTTP/2.0\r\nHos", refused(505)),
    Row("the preface of HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", refused(505)),
    Row("0.9 as it was", b"GET /\r\n\r\n", refused()),
    Row("LF after the version", b"GET / HTTP/1.1\n" + HOST + b"\r\n", refused()),
    Row("CR after the version", b"GET / HTTP/1.1\r" + HOST + b"\r\n", refused()),
)
