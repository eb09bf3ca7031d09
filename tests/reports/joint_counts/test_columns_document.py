"""Tables of counts as documents: none is too large, whatever strangers send as values."""

from bson import encode

from tracker.reports import columns
from tracker.reports.joint_counts.columns_document import MAX_BYTES, documents_of, table_of
from tracker.reports.joint_counts.fingerprints import Fingerprint

LIMIT = 16 * 1024 * 1024


def test_a_table_of_long_values_is_divided_into_documents_that_mongodb_takes() -> None:
    names = ["utm_source", "utm_term", "link"]
    values = [[f"{number:>20}{'☂' * 80}" for number in range(40_000)] for _ in names]
    table = columns.of_columns(
        dict(zip(names, values, strict=True)), {"clicks": list(range(40_000))}
    )
    documents = list(documents_of(table))
    assert all(len(encode(one)) < min(LIMIT, 1.1 * MAX_BYTES) for one in documents)
    read = table_of(documents, names)
    assert read.rows == table.rows
    for name in names:
        column = read.dimensions[name]
        assert [column.values[code] for code in column.codes] == values[0]
    assert list(read.measures["clicks"]) == list(range(40_000))


def test_a_table_of_huge_money_is_divided_too() -> None:
    money = [10**4000 + number for number in range(3000)]
    table = columns.of_columns({"os": ["iOS"] * 3000}, {"value": money})
    documents = list(documents_of(table))
    assert all(len(encode(one)) < LIMIT for one in documents)
    assert list(table_of(documents, ["os"]).measures["value"]) == money


def test_what_most_accounts_do_not_have_takes_no_room_and_is_read_as_it_was() -> None:
    measures = {"conversions": [1, 2], "bot_conversions": [0, 0], "pending_value": [0, 0]}
    table = columns.of_columns({"os": ["iOS", "tv"], "currency": ["units"] * 2}, measures)
    [document] = documents_of(table)
    # As tables of releases that knew no currency.
    assert (list(document["columns"]), list(document["measures"])) == (["os"], ["conversions"])
    read = table_of([document], ["os", "currency"], {"currency": {"units"}})
    assert read.dimensions["currency"].in_rows() == ["units", "units"]
    assert list(read.measures["conversions"]) == [1, 2]
    assert table_of([document], ["currency"], {"currency": {"USD"}}).rows == 0


def test_a_fingerprint_counts_events_of_every_status() -> None:
    approved = Fingerprint(conversions=4, changes=1)
    assert approved.of("events") == [4, 1, 0]  # as earlier releases have stored it
    every = Fingerprint(conversions=1, pending=1, rejected=1, refunded=1, changes=1, further=3)
    assert every.of("events") == approved.of("events")
    assert every.count("events") == 4
