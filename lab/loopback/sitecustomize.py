"""Guards each Python process of a run at its start. `guard` puts this folder on PYTHONPATH.

The rest of the project cannot be imported here yet: the process may run another release of it.
"""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

_NAME = "lab.loopback.guard"

if _NAME not in sys.modules:
    _spec = spec_from_file_location(_NAME, Path(__file__).with_name("guard.py"))
    assert _spec is not None
    assert _spec.loader is not None
    _module = module_from_spec(_spec)
    sys.modules[_NAME] = _module
    _spec.loader.exec_module(_module)
    _module.install()
