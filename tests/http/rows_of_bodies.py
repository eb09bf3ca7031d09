"""Rows of the conformance table about bodies and their framing."""

from tests.http.row import (
    GET,
    HOST,
    WAITING,
    Row,
    chunked,
    coded,
    get,
    kept,
    of_chunks,
    of_codings,
    post,
    posted,
    refused,
    saw,
    sized,
)

LENGTHS = (
    Row("a body", sized(b"3", b"abc"), posted(b"abc")),
    Row("half a body", sized(b"3", b"ab"), WAITING),
    Row("no length, no body", post(b""), posted(b"")),
    Row("length 0", sized(b"0"), posted(b"")),
    Row("length 0, and the next", sized(b"0") + get(), kept(saw("POST"), GET)),
    Row(
        "a body of GET",
        get(b"Content-Length: 2\r\n") + b"ab" + get(),
        kept(saw("GET", body=b"ab"), GET),
    ),
    Row(
        "a body of HEAD",
        get(b"Content-Length: 2\r\n", b"HEAD / HTTP/1.1") + b"ab" + get(),
        kept(saw("HEAD", body=b"ab"), GET),
    ),
    Row("a request as a body", sized(b"%d" % len(get()), get()), posted(get())),
    Row("bytes of all kinds", sized(b"256", bytes(range(256))), posted(bytes(range(256)))),
    Row("leading zeros", sized(b"003", b"abc"), posted(b"abc")),
    Row("white space around", sized(b"\t3 \t", b"abc"), posted(b"abc")),
    Row("the largest", sized(b"1000", b"a" * 1000), posted(b"a" * 1000)),
    Row("too large", sized(b"1001", b"a" * 1001), refused(413)),
    Row("too large, not sent", sized(b"1001"), refused(413)),
    Row("far too large", sized(b"18446744073709551615"), refused(413)),
    Row("more than 64 bits", sized(b"18446744073709551616"), refused()),
    Row("very many digits", sized(b"9" * 500), refused()),
    Row("very many zeros", sized(b"0" * 600 + b"3", b"abc"), refused()),
    *(
        Row(f"length {text!r}", sized(text, b"abc"), refused())
        for text in (
            *(b"+3", b"-3", b"0x3", b"3.0", b"3e0", b"3 3", b"", b"three", b"3;", b"\xb2", b"\xb3"),
            *(b"_3", b"3,4", b"3, 4", b"3, 3", b"3,", b",3", b'"3"', b"\x0b3"),
        )
    ),
    Row("equal lengths", post(b"Content-Length: 3\r\nContent-Length: 3\r\n", b"abc"), refused()),
    Row(
        "different lengths", post(b"Content-Length: 3\r\nContent-Length: 4\r\n", b"abcd"), refused()
    ),
    Row(
        "a length with a space before the colon", post(b"Content-Length : 3\r\n", b"abc"), refused()
    ),
)

CODINGS = (
    *of_codings(
        refused(),
        *(b"chunked\r\nContent-Length: 0", b"chunked\r\nTransfer-Encoding: x"),
        *(b"chunked, chunked", b"chunked, gzip", b"gzip", b"identity", b",chunked"),
        *(b"chunked,", b"xchunked", b'"chunked"', b"chunked;q=1", b"chunked\0"),
    ),
    Row(
        "CL.TE",
        post(b"Content-Length: 6\r\nTransfer-Encoding: chunked\r\n", b"0\r\n\r\nG"),
        refused(),
    ),
    Row(
        "TE.CL",
        post(b"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n", b"5c\r\nGPOST\r\n0\r\n\r\n"),
        refused(),
    ),
    Row("TE.TE, chunked last", coded(b"x\r\nTransfer-Encoding: chunked"), refused(501)),
    Row("chunked twice", post(b"Transfer-Encoding: chunked\r\n" * 2, b"0\r\n\r\n"), refused()),
    Row("gzip, chunked", coded(b"gzip, chunked"), refused(501)),
    Row("no coding", post(b"Transfer-Encoding:\r\n", b"0\r\n\r\n"), refused()),
    Row("with a vertical tab", post(b"Transfer-Encoding:\x0bchunked\r\n", b"0\r\n\r\n"), refused()),
    Row("name with a space", post(b"Transfer-Encoding : chunked\r\n", b"0\r\n\r\n"), refused()),
    Row(
        "name with an underscore",
        post(b"Transfer_Encoding: chunked\r\n") + get(),
        kept(saw("POST"), GET),
    ),
    Row("folded", post(b"Transfer-Encoding:\r\n chunked\r\n", b"0\r\n\r\n"), refused()),
    Row("in capitals", post(b"TRANSFER-ENCODING: CHUNKED\r\n", b"0\r\n\r\n"), posted(b"")),
    Row("white space around the coding", coded(b"\tchunked "), posted(b"")),
    Row(
        "chunks of GET",
        get(b"Transfer-Encoding: chunked\r\n") + b"1\r\na\r\n0\r\n\r\n",
        kept(saw("GET", body=b"a")),
    ),
    Row(
        "1.0 and chunks",
        b"POST / HTTP/1.0\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        refused(),
    ),
)

