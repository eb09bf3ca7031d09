"""The banner of a trial: its line of the console, at the first start and later ones."""

import re

import pytest

from tests.factories import create_member
from tracker.access.principal import OPERATOR
from tracker.access.roles import Role
from tracker.errors import NotFound
from tracker.service.banner import show_banner
from tracker.service.services import Services


async def banner(services: Services, capsys: pytest.CaptureFixture[str]) -> str:
    await show_banner(services, is_trial=True)
    return capsys.readouterr().out


def token_in(text: str) -> str:
    match = re.search(
        r"^  console     http://tracker\.test/console/join#(\S+) ", text, re.MULTILINE
    )
    assert match is not None, text
    return match[1]


async def test_each_start_prints_a_new_invitation_until_the_account_has_an_owner(
    services: Services, capsys: pytest.CaptureFixture[str]
) -> None:
    first = token_in(await banner(services, capsys))
    invitation = await services.access.invitations.find_open(first)
    assert (invitation.email, invitation.role) == (None, Role.OWNER)
    assert invitation.created_by == OPERATOR
    second = token_in(await banner(services, capsys))
    await services.access.invitations.find_open(second)
    with pytest.raises(NotFound):
        await services.access.invitations.find_open(first)
    [account] = await services.accounts.accounts.list()
    await create_member(services, account.id, Role.EDITOR)
    token_in(await banner(services, capsys))
    await create_member(services, account.id, Role.OWNER)
    later = await banner(services, capsys)
    assert "  console     http://tracker.test/console\n" in later
    assert "#" not in later


async def test_the_console_comes_before_keys_and_commands(
    services: Services, capsys: pytest.CaptureFixture[str]
) -> None:
    text = await banner(services, capsys)
    places = [text.index(one) for one in ("/console/join#", "trk_", "curl ", "export ")]
    assert places == sorted(places)
