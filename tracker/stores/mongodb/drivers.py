"""The only place that builds the service's MongoDB clients, and that imports their classes.

Each call has a timeout. Clients belong to their event loop and process: build them after a fork.
"""

from typing import Any

from motor.motor_asyncio import (
    AsyncIOMotorClient,
    AsyncIOMotorClientSession,
    AsyncIOMotorCollection,
    AsyncIOMotorDatabase,
)
from pymongo import AsyncMongoClient
from pymongo.asynchronous.client_session import AsyncClientSession
from pymongo.asynchronous.command_cursor import AsyncCommandCursor
from pymongo.asynchronous.cursor import AsyncCursor
from pymongo.asynchronous.database import AsyncDatabase

Database = AsyncIOMotorDatabase[dict[str, Any]]
Collection = AsyncIOMotorCollection[dict[str, Any]]
MongoClient = AsyncIOMotorClient[dict[str, Any]]
MongoSession = AsyncIOMotorClientSession

ReadingClient = AsyncMongoClient[dict[str, Any]]
ReadingDatabase = AsyncDatabase[dict[str, Any]]
ReadingSession = AsyncClientSession
ReadingCursor = AsyncCursor[dict[str, Any]]
ReadingCommandCursor = AsyncCommandCursor[dict[str, Any]]

MONGODB_TIMEOUT_SECONDS = 5.0
"""For one operation, retries of the driver and its search for a server included."""

_MONGODB_CONNECT_SECONDS = 2.0
"""For a connection to MongoDB, and for the search for its primary."""

UNLIMITED = 0
"""For `pymongo.timeout`, in which None would mean the client's own limit."""


def mongodb(uri: str) -> MongoClient:
    """Return a client whose writes are durable on a majority. Less loses them in a crash."""
    return AsyncIOMotorClient(uri, w="majority", journal=True, **_mongodb_options())


def mongodb_for_reads(uri: str) -> ReadingClient:
    """Return a client for reads in the request path. It works on the loop; motor uses threads."""
    return AsyncMongoClient(uri, **_mongodb_options())


def _mongodb_options() -> dict[str, Any]:
    return {
        "uuidRepresentation": "standard",
        "tz_aware": True,
        "readConcernLevel": "majority",
        # Also if the URI names another: the drain has to see its own writes.
        "readPreference": "primary",
        "timeoutMS": int(MONGODB_TIMEOUT_SECONDS * 1000),
        "serverSelectionTimeoutMS": int(_MONGODB_CONNECT_SECONDS * 1000),
        "connectTimeoutMS": int(_MONGODB_CONNECT_SECONDS * 1000),
        "appname": "tracker",
    }
