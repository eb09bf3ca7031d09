"""Ids of rules and variants that are sent."""

import pytest

from tests.factories import make_split
from tracker.errors import BadRequest
from tracker.ids import new_id
from tracker.links.rules import identity
from tracker.links.rules.choices import Choice
from tracker.links.rules.identity import NEW_LINK, Known, identified
from tracker.links.rules.rule import Deciding

A_SPLIT = {
    "variants": [
        {"name": name, "destination_url": "https://a.example/", "weight": 1} for name in "aab"
    ]
}


def test_variants_of_one_name_have_ids_of_their_own_and_keep_them() -> None:
    split = identified({"split": A_SPLIT}, NEW_LINK)["split"]
    ids = [one.id for one in split.variants]
    assert len(set(ids)) == 3
    again = identified({"split": A_SPLIT}, Known({}, Deciding(split=split)))["split"]
    assert [one.id for one in again.variants] == ids


def test_a_link_cannot_have_any_number_of_rules_and_variants_one_after_the_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(identity, "MAX_CHOICES", 10)
    had = [
        Choice(id=new_id(), account_id=new_id(), link_id=new_id(), kind="variant", name="x")
        for _ in range(8)
    ]
    choices = {one.id: one for one in had}
    with pytest.raises(BadRequest, match="rules: a link may have had 10 rules and variants"):
        identified({"split": A_SPLIT}, Known(choices, Deciding()))
    known = [{**one, "id": own.id} for one, own in zip(A_SPLIT["variants"], had, strict=False)]
    kept = identified({"split": {"variants": known}}, Known(choices, Deciding(split=make_split())))
    assert [one.id for one in kept["split"].variants] == [one.id for one in had[:3]]
