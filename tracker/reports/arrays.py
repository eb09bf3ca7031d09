"""numpy, imported at its first use: it takes 11 MB, which processes without reports do not need.

`load` before the work, so that the event loop does not wait for the import.
"""

import asyncio
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
else:

    class _Numpy:
        def __getattr__(self, name: str) -> Any:
            value = getattr(import_module("numpy"), name)
            setattr(self, name, value)  # the next use finds it here
            return value

    np = _Numpy()


async def load() -> None:
    """Import numpy in a thread, unless it is imported: 0.1 s, of which the loop misses 15 ms."""
    if "ndarray" not in vars(np):
        await asyncio.to_thread(getattr, np, "ndarray")


__all__ = ["load", "np"]
