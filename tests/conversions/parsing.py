"""A conversion from a JSON body alone, as tests of its rules read it."""

from tracker.conversions.parameters import Conversion, conversion_of, fields_in_json


def from_json(body: bytes) -> Conversion:
    return conversion_of(fields_in_json(body))
