"""`/api/session/totp`: people switch their own second factor on and off."""

from typing import Annotated, Final

import msgspec
from msgspec import Meta

from tracker.accounts.api.session import (
    SessionRecord,
    new_session_cookie,
    requester_of,
    signed_in_answer,
)
from tracker.accounts.services import AccountCall
from tracker.accounts.totp import MAX_CODE_CHARACTERS
from tracker.web.call import AnswerWithHeaders, Nothing
from tracker.web.endpoint import Endpoints, Personal

endpoint = Endpoints("accounts")

EXAMPLE_CODE: Final = "492039"
_PASSWORD = {"password": "correct horse battery"}


class ConfirmPassword(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The password of the person, typed again."""

    password: str


class SwitchOff(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The password of the person, typed again, and a code."""

    password: str
    code: Annotated[
        str,
        Meta(max_length=MAX_CODE_CHARACTERS, description="of the app, or a recovery code"),
    ]


class ConfirmCode(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A code of the authenticator app."""

    code: Annotated[str, Meta(max_length=MAX_CODE_CHARACTERS)]


class TotpSetup(msgspec.Struct, kw_only=True):
    """The secret for an authenticator app. It takes effect with its first code."""

    secret: Annotated[str, Meta(description="in base32, to type")]
    uri: Annotated[str, Meta(description="otpauth://, with the secret")]
    qr_svg: Annotated[str, Meta(description="the URI as a QR code")]


class RecoveryCodes(msgspec.Struct, kw_only=True):
    """Codes that replace the app at sign-in, each once."""

    recovery_codes: Annotated[list[str], Meta(description="shown once: they cannot be read again")]


@endpoint("POST", "/api/session/totp", Personal(), example=_PASSWORD, operation_id="setUpTotp")
async def begin(call: AccountCall[Nothing, ConfirmPassword]) -> TotpSetup:
    """Begin to set up a second factor. It stays off until a code is sent."""
    services = call.services
    secret, uri = await services.second_factor_setup.begin(requester_of(call), call.body.password)
    image = await services.links.qr_codes.image(uri)
    return TotpSetup(secret=secret, uri=uri, qr_svg=image.decode())


@endpoint(
    "PATCH",
    "/api/session/totp",
    Personal(),
    example={"code": EXAMPLE_CODE},
    operation_id="enableTotp",
)
async def switch_on(call: AccountCall[Nothing, ConfirmCode]) -> AnswerWithHeaders[RecoveryCodes]:
    """Switch the second factor on. Every other session ends, and the cookie changes."""
    services = call.services
    setup = services.second_factor_setup
    codes, session_secret = await setup.switch_on(requester_of(call), call.body.code)
    shown = RecoveryCodes(recovery_codes=codes)
    return AnswerWithHeaders(shown, new_session_cookie(services, session_secret))


@endpoint(
    "POST",
    "/api/session/totp/disable",
    Personal(),
    example={**_PASSWORD, "code": EXAMPLE_CODE},
    operation_id="disableTotp",
)
async def switch_off(call: AccountCall[Nothing, SwitchOff]) -> AnswerWithHeaders[SessionRecord]:
    """Switch the second factor off. Every other session ends, and the cookie changes."""
    setup, body = call.services.second_factor_setup, call.body
    session, secret = await setup.switch_off(requester_of(call), body.password, body.code)
    return await signed_in_answer(call.services, session, secret)
