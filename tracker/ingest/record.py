"""The kinds of records that the journal carries, and their decoder."""

from typing import Final

from tracker.clicks.click import Click
from tracker.conversions.event import Event
from tracker.journal.entry import EntryDecoder

Record = Click | Event

ENTRY_DECODER: Final = EntryDecoder(list[Record])
