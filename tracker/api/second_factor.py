"""`/api/session/totp`: people switch their own second factor on and off."""

from typing import Annotated, Final

import msgspec
from msgspec import Meta

from tracker.access.totp import MAX_CODE_CHARACTERS
from tracker.api.endpoint import Answer, Call, Endpoint, Nothing
from tracker.api.session import SessionRecord, holder_of, new_session_cookie, signed_in_answer


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
    """The secret for an authenticator app. It is in effect once a code of it was sent."""

    secret: Annotated[str, Meta(description="in base32, to type")]
    uri: Annotated[str, Meta(description="otpauth://, with the secret")]
    qr_svg: Annotated[str, Meta(description="the URI as a QR code")]


class RecoveryCodes(msgspec.Struct, kw_only=True):
    """The codes that sign in without the app, each once."""

    recovery_codes: Annotated[list[str], Meta(description="shown once: they cannot be read again")]


async def begin(call: Call[Nothing, ConfirmPassword]) -> TotpSetup:
    """Return a new secret for an authenticator app.

    Raises BadRequest if the password is wrong or the second factor is on, RateLimited after too
    many attempts.
    """
    services = call.services
    secret, uri = await services.own_second_factor.begin(holder_of(call), call.body.password)
    image = await services.qr_codes.secret_image(uri)
    return TotpSetup(secret=secret, uri=uri, qr_svg=image.decode())


async def switch_on(call: Call[Nothing, ConfirmCode]) -> Answer:
    """Switch the second factor on; every session ends, and the browser gets a new one.

    Raises BadRequest if the setup has not begun or the code is wrong.
    """
    services = call.services
    done = await services.own_second_factor.switch_on(holder_of(call), call.body.code)
    codes = RecoveryCodes(recovery_codes=done.recovery_codes)
    return Answer(codes, new_session_cookie(services, done.session_secret))


async def switch_off(call: Call[Nothing, SwitchOff]) -> Answer:
    """Switch the second factor off; every session ends, and the browser gets a new one.

    Raises BadRequest if password or code is wrong or the second factor is off, RateLimited after
    too many attempts.
    """
    services, body = call.services, call.body
    renewed = await services.own_second_factor.switch_off(holder_of(call), body.password, body.code)
    return await signed_in_answer(services, *renewed)


EXAMPLE_CODE: Final = "492039"
_PASSWORD = {"password": "correct horse battery"}

ENDPOINTS = (
    Endpoint(
        "POST",
        "/api/session/totp",
        None,
        begin,
        "Begin to set up a second factor; it stays off until a code is sent",
        TotpSetup,
        body=ConfirmPassword,
        example=_PASSWORD,
        operation_id="setUpTotp",
    ),
    Endpoint(
        "PATCH",
        "/api/session/totp",
        None,
        switch_on,
        "Switch the second factor on; every other session ends, and the cookie changes",
        RecoveryCodes,
        body=ConfirmCode,
        example={"code": EXAMPLE_CODE},
        operation_id="switchTotpOn",
    ),
    Endpoint(
        "POST",
        "/api/session/totp/disable",
        None,
        switch_off,
        "Switch the second factor off; every other session ends, and the cookie changes",
        SessionRecord,
        body=SwitchOff,
        example={**_PASSWORD, "code": EXAMPLE_CODE},
        operation_id="switchTotpOff",
    ),
)
