"""Saved views, and public links of reports."""

from typing import NamedTuple

from tracker.accounts.services import AccountServices
from tracker.limits.account_limiter import AccountLimiter
from tracker.public_url import PublicUrl
from tracker.reports.services import ReportServices
from tracker.sharing.opens import ShareOpens
from tracker.sharing.shares import Shares
from tracker.sharing.views import Views
from tracker.stores.services import StoreServices
from tracker.web.call import Body, Call, Query

_SHARED_REPORTS = 4, 16
"""Shared reports that are read at once: per account, and per process."""


class SharingServices(NamedTuple):
    """The stores of views and shares, and the objects for opening a share."""

    shares: Shares
    share_opens: ShareOpens
    views: Views
    shared_limiter: AccountLimiter
    accounts: AccountServices
    reports: ReportServices
    public_url: PublicUrl


def build(
    *,
    stores: StoreServices,
    accounts: AccountServices,
    reports: ReportServices,
    public_url: PublicUrl,
) -> SharingServices:
    return SharingServices(
        shares=Shares(stores.mongodb),
        share_opens=ShareOpens(stores.mongodb),
        views=Views(stores.mongodb),
        shared_limiter=AccountLimiter("share", "shared reports", *_SHARED_REPORTS, seconds=2),
        accounts=accounts,
        reports=reports,
        public_url=public_url,
    )


SharingCall = Call[SharingServices, Query, Body]
"""A call of an endpoint of this room."""
