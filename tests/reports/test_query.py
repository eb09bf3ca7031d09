"""Queries of members who see the links of some tags only."""

from uuid import UUID

from tests.reports.history import FIRST
from tracker.ids import new_id
from tracker.reports.query import ReportQuery


def test_a_limited_member_cannot_leave_out_links_by_a_tag_of_others() -> None:
    own, other = UUID(int=1), UUID(int=2)
    query = ReportQuery(
        account_id=new_id(), first=FIRST, last=FIRST, group_by="day", excluded={"tag": [own, other]}
    )
    assert query.limited_to(frozenset([own])).excluded == {"tag": [own]}
    assert query.limited_to(None).excluded == query.excluded
