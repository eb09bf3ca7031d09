from collections.abc import Collection

import pytest

from tracker.access.principal import SCOPES, VERBS, Actor, ActorKind, Principal
from tracker.access.roles import SCOPES_OF, Role
from tracker.errors import Forbidden
from tracker.ids import new_id

EVERY = {f"{resource}:{verb}" for resource in SCOPES for verb in VERBS}
OWNERS_ONLY = {"keys:read", "keys:write", "account:write", "members:write", "audit:read"}


def principal(scopes: Collection[str] | None, kind: ActorKind = ActorKind.API_KEY) -> Principal:
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


def covered_by(role: Role) -> set[str]:
    own = principal(SCOPES_OF[role])
    return {scope for scope in EVERY if own.covers([scope])}


def test_an_owner_has_every_scope_an_editor_works_and_a_viewer_reads() -> None:
    assert covered_by(Role.OWNER) == EVERY
    assert not covered_by(Role.EDITOR) & OWNERS_ONLY
    assert covered_by(Role.VIEWER) < covered_by(Role.EDITOR)
    assert all(scope.endswith(":read") for scope in covered_by(Role.VIEWER))
    written = covered_by(Role.EDITOR) - covered_by(Role.VIEWER)
    work = ["links", "domains", "tags", "event_configs", "webhooks", "views", "shares"]
    assert written == {f"{one}:write" for one in (*work, "conversions", "costs")}
