"""The sensor and JPEG engine of the virtual camera: scene, light and settings to pixels.

Per output pixel, with u in square roots of electrons::

    e  = luminance * vignetting * exposure * full scale     expected photoelectrons
    u  = sqrt(e + read^2 + dark) + n,  std(n) constant      variance-stabilised (Anscombe 1948)
    DN = clip(round((u^2 - read^2 - dark) / gain) + black level)
    pixel = tone curve of DN

Squaring undoes the root, so shot and read noise come out with the right variance e + read^2 + dark,
while the noise itself is one fixed field, made once and shifted from shot to shot, and everything
after the root is one lookup table. That makes a frame a matter of milliseconds.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from hardware_mocks import optics
from hardware_mocks.scene import Scene
from schemas.exposure import true_f_number, true_shutter_s

# A pixel of the S2 picture (1920 x 1280) gathers 9.8 photosites of a 24-megapixel APS-C sensor.
# The electron counts are typical of such sensors, not measured on a T7. NOISE_GAIN brings the
# deviation in flat midtones at ISO 3200 to 2.3 levels; real T7 frames have 2.5 to 3, and 1.3 in the
# shadows, where this model, with no noise reduction that follows brightness, has 2.4.
FULL_SCALE_E = 300_000.0  #: photoelectrons at digital white, ISO 100
FULL_WELL_E = 310_000.0  #: photoelectrons that fit in, whatever the ISO
READ_NOISE_E = 3.0  #: before the amplifier, so at any ISO
ADC_NOISE_E = 36.0  #: after the amplifier: in photoelectrons at ISO 100, halved by each ISO stop
DARK_E_PER_S = 0.2  #: dark current at room temperature
NOISE_GAIN = 1.4  #: sharpening less noise reduction

#: 14-bit converter: level of no light, and of digital white.
BLACK_LEVEL = 2048
WHITE_LEVEL = 15_300
ADC_MAX = 16_383

#: Share of noise variance common to the channels: the engine removes colored noise.
_COMMON_NOISE = 0.9
#: Weight of each neighbor in the noise: correlation of 0.25 between neighbors, as in real frames.
_NEIGHBOR = 0.13
#: Pixels by which the noise field is larger than the frame, and so can be shifted.
_SHIFTS = 128
#: Steps of the lookup table per square root of an electron.
_STEPS = 16.0
#: Rows developed at a time: their buffers stay in the CPU's cache.
_BAND_ROWS = 32

# Marked settings are off by fixed errors (relative, standard deviation), and vary from shot to
# shot: the iris by a share, the shutter by a share and by some microseconds of its curtains.
_SHUTTER_ERROR = 0.02
_IRIS_ERROR = 0.01
_SHUTTER_JITTER = 0.003
_CURTAIN_JITTER_S = 3e-6
_IRIS_JITTER = 0.003

_Value = TypeVar("_Value", np.uint8, np.uint16)


@dataclass(frozen=True, eq=False)
class Developed:
    """A picture, and how it was really exposed.

    Attributes
    ----------
    pixels : numpy.ndarray
        uint8 (H, W, 3), RGB.
    shutter_s, f_number : float
        What shutter and iris did: true stop, fixed error and jitter included.
    """

    pixels: npt.NDArray[np.uint8]
    shutter_s: float
    f_number: float


@dataclass(frozen=True)
class _Shot:
    """The physical side of one exposure; `rng` is drawn from its identity alone."""

    exposure: float
    shutter_s: float
    f_number: float
    iso: int
    rng: np.random.Generator

    @property
    def full_scale_e(self) -> float:
        return FULL_SCALE_E * 100 / self.iso

    @property
    def floor_e2(self) -> float:
        """Variance without light: both read noises and the dark current's shot noise."""
        adc = ADC_NOISE_E * 100 / self.iso
        return READ_NOISE_E**2 + adc**2 + DARK_E_PER_S * self.shutter_s


