"""An endpoint is declared by its function: annotations, docstring, and what they cannot say."""

from collections.abc import AsyncGenerator

import msgspec

from tracker.web.call import AnswerWithHeaders, Call, Nothing
from tracker.web.endpoint import Endpoints, MediaType
from tracker.web.export import Export
from tracker.web.schema import Done


class Wanted(msgspec.Struct):
    name: str = ""


class Made(msgspec.Struct):
    name: str


async def rows(_: Call[None, Nothing, Wanted]) -> AsyncGenerator[list[Made], None]:
    yield []


def test_types_are_those_of_the_annotations_and_the_summary_is_the_first_paragraph() -> None:
    endpoint = Endpoints("things")

    @endpoint("POST", "/api/things", "things:write", example={"name": "x"})
    async def make(call: Call[None, Nothing, Wanted]) -> AnswerWithHeaders[Made] | Made | Done:
        """Make a thing, which takes
        two lines.

        The rest is for those who read the code.
        """
        return Made(name=call.body.name)

    [row] = endpoint.rows
    assert row.run is make
    assert (row.query, row.body, row.answer) == (Nothing, Wanted, (Made, Done))
    assert row.summary == "Make a thing, which takes two lines"


def test_an_export_adds_the_endpoint_of_its_file() -> None:
    endpoint = Endpoints("things")

    @endpoint(
        "POST",
        "/api/things",
        "things:read",
        example={"name": "x", "page": 1},
        export=Export("things", "Export things", Made, rows, without=("page",)),
    )
    async def find(_: Call[None, Nothing, Wanted]) -> Made:
        """Find things."""
        return Made(name="")

    found, file = endpoint.rows
    assert (found.path, found.summary, found.is_file) == ("/api/things", "Find things", False)
    assert (file.path, file.summary, file.is_file) == ("/api/things/export", "Export things", True)
    assert file.answer == MediaType("text/csv", {"type": "string"})
    assert (file.example, file.body, file.run) == ({"name": "x"}, Wanted, find)
