"""Attacks on passwords: of people who sign in beside a neighbour, and of a protected link."""

import asyncio
import secrets
import time
from collections import Counter

from lab.abuse.attack import (
    ATTACKER_ADDRESS,
    PROTECTED,
    Report,
    Target,
    attempt,
    barrage,
    counted,
    from_new_address,
    signs_in,
)
from lab.requests import post
from tracker.clicks.redirects.protection import FOR_LINK


async def neighbour_at_sign_in(target: Target, seconds: float) -> Report:
    """Guess passwords for many e-mails, while a person signs in from the same address, from which
    they have signed in before."""

    def guess() -> bytes:
        return attempt(target.port, f"{secrets.token_hex(8)}@nobody.example", "wrong password")

    attack = asyncio.create_task(
        barrage(target.port, guess, 20, seconds, {"401", "429"}, connections=64)
    )
    person = Counter[str]()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        person[f"person {await signs_in(target.port, ATTACKER_ADDRESS)}"] += 1
        await asyncio.sleep(0.5)
    guessed = await attack
    report = counted(person + Counter(guessed.answers), {"401", "429", "person 200"})
    if "429" not in guessed.answers:
        report.findings.append("an address may guess without end")
    return report


async def guessed_passwords(target: Target, seconds: float) -> Report:
    """Guess the password of a link from ever new addresses, more at once than may wait."""

    def guess() -> bytes:
        return post(PROTECTED, "", b"password=%d" % secrets.randbits(60), from_new_address())

    allowed = {"401", "429", "503", "not answered", "not sent in time"}
    found = await barrage(target.port, guess, 200, seconds, allowed, connections=100)
    if found.answers.get("401", 0) > FOR_LINK:
        found.findings.append("a link takes guesses without end")
    return found
