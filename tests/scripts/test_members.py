"""Members, as an operator invites, lists and removes them, and resets their passwords."""

from typing import Any
from uuid import UUID

import pytest

from tests.factories import create_member, create_person
from tests.scripts.conftest import Awaited, Run
from tracker.access.principal import OPERATOR
from tracker.access.roles import Role
from tracker.service.services import Services

ADA = "ada@example.com"


def token_of(row: dict[str, Any]) -> str:
    url, _, token = str(row["url"]).partition("#")
    assert url == "https://go.example.com/console/join"
    return token


@pytest.fixture
def public_run(run: Run) -> Run:
    """Return a runner whose links have the address of a public service."""
    run.environment["BASE_URL"] = "https://go.example.com/"
    return run


def test_an_invitation_is_printed_as_a_link(
    public_run: Run, account_id: str, services: Services, do: Awaited
) -> None:
    options = ("--account", account_id, "--editor", " Ada@Example.com")
    [row] = public_run.rows("members", "invite", *options)
    assert (row["email"], row["role"]) == (ADA, "editor")
    invitation = do(services.access.invitations.find_open(token_of(row)))
    assert (invitation.email, invitation.role) == (ADA, Role.EDITOR)
    assert (str(invitation.account_id), invitation.created_by) == (account_id, OPERATOR)


def test_without_an_address_links_lead_to_this_machine(run: Run, account_id: str) -> None:
    options = ("--account", account_id, "--owner", ADA)
    ended = run("members", "invite", *options)
    assert (ended.returncode, ended.stderr) == (
        0,
        "BASE_URL is not set: the link leads to http://localhost:8080, which is a guess\n",
    )
    assert "http://localhost:8080/console/join#" in ended.stdout


def test_members_are_listed_and_removed(
    run: Run, account_id: str, services: Services, do: Awaited
) -> None:
    account = UUID(account_id)
    person = do(create_person(services, ADA))
    member = do(create_member(services, account, Role.EDITOR, person))
    owner = do(create_member(services, account))
    rows = run.rows("members", "list", "--account", account_id)
    assert [row["id"] for row in rows] == [str(owner.id), str(member.id)]
    assert (rows[1]["email"], rows[1]["role"], rows[1]["last_seen_at"]) == (ADA, "editor", None)
    assert run.rows("members", "remove", "--account", account_id, ADA) == [rows[1]]
    assert do(services.accounts.members.list(account)) == [owner]
    [entry], _ = do(services.access.audit.page(account, 1, 10))
    assert (entry.action, entry.actor, entry.address) == ("member.removed", OPERATOR, "")


def test_a_password_reset_is_printed_as_a_link(
    public_run: Run, services: Services, do: Awaited
) -> None:
    person = do(create_person(services, ADA))
    for options, without_totp in (((), False), (("--without-totp",), True)):
        [row] = public_run.rows("members", "reset", ADA, *options)
        reset = do(services.access.invitations.find_open(token_of(row)))
        assert (reset.person_id, reset.without_totp) == (person.id, without_totp)
        assert (row["email"], row["role"]) == (ADA, None)


def test_what_is_not_there_exits_1_and_says_so(
    run: Run, account_id: str, services: Services, do: Awaited
) -> None:
    do(create_person(services, ADA))
    owner = do(create_person(services, "owner@example.com"))
    do(create_member(services, UUID(account_id), Role.OWNER, owner))
    for arguments, error in (
        (("reset", "x@example.com"), "x@example.com: nobody has this e-mail address"),
        (("remove", "--account", account_id, ADA), f"{ADA}: is not a member of the account"),
        (
            ("remove", "--account", account_id, owner.email),
            "role: an account keeps its last owner; make another owner first",
        ),
    ):
        ended = run("members", *arguments)
        assert (ended.returncode, ended.stdout) == (1, "")
        assert ended.stderr == f"python -m scripts.members: {error}\n"
