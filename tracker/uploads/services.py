"""Uploads: their store, their files, and what works on them."""

from typing import NamedTuple

from tracker.conversions.services import ConversionServices
from tracker.jobs.files import Files
from tracker.journal.services import JournalServices
from tracker.stores.services import StoreServices
from tracker.uploads.store import Uploads
from tracker.uploads.worker import UploadWorker
from tracker.web.call import Body, Call, Query


class UploadServices(NamedTuple):
    """The uploads of a process."""

    uploads: Uploads
    files: Files
    worker: UploadWorker
    conversions: ConversionServices


def build(
    *, stores: StoreServices, conversions: ConversionServices, journal: JournalServices
) -> UploadServices:
    uploads, files = Uploads(stores.mongodb), Files(stores.mongodb)
    return UploadServices(
        uploads=uploads,
        files=files,
        worker=UploadWorker(uploads, files, conversions, journal),
        conversions=conversions,
    )


UploadCall = Call[UploadServices, Query, Body]
