"""Ids in raw documents are those that the driver decodes."""

import bson
import pytest
from bson.binary import UuidRepresentation
from bson.codec_options import CodecOptions

from tracker.ids import new_id
from tracker.reports.raw_ids import id_arrays, id_texts

CODEC: CodecOptions[dict[str, object]] = CodecOptions(
    uuid_representation=UuidRepresentation.STANDARD
)


@pytest.mark.parametrize("count", [0, 1, 9, 10, 11, 99, 100, 101, 1000, 1001, 12_345])
def test_arrays_of_any_length_have_the_ids_of_the_document(count: int) -> None:
    tags, links = [new_id()], [new_id() for _ in range(count)]
    found = id_arrays(bson.encode({"_id": tags, "links": links}, codec_options=CODEC))
    assert {name: id_texts(ids) for name, ids in found.items()} == {
        "_id": list(map(str, tags)),
        "links": list(map(str, links)),
    }


@pytest.mark.parametrize("value", ["text", 1, [1], [1, 2, 3], [new_id(), "text"]])
def test_other_values_are_refused(value: object) -> None:
    with pytest.raises(ValueError, match="array"):
        id_arrays(bson.encode({"links": value}, codec_options=CODEC))
