"""Accounts, and the people who are their members."""

from collections.abc import Sequence
from typing import NamedTuple

from tracker.access.passwords import Passwords
from tracker.access.services import AccessServices
from tracker.accounts.accounts import Accounts
from tracker.accounts.identity import Identity
from tracker.accounts.joining import Joining
from tracker.accounts.members import Members
from tracker.accounts.membership import Membership
from tracker.accounts.people import People
from tracker.accounts.second_factor import SecondFactor
from tracker.accounts.second_factor_setup import SecondFactorSetup
from tracker.accounts.self_service import SelfService
from tracker.accounts.sign_in import SigningIn
from tracker.accounts.sign_in_limit import SignInLimit
from tracker.accounts.time_zones import TimeZones
from tracker.clicks.pages.origins import Origins
from tracker.conversions.services import ConversionServices
from tracker.links.services import LinkServices
from tracker.public_url import PublicUrl
from tracker.stores.secret_box import Purpose, SecretBox
from tracker.stores.services import StoreServices
from tracker.web.call import Body, Call, Query


class AccountServices(NamedTuple):
    """The stores of accounts and people, and what people do with their own access."""

    accounts: Accounts
    time_zones: TimeZones
    people: People
    members: Members
    membership: Membership
    joining: Joining
    sign_in: SigningIn
    sign_in_limit: SignInLimit
    passwords: Passwords
    self_service: SelfService
    second_factor: SecondFactor
    second_factor_setup: SecondFactorSetup
    access: AccessServices
    origins: Origins
    conversions: ConversionServices
    links: LinkServices
    public_url: PublicUrl


def build(
    *,
    stores: StoreServices,
    access: AccessServices,
    origins: Origins,
    conversions: ConversionServices,
    links: LinkServices,
    public_url: PublicUrl,
    secret_keys: Sequence[bytes],
) -> AccountServices:
    """Return the accounts of a process. `secret_keys` encrypt the secrets of second factors."""
    accounts, identity = Accounts(stores.mongodb), _identity(stores, access)
    sign_in_limit = SignInLimit(access.rate_limiter)
    second_factor = SecondFactor(identity, SecretBox(secret_keys, Purpose.TOTP))
    sign_in = SigningIn(identity, sign_in_limit, second_factor)
    self_service = SelfService(identity, sign_in)
    return AccountServices(
        accounts=accounts,
        time_zones=TimeZones(stores.mongodb),
        people=identity.people,
        members=identity.members,
        membership=Membership(identity, links.tags),
        joining=Joining(identity, accounts, sign_in, sign_in_limit),
        sign_in=sign_in,
        sign_in_limit=sign_in_limit,
        passwords=identity.passwords,
        self_service=self_service,
        second_factor=second_factor,
        second_factor_setup=SecondFactorSetup(
            identity, sign_in, self_service, second_factor, public_url.host
        ),
        access=access,
        origins=origins,
        conversions=conversions,
        links=links,
        public_url=public_url,
    )


def _identity(stores: StoreServices, access: AccessServices) -> Identity:
    return Identity(
        database=stores.mongodb.database,
        people=People(stores.mongodb, access.invitations),
        members=Members(stores.mongodb, access.invitations),
        invitations=access.invitations,
        authority=access.authority,
        passwords=Passwords(),
        sessions=access.sessions,
        audit=access.audit,
    )


AccountCall = Call[AccountServices, Query, Body]
