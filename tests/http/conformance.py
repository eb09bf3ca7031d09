"""The table of raw requests, each with its expected outcome, for test_conformance."""

from tests.http.rows_of_bodies import CHUNKS, CODINGS, LENGTHS
from tests.http.rows_of_fields import EXPECTATIONS, FIELDS, TARGETS
from tests.http.rows_of_lines import CONNECTIONS, METHODS, VERSIONS

ROWS = (
    *CONNECTIONS,
    *METHODS,
    *TARGETS,
    *VERSIONS,
    *FIELDS,
    *EXPECTATIONS,
    *LENGTHS,
    *CODINGS,
    *CHUNKS,
)
