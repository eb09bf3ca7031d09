"""The service as a load meets it: its own processes, without what would hold a load back."""

from pathlib import Path
from typing import Literal

from msgspec import structs

from config.settings import Settings
from lab.processes import Process, service_program, variables_of


def service(
    folder: Path, stores: Settings, role: Literal["all", "web", "drain"], port: int
) -> Process:
    """Not started. Its log and its files are in `folder`; `stores` says where the stores are. One
    web process; no limits by address, as all of a load comes from one; no access log."""
    settings = structs.replace(
        stores,
        host="127.0.0.1",
        port=port,
        base_url=f"http://127.0.0.1:{port}",
        data_dir=str(folder / "service"),
        rate_limit_ip_per_minute=0,
        rate_limit_account_per_hour=0,
        miss_limit_ip_per_minute=0,
        pending_limit_ip_per_minute=0,
        access_log=0.0,
        log_level="warning",
    )
    return Process(service_program(folder, role, role, variables_of(settings)), port)
