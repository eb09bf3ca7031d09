"""Every module of endpoints is in the table."""

import pkgutil
from importlib import import_module

import tracker
from tracker.service.api.routes import DECLARED_ENDPOINTS
from tracker.web.endpoint import Endpoints


def test_what_a_module_declares_is_in_the_table() -> None:
    names = [one.name for one in pkgutil.walk_packages(tracker.__path__, "tracker.")]
    declared = [
        row
        for name in names
        if ".api" in name
        for found in vars(import_module(name)).values()
        if isinstance(found, Endpoints)
        for row in found.rows
    ]
    assert declared
    assert [row for row in declared if row not in DECLARED_ENDPOINTS] == []
