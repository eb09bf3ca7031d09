"""A conversion from a JSON body alone, as tests of its rules read it."""

from tracker.conversions.postbacks.fields import fields_in_json
from tracker.conversions.postbacks.parameters import ConversionParameters, checked_parameters


def from_json(body: bytes) -> ConversionParameters:
    return checked_parameters(fields_in_json(body))
