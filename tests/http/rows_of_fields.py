"""Rows of the conformance table about targets, header fields and expectations."""

from tests.http.row import (
    AB,
    GET,
    HOST,
    Row,
    chunked,
    closed,
    get,
    got,
    hosted,
    kept,
    line,
    of_fields,
    of_lines,
    post,
    posted,
    refused,
    saw,
)

TARGETS = (
    *of_lines(
        refused(),
        *(b"OPTIONS a.example:80", b"GET http://u@b.example/", b"GET http:///x"),
        *(b"GET http://b<x/", b"GET ftp://b.example/", b"GET b.example/", b"GET *"),
        *(b"OPTIONS *a", b"GET a/b", b"GET", b"GET ", b"GET  /", b"GET / ", b"GET /a b"),
        *(b"GET\t/", b"GET /a\tb", b"GET /a\x0cb", b"GET /a\0b", b"GET /a\x7fb", b"GET /a\rb"),
        *(b"GET /a\nb",),
    ),
    Row("a query", line(b"GET /a?b=c&d=%20"), got("/a?b=c&d=%20")),
    Row("two slashes", line(b"GET //a"), got("//a")),
    Row("dots stay", line(b"GET /a/../b"), got("/a/../b")),
    Row(
        "bytes above 127",
        get(line="GET /ü?a=ß HTTP/1.1".encode()),
        kept(saw("GET", "/ü?a=ß".encode().decode("latin-1"))),
    ),
    Row("what URLs should not have", line(b'GET /"<>\\^`{|}'), kept(saw("GET", '/"<>\\^`{|}'))),
    Row("a fragment", line(b"GET /a#b"), got("/a#b")),
    Row("absolute", line(b"GET http://b.example/x?y"), got("/x?y", "b.example")),
    Row("absolute, https", line(b"GET https://b.example/x"), got("/x", "b.example")),
    Row("absolute, in capitals", line(b"GET HTTP://B.example/x"), got("/x", "B.example")),
    Row("absolute, same Host", line(b"GET http://a.example/x"), got("/x")),
    Row("absolute with a port", line(b"GET http://b.example:8080/"), got("/", "b.example:8080")),
    Row("absolute, IPv6", line(b"GET http://[::1]:80/"), got("/", "[::1]:80")),
    Row("absolute without a path", line(b"GET http://b.example"), got("/", "b.example")),
    Row("absolute, query alone", line(b"GET http://b.example?x"), got("/?x", "b.example")),
    Row(
        "absolute, OPTIONS of all",
        line(b"OPTIONS http://b.example"),
        kept(saw("OPTIONS", "*", "b.example")),
    ),
    Row(
        "absolute, OPTIONS of a path",
        line(b"OPTIONS http://b.example/x"),
        kept(saw("OPTIONS", "/x", "b.example")),
    ),
    Row("absolute without Host", b"GET http://b.example/ HTTP/1.1\r\n\r\n", refused()),
    Row(
        "absolute without Host, 1.0",
        b"GET http://b.example/ HTTP/1.0\r\n\r\n",
        closed(saw("GET", "/", "b.example")),
    ),
    Row("asterisk", line(b"OPTIONS *"), kept(saw("OPTIONS", "*"))),
    Row("the longest", line(b"GET /" + b"a" * 99), kept(saw("GET", "/" + "a" * 99))),
    Row("too long", line(b"GET /" + b"a" * 100), refused(414)),
    Row("without end", b"GET /" + b"a" * 160, refused(414)),
)

