import pytest

from tracker.http.rejection import RejectedRequest, rejection


@pytest.mark.parametrize(
    ("status", "phrase", "code"),
    [
        (400, "Bad Request", "malformed_request"),
        (408, "Request Timeout", "request_timeout"),
        (413, "Content Too Large", "payload_too_large"),
        (414, "URI Too Long", "target_too_long"),
        (431, "Request Header Fields Too Large", "header_too_large"),
        (500, "Internal Server Error", "internal_error"),
        (501, "Not Implemented", "not_implemented"),
        (505, "HTTP Version Not Supported", "version_not_supported"),
    ],
)
@pytest.mark.parametrize("head_only", [False, True])
def test_a_rejection_has_the_phrase_and_the_code_of_its_status(
    status: int, phrase: str, code: str, head_only: bool
) -> None:
    rejected = RejectedRequest(status, "the reason")
    answer = rejection(
        rejected, lambda status, text: ("a/b", f"{status} {text}".encode()), b"X: y\r\n", head_only
    )
    assert answer.decode() == (
        f"HTTP/1.1 {status} {phrase}\r\nX-Error-Code: {code}\r\nContent-Type: a/b\r\n"
        "Content-Length: 14\r\nConnection: close\r\nX: y\r\n\r\n"
    ) + ("" if head_only else f"{status} the reason")
