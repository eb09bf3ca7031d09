"""`/.well-known/`: a custom domain's texts for apps. On every other host there are none."""

from uuid import UUID

from tracker.links.hostnames import canonical_hostname
from tracker.web.endpoint import HandledEndpoint
from tracker.web.handler import Content, UnknownPath
from tracker.web.openapi_parts import REQUEST_ID, json_content, public_error, without_content

_NAMES = {
    "/.well-known/apple-app-site-association": "apple_app_site_association",
    "/.well-known/assetlinks.json": "assetlinks",
}


class WellKnown(UnknownPath):
    """The handler of both texts. Without one, the path does not exist."""

    room = "links"

    async def get(self) -> None:
        host = canonical_hostname(self.header("Host").partition(":")[0])
        domain = host and await self.services.domains.by_name(host, self.client_address())
        if domain and domain.verified:
            name = _NAMES[self.request.path]
            if text := await self.services.domains.text(UUID(domain.namespace), name):
                self.finish_with(Content("application/json", text.encode()))
                return
        raise self.method_error()

    head = get


_FOUND = {"description": "The text.", "content": json_content({}), "headers": REQUEST_ID}
_ANSWERS = {200: _FOUND, **{status: public_error(status) for status in (404, 500, 503)}}

_TITLE = "A domain's text for apps"
_GET, _HEAD = (
    ("GET", "", _TITLE, _ANSWERS),
    ("HEAD", "Head", f"{_TITLE}; headers only", without_content(_ANSWERS)),
)
ENDPOINTS = tuple(
    HandledEndpoint(method, path, WellKnown, f"{operation}{added}", "Domains", title, answers)
    for path, operation in zip(_NAMES, ("getAppleAppSiteAssociation", "getAssetLinks"), strict=True)
    for method, added, title, answers in (_GET, _HEAD)
)
