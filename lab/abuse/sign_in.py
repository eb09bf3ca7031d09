"""The attack on people who sign in: a neighbour at the same address uses up its attempts."""

import asyncio
import secrets
import time
from collections import Counter

from lab.abuse.attack import ATTACKER_ADDRESS, Report, Target, attempt, barrage, counted, signs_in


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
