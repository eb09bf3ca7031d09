"""Invite people to an account, list and remove its members, and reset passwords."""

import argparse
import os
import sys
from collections.abc import Sequence

from scripts.command import Command, OutputRow, add_account, require_account
from tracker.access.invitations import Invitation, join_url
from tracker.access.principal import Author
from tracker.access.roles import Role
from tracker.accounts.members import Member
from tracker.accounts.people import Person
from tracker.clock import iso
from tracker.errors import BadRequest, NotFound
from tracker.service.services import Services
from tracker.syntax.email import normal_email


async def _invite(services: Services, parsed: argparse.Namespace) -> list[OutputRow]:
    await require_account(services, parsed.account)
    [(role, email)] = [(role, given) for role in Role if (given := getattr(parsed, role))]
    author = Author.operator(parsed.account)
    invitation, token = await services.accounts.membership.invite(author, email, role)
    _warn_of_guessed_url(services)
    return [_link(services, invitation, token)]


async def _list(services: Services, parsed: argparse.Namespace) -> list[OutputRow]:
    await require_account(services, parsed.account)
    members = await services.accounts.members.list(parsed.account)
    people = await services.accounts.people.find_all([member.person_id for member in members])
    return [_row(member, people[member.person_id]) for member in members]


async def _remove(services: Services, parsed: argparse.Namespace) -> list[OutputRow]:
    await require_account(services, parsed.account)
    person = await _person(services, parsed.email)
    member = await services.accounts.members.find_person(parsed.account, person.id)
    if member is None:
        raise NotFound(f"{parsed.email}: is not a member of the account")
    await services.accounts.membership.remove(Author.operator(parsed.account), member.id)
    return [_row(member, person)]


async def _reset(services: Services, parsed: argparse.Namespace) -> list[OutputRow]:
    person = await _person(services, parsed.email)
    made = await services.accounts.membership.reset_password_as_operator(
        person, parsed.without_totp
    )
    _warn_of_guessed_url(services)
    return [_link(services, *made)]


async def _person(services: Services, email: str) -> Person:
    person = await services.accounts.people.find_by_email(email)
    if person is None:
        raise NotFound(f"{email}: nobody has this e-mail address")
    return person


def _warn_of_guessed_url(services: Services) -> None:
    """Warn that the address of a link is a guess, if BASE_URL is not set."""
    if not os.environ.get("BASE_URL"):
        guess = services.public_url.url
        print(f"BASE_URL is not set: the link leads to {guess}, which is a guess", file=sys.stderr)


def _link(services: Services, invitation: Invitation, token: str) -> OutputRow:
    return {
        "url": join_url(services.public_url.url, token),
        "email": invitation.email,
        "role": invitation.role,
        "expires_at": iso(invitation.expires_at),
    }


def _row(member: Member, person: Person) -> OutputRow:
    return {
        "id": member.id,
        "email": person.email,
        "name": person.name,
        "role": member.role,
        "totp": person.has_totp,
        "created_at": iso(member.created_at),
        "last_seen_at": member.last_seen_at and iso(member.last_seen_at),
    }


def _email(text: str) -> str:
    try:
        return normal_email("email", text)
    except BadRequest as error:
        raise argparse.ArgumentTypeError(error.message.removeprefix("email: ")) from None


def _add_emails(parser: argparse.ArgumentParser, roles: Sequence[Role]) -> None:
    group = parser.add_mutually_exclusive_group(required=True)
    for role in roles:
        about = f"e-mail address of the new {role}"
        group.add_argument(f"--{role}", type=_email, metavar="EMAIL", help=about)


def main() -> None:
    command = Command(
        "members",
        "Invite people to an account, list and remove its members, and reset passwords. A link "
        "works once, within 24 hours. No mail is sent: pass the printed link on yourself.",
        "python -m scripts.members invite --owner ada@example.com "
        "--account 0190b5a2-7c1e-7d3f-8a4b-5c6d7e8f9a0b",
    )
    invite = command.action("invite", "print a link to join the account", _invite)
    add_account(invite)
    _add_emails(invite, list(Role))
    add_account(command.action("list", "list an account's members, newest first", _list))
    remove = command.action("remove", "remove a member and end the member's sessions", _remove)
    add_account(remove)
    reset = command.action("reset", "print a link to set a new password", _reset)
    for parser in (remove, reset):
        parser.add_argument("email", type=_email, metavar="EMAIL", help="e-mail of the person")
    reset.add_argument(
        "--without-totp", action="store_true", help="the link also switches the second factor off"
    )
    command.main()


if __name__ == "__main__":
    main()