CHUNKS = (
    *of_chunks(
        refused(),
        *(b"3;a\nabc\r\n0\r\n\r\n", b"3;a\rb\r\nabc\r\n0\r\n\r\n", b"3;\0\r\nabc\r\n0\r\n\r\n"),
        *(b"3 \r\nabc\r\n0\r\n\r\n", b" 3\r\nabc\r\n0\r\n\r\n"),
        *(b"10000000000000003\r\nabc\r\n0\r\n\r\n", b"3\r\nabcd\r\n0\r\n\r\n"),
        *(b"3\r\nab\r\n0\r\n\r\n", b"3\nabc\r\n0\r\n\r\n", b"3\r\nabc\n0\r\n\r\n"),
        *(b"3\r\nabc\r0\r\n\r\n", b"3\r\nabc\r\n0\r\n\n", b"0\r\nA b\r\n\r\n"),
        *(b"0\r\nA: \0\r\n\r\n", b"0\r\nA: b\n\r\n\r\n"),
    ),
    Row("chunks", chunked(b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"), posted(b"abcde")),
    Row("no chunks yet", chunked(b""), WAITING),
    Row("half a chunk", chunked(b"3\r\nab"), WAITING),
    Row("no last chunk", chunked(b"3\r\nabc\r\n"), WAITING),
    Row("half the end", chunked(b"0\r\n"), WAITING),
    Row("a size in capitals", chunked(b"A\r\n0123456789\r\n0\r\n\r\n"), posted(b"0123456789")),
    Row("a size in lower case", chunked(b"a\r\n0123456789\r\n0\r\n\r\n"), posted(b"0123456789")),
    Row("a size with zeros before", chunked(b"0003\r\nabc\r\n000\r\n\r\n"), posted(b"abc")),
    Row("line ends in a chunk", chunked(b"7\r\n0\r\n\r\nab\r\n0\r\n\r\n"), posted(b"0\r\n\r\nab")),
    Row("an extension", chunked(b"3;a=b\r\nabc\r\n0\r\n\r\n"), posted(b"abc")),
    Row("a quoted extension", chunked(b'3;a="b;c"\r\nabc\r\n0;x\r\n\r\n'), posted(b"abc")),
    Row("too long an extension", chunked(b"3;" + b"a" * 300 + b"\r\nabc\r\n0\r\n\r\n"), refused()),
    *(
        Row(f"chunk size {size!r}", chunked(size + b"\r\nabc\r\n0\r\n\r\n"), refused())
        for size in (b"+3", b"-3", b"0x3", b"3_0", b"g", b"", b"3.0", b"\xb3", b"3\t", b"\x003")
    ),
    Row("a size of 64 bits", chunked(b"ffffffffffffffff\r\nabc"), refused(413)),
    Row("a size of many zeros", chunked(b"0" * 20 + b"3\r\nabc\r\n0\r\n\r\n"), refused()),
    Row("a size without end", chunked(b"1" * 30), refused()),
    Row(
        "the largest in chunks",
        chunked(b"1f4\r\n" + b"a" * 500 + b"\r\n1f4\r\n" + b"a" * 500 + b"\r\n0\r\n\r\n"),
        posted(b"a" * 1000),
    ),
    Row(
        "too large in chunks",
        chunked(b"1f4\r\n" + b"a" * 500 + b"\r\n1f5\r\n" + b"a" * 501 + b"\r\n0\r\n\r\n"),
        refused(413),
    ),
    Row(
        "a trailer",
        chunked(b"3\r\nabc\r\n0\r\nA: b\r\n\r\n") + get(),
        kept(saw("POST", body=b"abc"), GET),
    ),
    Row("half a trailer", chunked(b"0\r\nA: b\r\n"), WAITING),
    Row("a request as a trailer", chunked(b"0\r\n" + get()), refused()),
)
