"""All faults by name."""

from __future__ import annotations

from collections.abc import Mapping

from hardware_mocks.camera_faults import CAMERA
from hardware_mocks.faults import Fault
from hardware_mocks.host_faults import HOST
from hardware_mocks.light_faults import LIGHT
from hardware_mocks.picture_faults import PICTURE

FAULTS: Mapping[str, Fault] = {**CAMERA, **PICTURE, **LIGHT, **HOST}
