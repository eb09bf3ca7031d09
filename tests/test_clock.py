"""Times as text are in UTC, with milliseconds."""

from datetime import UTC, datetime, timedelta, timezone

import bson
import pytest
from bson.codec_options import CodecOptions

from tracker.clock import iso

AT = datetime(2026, 1, 31, 9, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("at", "text"),
    [
        (AT, "2026-01-31T09:30:00.000Z"),
        (AT.replace(microsecond=7000), "2026-01-31T09:30:00.007Z"),
        (AT.replace(microsecond=999_999), "2026-01-31T09:30:00.999Z"),
        (AT.replace(year=99), "0099-01-31T09:30:00.000Z"),
        (AT.astimezone(timezone(timedelta(hours=14))), "2026-01-31T09:30:00.000Z"),
    ],
)
def test_a_time_is_text_in_utc_with_milliseconds(at: datetime, text: str) -> None:
    assert iso(at) == text


def test_a_stored_time_is_text_as_any_other() -> None:
    aware: CodecOptions[dict[str, datetime]] = CodecOptions(tz_aware=True)
    stored = bson.decode(bson.encode({"at": AT.replace(microsecond=7000)}), aware)
    assert iso(stored["at"]) == "2026-01-31T09:30:00.007Z"
