"""A user creates a link, opens it and converts, with the service as a process."""

from uuid import UUID

from bson import Decimal128

from config.settings import Settings
from tests.system.conftest import Rows
from tests.system.owner import (
    scripted_event_config,
    scripted_owner,
)
from tests.system.service import Service, environment
from tests.waiting import until

PHONE = (
    "Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) "
    "Chrome/126.0.0.0 Mobile Safari/537.36"
)


def test_a_link_is_created_opened_and_converted(
    settings: Settings, service: Service, database: Rows
) -> None:
    owner = scripted_owner(environment(settings))
    pbk = scripted_event_config(environment(settings), owner, "RevShare")
    link = owner.create_link(service, slug="offer").json
    opened = service.get(
        "/c/offer?utm_source=mail&x=%20y", {"User-Agent": PHONE, "Referer": "https://news.test/"}
    )
    assert opened.status == 302
    assert opened.location == (
        f"https://shop.test/p?utm_source=mail&x=%20y&click_id={opened.click_id}"
    )

    click_id = UUID(opened.click_id)
    until(lambda: database["clicks"].find_one({"_id": click_id}) is not None)
    click = database["clicks"].find_one({"_id": click_id})
    assert click is not None
    assert (click["device"], click["browser"], click["os"]) == ("mobile", "Chrome", "Android")
    assert (click["bot"], click["country"]) == (None, "unknown")
    assert (click["link_id"], click["account_id"]) == (UUID(link["id"]), UUID(owner.account_id))
    assert (click["referrer"], click["query"]) == (
        "https://news.test/",
        "utm_source=mail&x=%20y",
    )
    assert not any("127.0.0.1" in str(value) for value in click.values())

    event = service.get(f"/api/event?pbk={pbk}&click_id={opened.click_id}&value=12.50")
    assert event.status == 200
    assert event.json == {
        "success": True,
        "eventId": event.json["eventId"],
        "clickStatus": "found",
        "clickNamed": True,
    }
    until(lambda: database["events"].count_documents({"status": "attributed"}) == 1)
    stored = database["events"].find_one({"_id": event.json["eventId"]})
    assert stored is not None
    assert (stored["value"], stored["payout"]) == (Decimal128("12.50"), Decimal128("1.25"))
    assert (stored["link_id"], stored["device"]) == (UUID(link["id"]), "mobile")
