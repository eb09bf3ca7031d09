"""The kinds of records that the journal carries, and their decoder."""

from typing import Final

from tracker.clicks.click import Click
from tracker.conversions.conversion import Conversion, Correction
from tracker.journal.entry import EntryDecoder

Record = Click | Conversion | Correction

ENTRY_DECODER: Final = EntryDecoder(list[Record])
