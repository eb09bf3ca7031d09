"""A MongoDB that does not answer."""

import msgspec

from config.settings import Settings
from tests.ports import free_port


def without_mongodb(settings: Settings) -> Settings:
    uri = f"mongodb://127.0.0.1:{free_port()}/?directConnection=true"
    return msgspec.structs.replace(settings, mongodb_uri=uri)
