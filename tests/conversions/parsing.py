"""A conversion from a JSON body alone, as tests of its rules read it."""

from tracker.conversions.parameters import ConversionParameters, checked_parameters, fields_in_json


def from_json(body: bytes) -> ConversionParameters:
    return checked_parameters(fields_in_json(body))