FIELDS = (
    *of_fields(
        refused(),
        *(b"Host: b.example\r\n", b"A : b\r\n", b"A\t: b\r\n", b"A b: c\r\n", b" A: b\r\n"),
        *(b"A: b\r\n c\r\n", b"A: b\r\n\tc\r\n", b"A: b\r\n \r\n", b"A\r\n", b": b\r\n"),
        *(b"\xc4: b\r\n", b"[A]: b\r\n", b"A\0: b\r\n", b"A: b\rC: d\r\n", b"A: b\nC: d\r\n"),
        *(b"A: b\r\r\nC: d\r\n",),
    ),
    Row("no Host", b"GET / HTTP/1.1\r\nA: b\r\n\r\n", refused()),
    Row("no fields", b"GET / HTTP/1.1\r\n\r\n", refused()),
    Row("the same Host twice", get(HOST), refused()),
    Row("two Hosts in one field", hosted(b"a.example, b.example"), refused()),
    Row("an empty Host", b"GET / HTTP/1.1\r\nHost:\r\n\r\n", kept(saw("GET", host=""))),
    Row("a Host with a path", hosted(b"a.example/x"), refused()),
    Row("a Host with a user", hosted(b"u@a.example"), refused()),
    Row("a Host with a space", hosted(b"a b"), refused()),
    Row("a Host with a port", hosted(b"a.example:80"), kept(saw("GET", host="a.example:80"))),
    Row("white space around a value", hosted(b"\t a.example \t "), kept(GET)),
    Row("no white space", b"GET / HTTP/1.1\r\nHost:a.example\r\n\r\n", kept(GET)),
    Row("an empty value", get(b"A:\r\n"), kept(GET)),
    Row("a tab in a value", get(b"A: b\tc\r\n"), kept(GET)),
    Row("a value above 127", get(b"A: \xe4\xff\r\n"), kept(GET)),
    Row("all that a name may have", get(b"!#$%&'*+-.^_`|~09: b\r\n"), kept(GET)),
    Row("a space before the first name", b"GET / HTTP/1.1\r\n " + HOST + b"\r\n", refused()),
    *(
        Row(f"control character {code}", get(b"A: b%cc\r\n" % code), refused())
        for code in (0, 1, 7, 8, 11, 12, 14, 27, 31, 127)
    ),
    Row("a bare CR and no end", get(b"A: b\rC")[:-2], refused()),
    Row("bare LFs all over", b"GET / HTTP/1.1\nHost: a.example\n\n", refused()),
    Row("a bare LF at the end", b"GET / HTTP/1.1\r\n" + HOST + b"\n", refused()),
    Row("the most fields", get(b"A: b\r\n" * 9), kept(GET)),
    Row("too many fields", get(b"A: b\r\n" * 10), refused(431)),
    Row("the longest head", get(b"A: %b\r\n" % (b"b" * (1000 - 16 - 17 - 2 - 5))), kept(GET)),
    Row("too long a head", get(b"A: %b\r\n" % (b"b" * (1001 - 16 - 17 - 2 - 5))), refused(431)),
    Row("a head without end", get(b"A: %b" % (b"b" * 1500))[:-2], refused(431)),
)

EXPECTATIONS = (
    Row(
        "100-continue and no body yet",
        post(b"Expect: 100-continue\r\nContent-Length: 2\r\n"),
        kept(statuses=(100,)),
    ),
    Row(
        "100-continue and its body",
        post(b"Expect: 100-continue\r\nContent-Length: 2\r\n", b"ab"),
        kept(AB, statuses=(100, 200)),
    ),
    Row(
        "100-continue in capitals",
        post(b"Expect: 100-CONTINUE\r\nContent-Length: 2\r\n", b"ab"),
        kept(AB, statuses=(100, 200)),
    ),
    Row(
        "100-continue and chunks",
        chunked(b"2\r\nab\r\n0\r\n\r\n", b"Expect: 100-continue\r\n"),
        kept(AB, statuses=(100, 200)),
    ),
    Row("100-continue without a body", get(b"Expect: 100-continue\r\n"), kept(GET)),
    Row(
        "100-continue, 1.0",
        b"POST / HTTP/1.0\r\n" + HOST + b"Expect: 100-continue\r\nContent-Length: 2\r\n\r\nab",
        closed(AB),
    ),
    Row(
        "100-continue, too large",
        post(b"Expect: 100-continue\r\nContent-Length: 1001\r\n"),
        refused(413),
    ),
    Row(
        "100-continue in a second field",
        post(b"Expect: tea\r\nExpect: 100-continue\r\nContent-Length: 2\r\n", b"ab"),
        kept(AB, statuses=(100, 200)),
    ),
    Row("another expectation", get(b"Expect: tea\r\n"), kept(GET)),
    Row(
        "another expectation with a body",
        post(b"Expect: tea\r\nContent-Length: 2\r\n", b"ab"),
        posted(b"ab"),
    ),
)
