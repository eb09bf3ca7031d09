"""The endpoints that are functions, by who may call them."""

from tracker.service.api.routes import DECLARED_ENDPOINTS
from tracker.web.endpoint import Personal, Public, ScopelessAccess

KEYED_ENDPOINTS = [one for one in DECLARED_ENDPOINTS if not isinstance(one.access, ScopelessAccess)]
PEOPLES_ENDPOINTS = [one for one in DECLARED_ENDPOINTS if isinstance(one.access, Personal)]
PUBLIC_ENDPOINTS = [one for one in DECLARED_ENDPOINTS if isinstance(one.access, Public)]
