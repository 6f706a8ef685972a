"""What the API tells from the catalog: grid, light, frames, history, and what can be started."""

from __future__ import annotations

from fastapi import APIRouter

from capture.daemon.service import Service


def make_reading(service: Service) -> APIRouter:
    """The routes that only read."""
    router = APIRouter()
    del service
    return router