class Sensor:
    """One body's sensor, shutter and iris.

    Parameters
    ----------
    seed
        Identity of the body: its fixed errors and its noise. The same seed, scene, light, settings
        and `nth` give the same picture, bit for bit.
    """

    def __init__(self, seed: int = 0) -> None:
        self._seed = seed
        self._noise: dict[tuple[int, int], npt.NDArray[np.float32]] = {}

    def develop(
        self, scene: Scene, *, lux: float, shutter_s: float, f_number: float, iso: int, nth: int
    ) -> Developed:
        """Expose `scene` and develop it to 8 bits.

        Parameters
        ----------
        lux
            Light on the scene, mean over the exposure.
        shutter_s, f_number, iso
            Marked settings; the body exposes true stops with its own errors.
        nth
            How often these settings were exposed before: another `nth`, another noise.

        Raises
        ------
        ValueError
            If `lux` is negative or a setting is not positive.
        """
        shot = self._shot(scene, lux, shutter_s, f_number, iso, nth)
        levels = _analog_to_digital(shot)
        linear = (levels.astype(np.float64) - BLACK_LEVEL) / (WHITE_LEVEL - BLACK_LEVEL)
        pixels = self._read_out(scene, shot, np.rint(optics.tone(linear)).astype(np.uint8))
        return Developed(pixels, shot.shutter_s, shot.f_number)

    def raw(
        self, scene: Scene, *, lux: float, shutter_s: float, f_number: float, iso: int, nth: int
    ) -> npt.NDArray[np.uint16]:
        """The same exposure before the tone curve: uint16 (H, W, 3) of 14 bits, BLACK_LEVEL up."""
        shot = self._shot(scene, lux, shutter_s, f_number, iso, nth)
        return self._read_out(scene, shot, _analog_to_digital(shot))

    def _shot(
        self, scene: Scene, lux: float, shutter_s: float, f_number: float, iso: int, nth: int
    ) -> _Shot:
        if not (lux >= 0 and shutter_s > 0 and f_number > 0 and iso > 0):
            raise ValueError(
                f"cannot expose {shutter_s} s, f/{f_number}, ISO {iso} at {lux} lux: "
                "settings must be positive and light not negative"
            )
        marked_s, marked_n = true_shutter_s(shutter_s), true_f_number(f_number)
        rng = self._random("shot", scene.digest, float(lux), marked_s, marked_n, int(iso), nth)
        share, curtains, iris = rng.standard_normal(3).clip(-3, 3)
        real_s = marked_s * self._fixed_error("shutter", marked_s, _SHUTTER_ERROR)
        real_s = real_s * (1 + _SHUTTER_JITTER * share) + _CURTAIN_JITTER_S * curtains
        real_n = marked_n * self._fixed_error("iris", marked_n, _IRIS_ERROR)
        real_n *= 1 + _IRIS_JITTER * iris
        exposure = optics.relative_exposure(lux=lux, shutter_s=real_s, iso=iso, f_number=real_n)
        return _Shot(exposure, float(real_s), float(real_n), int(iso), rng)

    def _read_out(
        self, scene: Scene, shot: _Shot, table: npt.NDArray[_Value]
    ) -> npt.NDArray[_Value]:
        """`table` of each pixel's root of electrons, noise included; shape of the scene."""
        height, width, channels = scene.luminance.shape
        light = scene.luminance.reshape(height, width * channels)
        lens = optics.falloff(width, height, shot.f_number)
        rows = lens.rows[:, None] * np.float32(shot.exposure * shot.full_scale_e)
        columns = np.repeat(lens.columns, channels)
        noise = self._noise_field(width, height, shot.rng)
        floor, steps = np.float32(shot.floor_e2), np.float32(_STEPS)
        # The light has no upper end, the table has. It needs no check at its lower one: the root
        # is at least READ_NOISE_E, which the clipped noise never reaches.
        last = np.float32(len(table) - 1)

        out = np.empty_like(light, dtype=table.dtype)
        root = np.empty((_BAND_ROWS, width * channels), np.float32)
        index = np.empty(root.shape, np.intp)
        for top in range(0, height, _BAND_ROWS):
            band = slice(top, min(top + _BAND_ROWS, height))
            u, i = root[: band.stop - top], index[: band.stop - top]
            np.multiply(light[band], columns, out=u)
            u *= rows[band]
            u += floor
            np.sqrt(u, out=u)
            u *= steps
            u += noise[band]
            np.minimum(u, last, out=u)
            i[...] = u
            np.take(table, i, out=out[band], mode="clip")  # "clip" spares take() a buffer
        return out.reshape(scene.luminance.shape)

    def _noise_field(
        self, width: int, height: int, rng: np.random.Generator
    ) -> npt.NDArray[np.float32]:
        """Noise of one shot in table steps, shape (H, W * 3): part of the field, maybe upturned.

        Two shots share a noise pattern by a chance of 1 in 33,282.
        """
        field = self._noise.get((width, height))
        if field is None:
            field = self._noise[width, height] = self._make_noise(width, height)
        top, left, upturned = rng.integers((_SHIFTS + 1, _SHIFTS + 1, 2))
        part = field[top : top + height, 3 * left : 3 * (left + width)]
        return part[::-1] if upturned else part

    def _make_noise(self, width: int, height: int) -> npt.NDArray[np.float32]:
        rng = self._random("noise")
        shape = (height + _SHIFTS, width + _SHIFTS)
        common = rng.standard_normal((*shape, 1), dtype=np.float32)
        field = rng.standard_normal((*shape, 3), dtype=np.float32)
        field *= np.float32(np.sqrt(1 - _COMMON_NOISE))
        field += np.float32(np.sqrt(_COMMON_NOISE)) * common
        for axis in (0, 1):
            field += np.float32(_NEIGHBOR) * (np.roll(field, 1, axis) + np.roll(field, -1, axis))
        field /= 1 + 2 * _NEIGHBOR**2  # unit variance again, after two axes
        np.clip(field, -4, 4, out=field)
        field *= np.float32(_STEPS * NOISE_GAIN / 2)  # the root of a Poisson variable has std 1/2
        field += np.float32(0.5)  # the index is cut off, not rounded
        return field.reshape(shape[0], shape[1] * 3)

    def _fixed_error(self, part: str, marked: float, deviation: float) -> float:
        """Factor by which this body misses a marked setting, within two standard deviations."""
        draw = self._random(part, marked).standard_normal()
        return 1 + deviation * max(-2.0, min(2.0, draw))

    def _random(self, *identity: object) -> np.random.Generator:
        text = "/".join(map(repr, (self._seed, *identity)))
        return np.random.default_rng(int.from_bytes(hashlib.sha256(text.encode()).digest()))


def _analog_to_digital(shot: _Shot) -> npt.NDArray[np.uint16]:
    """Converter output in 14 bits for each step of the root of electrons."""
    brightest = (min(FULL_WELL_E, 1.3 * shot.full_scale_e) + shot.floor_e2) ** 0.5
    root = np.arange(int(brightest * _STEPS) + 2) / _STEPS
    # Noise of variance v in the root adds v to the mean of its square.
    electrons = root**2 - shot.floor_e2 - NOISE_GAIN**2 / 4
    electrons = np.minimum(electrons, FULL_WELL_E)
    scale = (WHITE_LEVEL - BLACK_LEVEL) / shot.full_scale_e
    return np.clip(np.rint(electrons * scale) + BLACK_LEVEL, 0, ADC_MAX).astype(np.uint16)
