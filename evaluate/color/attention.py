"""Where a classifier looks: Grad-CAM over pictures. The only module that imports grad-cam.

Selvaraju et al., "Grad-CAM: visual explanations from deep networks via gradient-based
localization", ICCV 2017.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from evaluate.color.pixels import decode_small
from evaluate.errors import EvaluateError
from schemas.color_store import ColorFrame
from schemas.workspace import Workspace, WorkspaceError

if TYPE_CHECKING:
    import torch

Pixels = npt.NDArray[np.uint8]
Heat = npt.NDArray[np.float32]

#: How much of the heat map covers the picture where the evidence is strongest.
_OPACITY = 0.65
_COLORS = "turbo"

_JPEG_QUALITY = 85


@dataclass(frozen=True)
class Watched:
    """A classifier whose attention can be shown.

    Attributes
    ----------
    name : str
    network : torch.nn.Module
        Takes float32, shape (N, 3, H, W), and gives one score a class.
    prepare : callable
        Upright RGB, uint8, shape (H, W, 3) → the network's input, float32, shape (3, H, W).
    crop_pct : float
        Part of the picture's shorter side that the input shows.
    squashed : bool
        Whether the whole picture is squashed to the input's shape before that crop; otherwise the
        input is a square from its middle.
    """

    name: str
    network: torch.nn.Module
    prepare: Callable[[Pixels], npt.NDArray[np.float32]]
    crop_pct: float
    squashed: bool = False


def load_watched(name: str, device: str = "auto") -> Watched:
    """A classifier of the zoo.

    Raises
    ------
    EvaluateError
        If there is no such model, or it cannot run here.
    """
    import torch

    from evaluate.providers import LoadOptions, load_model
    from evaluate.providers.classifier import ImageNetClassifier
    from evaluate.zoo import find_model

    model = load_model(find_model(name), LoadOptions(device=device))
    if not isinstance(model, ImageNetClassifier) or not isinstance(model.logits, torch.nn.Module):
        raise EvaluateError(f"{name} is no network of its own whose feature maps can be seen")
    pictures = model.pictures
    mode = pictures.settings.get("crop_mode", "center")
    if mode not in ("center", "squash"):
        raise EvaluateError(f"{name} prepares pictures by {mode!r}: where it looks is not known")

    def prepare(pixels: Pixels) -> npt.NDArray[np.float32]:
        cpu = torch.device("cpu")
        batch = pictures.batch([pictures.prepare(pixels)], cpu, torch.float32)
        return np.asarray(batch[0].numpy(), np.float32)

    share = float(pictures.settings.get("crop_pct", 1.0))
    return Watched(name, model.logits, prepare, share, mode == "squash")


def attention(watched: Watched, pixels: Pixels, class_index: int | None = None) -> Heat:
    """How much each place speaks for a class, by Grad-CAM on the last feature map.

    Parameters
    ----------
    pixels : array
        Upright RGB, shape (H, W, 3).
    class_index : int or None
        None: the class that the network takes it for.

    Returns
    -------
    array
        Shape (H, W) of the picture, 0 to 1; 0 where the network saw nothing of it.

    Raises
    ------
    EvaluateError
        If grad-cam is not installed, or the network has no feature maps.
    """
    import torch

    gradcam, target = _package()
    device = next(watched.network.parameters()).device
    pictures = torch.from_numpy(np.ascontiguousarray(watched.prepare(pixels))[None]).to(device)
    layer, channels_last = _last_map(watched, pictures)
    targets = None if class_index is None else [target(class_index)]
    reshape = _channels_first if channels_last else None
    with torch.enable_grad(), gradcam(watched.network, [layer], reshape) as cam:
        heat = np.asarray(cam(pictures, targets)[0], np.float32)
    watched.network.zero_grad()
    return _placed(heat, watched, pixels.shape[0], pixels.shape[1])


def overlay(pixels: Pixels, heat: Heat) -> Pixels:
    """Paint a heat map, shape (H, W), over a picture of that size; 0 leaves it as it is."""
    import matplotlib as mpl

    opacity = _OPACITY * heat[..., None]
    colors = 255 * mpl.colormaps[_COLORS](heat)[..., :3]
    painted = (1 - opacity) * pixels + opacity * colors
    return np.asarray(np.clip(np.rint(painted), 0, 255), np.uint8)


def attention_maker(
    workspace: Workspace, watched: Watched
) -> Callable[[ColorFrame, int], bytes | None]:
    """A function that gives a frame with what the model looks at, as a small JPEG.

    None where its file cannot be read. The network sees the frame at its full size.
    """

    def make(frame: ColorFrame, width_px: int) -> bytes | None:
        if not frame.path:
            return None
        try:
            pixels = decode_small(workspace.resolve(frame.path), frame.sha256, whole=True)
        except (EvaluateError, WorkspaceError):
            return None  # `snaprig check` says why
        picture = Image.fromarray(overlay(pixels, attention(watched, pixels)))
        picture.thumbnail((width_px, width_px), Image.Resampling.LANCZOS)
        buffer = io.BytesIO()
        picture.save(buffer, "JPEG", quality=_JPEG_QUALITY)
        return buffer.getvalue()

    return make


def seen_box(watched: Watched, height_px: int, width_px: int) -> tuple[float, float, float, float]:
    """Left, top, right, bottom of what the input shows of a picture, in its pixels."""
    shorter = min(height_px, width_px)
    across, down = (width_px, height_px) if watched.squashed else (shorter, shorter)
    half_width, half_height = across * watched.crop_pct / 2, down * watched.crop_pct / 2
    x, y = width_px / 2, height_px / 2
    return x - half_width, y - half_height, x + half_width, y + half_height


def _placed(heat: Heat, watched: Watched, height_px: int, width_px: int) -> Heat:
    left, top, right, bottom = (round(at) for at in seen_box(watched, height_px, width_px))
    size = (max(1, right - left), max(1, bottom - top))
    scaled = np.asarray(Image.fromarray(heat).resize(size, Image.Resampling.BILINEAR))
    whole = np.zeros((height_px, width_px), np.float32)
    # `crop_pct` above 1 would show a border; the picture has none
    inside = whole[max(0, top) : bottom, max(0, left) : right]
    inside[:] = scaled[
        max(0, -top) : max(0, -top) + inside.shape[0],
        max(0, -left) : max(0, -left) + inside.shape[1],
    ]
    return np.clip(whole, 0, 1)


def _last_map(watched: Watched, pictures: torch.Tensor) -> tuple[torch.nn.Module, bool]:
    """The last part of a network that gives a map of the picture; whether channels come last."""
    import torch

    found: list[tuple[torch.nn.Module, tuple[int, ...]]] = []

    def note(module: torch.nn.Module, _given: Any, made: Any) -> None:  # noqa: ANN401 - torch's
        # tokens have three dimensions; what is pooled has none left of the picture
        if isinstance(made, torch.Tensor) and made.ndim in (3, 4) and min(made.shape[1:]) > 1:
            found.append((module, tuple(made.shape)))

    hooks = [child.register_forward_hook(note) for child in watched.network.children()]
    try:
        with torch.inference_mode():
            watched.network(pictures)
    finally:
        for hook in hooks:
            hook.remove()
    if not found or len(found[-1][1]) == 3:
        raise EvaluateError(
            f"{watched.name} keeps no map of the picture to its end: attention is shown for "
            "convolutional networks and those that keep one, such as Swin"
        )
    module, shape = found[-1]
    channels = getattr(watched.network, "num_features", shape[1])
    return module, shape[1] != channels and shape[3] == channels


def _channels_first(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.permute(0, 3, 1, 2)


def _package() -> tuple[Any, Any]:
    try:
        from pytorch_grad_cam import GradCAM
        from pytorch_grad_cam.utils.model_targets import ClassifierOutputTarget
    except ImportError as error:
        raise EvaluateError("grad-cam is not installed: pip install 'snaprig[evaluate]'") from error
    return GradCAM, ClassifierOutputTarget
