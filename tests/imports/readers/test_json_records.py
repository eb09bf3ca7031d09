"""Records of JSON files, and of answers."""

import pytest

from tests.imports.reading import TableApi, read, read_api
from tracker.errors import BadRequest
from tracker.imports.item import RefusedRow, SourceLink

ONE = '{"shortlink": "a", "longlink": "https://ex.test/", "notes": "[\\"\x01"}'
LINK = SourceLink(
    id="/a", row=1, domain_name=None, path="a", destination_url="https://ex.test/", notes='["'
)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (f"[{ONE}]", None),
        (f'{{"a": "[", "b": {{"links": [{ONE}], "c": [1]}}}}', None),
        (f"[{ONE}, 5]", "a record is no JSON object"),
        (f"[{ONE}, {{]", "ends in the middle of a record, or is broken from here on"),
        (f"[{ONE}", None),
        (f"[{ONE}, " + '{"a":' * 100_000, "a record is nested too deep"),
    ],
)
def test_records_before_a_fault_are_read(text: str, reason: str | None) -> None:
    found = read("chhoto", text.encode())
    assert found[0] == LINK
    expected = [RefusedRow(row=2, field="file", reason=reason)] if reason else []
    assert found[1:] == expected


@pytest.mark.parametrize("answer", [None, 5, {"error": "x"}, {"data": 5}])
def test_an_answer_without_the_list_ends_the_reading(answer: object) -> None:
    with pytest.raises(BadRequest, match="api: api/v2/links answered without data"):
        read_api("kutt", TableApi(lambda _, __: answer))


def test_an_answer_of_another_shape_ends_the_reading_and_a_record_of_one_is_refused() -> None:
    with pytest.raises(BadRequest, match="api: an answer is not as this source writes it"):
        read_api("bitly", TableApi(lambda _, __: {"groups": [5]}))
    (item,) = read_api("kutt", TableApi(lambda _, __: {"data": [5]}))
    assert item == RefusedRow(row=1, field="row", reason="is not as this source writes it")
