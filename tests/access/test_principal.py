import pytest

from tracker.access.principal import Actor, ActorKind, Principal
from tracker.errors import Forbidden
from tracker.ids import new_id


def principal(scopes: list[str] | None, kind: ActorKind = ActorKind.API_KEY) -> Principal:
    return Principal(
        account_id=new_id(), actor=Actor(kind=kind, id=new_id(), name="one"), scopes=scopes
    )


@pytest.mark.parametrize(
    ("own", "granted", "covers"),
    [
        (None, None, True),
        (None, ["links:*"], True),
        (["links:*"], None, False),
        (["links:*"], ["links:read", "links:write"], True),
        (["links:read", "links:write"], ["links:*"], True),
        (["links:read"], ["links:*"], False),
        (["links:read"], ["links:write"], False),
        (["links:*"], ["links:read", "tags:read"], False),
        ([], [], True),
    ],
)
def test_nobody_may_grant_more_than_their_own_scopes(
    own: list[str] | None, granted: list[str] | None, covers: bool
) -> None:
    assert principal(own).covers(granted) is covers


@pytest.mark.parametrize(
    ("kind", "subject"), [(ActorKind.API_KEY, "this API key"), (ActorKind.MEMBER, "your role")]
)
def test_a_missing_scope_is_named(kind: ActorKind, subject: str) -> None:
    with pytest.raises(Forbidden, match=f"{subject} lacks the scope links:write"):
        principal(["links:read"], kind).require("links:write")


@pytest.mark.parametrize(
    ("own", "is_allowed"),
    [
        (None, True),
        ([], False),
        (["links:write"], True),
        (["links:*"], True),
        (["links:read", "tags:*", "link:*", "links"], False),
    ],
)
def test_a_scope_is_had_by_its_name_or_by_its_resource(
    own: list[str] | None, is_allowed: bool
) -> None:
    assert principal(own).covers(["links:write"]) is is_allowed
