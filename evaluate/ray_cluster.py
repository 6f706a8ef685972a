"""Join a Ray cluster, or start one: the only module that imports Ray."""

from __future__ import annotations

import os
import secrets
from types import ModuleType

from evaluate.errors import EvaluateError


def connect(address: str, cpus: int) -> ModuleType:
    """Join a cluster, or start one on this machine for this run; with token authentication.

    Parameters
    ----------
    address : str
        ``auto`` for the cluster of this machine, ``local`` to start one here, or its address.
    cpus : int
        Of a cluster that is started here.

    Returns
    -------
    module
        Ray, connected; `shutdown` leaves the cluster, and ends one that was started here.

    Raises
    ------
    EvaluateError
        If there is no such cluster, or it refuses us.
    """
    # Off by default in Ray, and whoever reaches its ports runs code. It is read at import.
    os.environ["RAY_AUTH_MODE"] = "token"
    if address == "local" and not {"RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"} & os.environ.keys():
        os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)
    # actors without a GPU keep the devices that they see: Ray's coming default, else it warns
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    import ray

    try:
        ray.init(
            address=None if address == "local" else address,
            num_cpus=cpus if address == "local" else None,
            include_dashboard=False if address == "local" else None,
            log_to_driver=False,
            configure_logging=False,
            # loopback only: its ports are not for the network
            _node_ip_address="127.0.0.1" if address == "local" else None,
        )
    except (ConnectionError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
        lines = str(error).strip().splitlines()
        raise EvaluateError(
            f"no Ray cluster at {address!r}: {lines[0] if lines else type(error).__name__}; see "
            "docs/inference.md for how to start one with its token, or use `--address local`"
        ) from error
    return ray


def resources(ray: ModuleType) -> tuple[int, int]:
    """CPUs and GPUs of the cluster."""
    found = ray.cluster_resources()
    return int(found.get("CPU", 1)), int(found.get("GPU", 0))
