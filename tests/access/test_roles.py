from tracker.access.principal import OPERATOR, SCOPES, VERBS, Principal
from tracker.access.roles import SCOPES_OF, Role
from tracker.ids import new_id

EVERY = {f"{resource}:{verb}" for resource in SCOPES for verb in VERBS}
OWNERS_ONLY = {"keys:read", "keys:write", "account:write", "members:write", "audit:read"}


def covered_by(role: Role) -> set[str]:
    principal = Principal(account_id=new_id(), actor=OPERATOR, scopes=SCOPES_OF[role])
    return {scope for scope in EVERY if principal.covers([scope])}


def test_an_owner_has_every_scope_an_editor_works_and_a_viewer_reads() -> None:
    assert covered_by(Role.OWNER) == EVERY
    assert not covered_by(Role.EDITOR) & OWNERS_ONLY
    assert covered_by(Role.VIEWER) < covered_by(Role.EDITOR)
    assert all(scope.endswith(":read") for scope in covered_by(Role.VIEWER))
    written = covered_by(Role.EDITOR) - covered_by(Role.VIEWER)
    work = ("links", "domains", "tags", "event_configs", "webhooks", "views", "shares")
    assert written == {f"{one}:write" for one in work}
