from uuid import UUID

import pytest

from tracker.access.principal import SCOPES, VERBS, Actor, ActorKind, Principal
from tracker.access.roles import SCOPES_OF, Role, require_authority
from tracker.errors import Forbidden
from tracker.ids import EXAMPLE_ID

EVERY = {f"{resource}:{verb}" for resource in SCOPES for verb in VERBS}
OWNERS_ONLY = {"keys:read", "keys:write", "account:write", "members:write", "audit:read"}


def a_principal(scopes: list[str] | Role | None) -> Principal:
    one = UUID(EXAMPLE_ID)
    actor = Actor(kind=ActorKind.MEMBER, id=one, name="Ada")
    own = SCOPES_OF[scopes] if isinstance(scopes, Role) else scopes
    return Principal(account_id=one, actor=actor, scopes=own)


def covered_by(role: Role) -> set[str]:
    return {scope for scope in EVERY if a_principal(role).covers([scope])}


def test_an_owner_has_every_scope_an_editor_works_and_a_viewer_reads() -> None:
    assert covered_by(Role.OWNER) == EVERY
    assert not covered_by(Role.EDITOR) & OWNERS_ONLY
    assert covered_by(Role.VIEWER) < covered_by(Role.EDITOR)
    assert all(scope.endswith(":read") for scope in covered_by(Role.VIEWER))
    written = covered_by(Role.EDITOR) - covered_by(Role.VIEWER)
    work = ("links", "domains", "tags", "event_configs", "webhooks", "views", "shares")
    assert written == {f"{one}:write" for one in work}


@pytest.mark.parametrize(
    ("own", "roles"),
    [
        (Role.EDITOR, [Role.OWNER]),
        (Role.VIEWER, [Role.EDITOR]),
        (["members:*"], [Role.VIEWER]),
        (sorted(EVERY), [Role.OWNER]),
        (Role.EDITOR, [Role.VIEWER, Role.OWNER]),
    ],
    ids=str,
)
def test_nobody_grants_or_takes_a_role_beyond_their_own_scopes(
    own: list[str] | Role, roles: list[Role]
) -> None:
    with pytest.raises(Forbidden, match=r"^role: (owner|editor|viewer) has scopes that you lack$"):
        require_authority(a_principal(own), *roles)


@pytest.mark.parametrize(
    ("own", "role"), [(None, Role.OWNER), (Role.EDITOR, Role.EDITOR), (Role.EDITOR, Role.VIEWER)]
)
def test_a_role_is_granted_by_those_who_have_its_scopes(
    own: list[str] | Role | None, role: Role
) -> None:
    require_authority(a_principal(own), role)
