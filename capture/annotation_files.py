"""Objects of a scene from the files of annotation tools: mask pictures, COCO, CVAT for images."""

from __future__ import annotations

import json
import math
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any, NoReturn
from xml.parsers import expat

import numpy as np
import numpy.typing as npt

from schemas.masks import decode_rle, decompress_rle, mask_instance, polygon_mask
from schemas.records import Instance

#: Shapes of CVAT that have no area of their own.
_NO_AREA = ("polyline", "points", "cuboid", "skeleton", "ellipse")


class AnnotationError(ValueError):
    """A file that cannot be used as the objects of a scene. The text says what to change."""


def read_coco(path: Path, image: str | None) -> list[Instance]:
    """The objects of one picture of a COCO file; each has its class as `category`.

    Parameters
    ----------
    image : str or None
        File name or id of the picture; not needed where the file has one picture.

    Raises
    ------
    AnnotationError
        If the file is no COCO ground truth, or an object of the picture is none.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        names = {one["id"]: str(one["name"]) for one in document["categories"]}
        pictures = {
            str(one["id"]): (str(one["file_name"]), (int(one["width"]), int(one["height"])))
            for one in document["images"]
        }
        annotations = list(document["annotations"])
        key = _chosen({key: name for key, (name, _) in pictures.items()}, image, path)
        mine = [one for one in annotations if str(one["image_id"]) == key]
        return [_coco_object(one, names, pictures[key][1], path) for one in mine]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, AnnotationError):
            raise
        raise AnnotationError(f"{path.name} is not a COCO ground truth: {error!r}") from error


def read_cvat(path: Path, image: str | None) -> list[Instance]:
    """The objects of one picture of a "CVAT for images 1.1" file: boxes, polygons and masks.

    A file with a document type declaration is refused: nothing can then declare an entity, so
    none is ever expanded or fetched.

    Raises
    ------
    AnnotationError
        If the file is no such XML, or has shapes without an area in that picture.
    """
    try:
        root = _parse_xml(path.read_bytes())
    except (OSError, expat.ExpatError, ET.ParseError) as error:
        raise AnnotationError(f"{path.name} cannot be read as XML: {error}") from error
    pictures = {str(number): one for number, one in enumerate(root.iter("image"))}
    key = _chosen({key: one.get("name", "") for key, one in pictures.items()}, image, path)
    found = pictures[key]
    try:
        size_px = (int(found.attrib["width"]), int(found.attrib["height"]))
        return [
            _cvat_object(shape, size_px) for shape in found if shape.tag not in ("tag", "attribute")
        ]
    except (KeyError, ValueError) as error:
        raise AnnotationError(f"{path.name}: {error}") from error


def _chosen(names: dict[str, str], image: str | None, path: Path) -> str:
    """Key of the picture that is meant, of a file's pictures by key."""
    if not names:
        raise AnnotationError(f"{path.name} has no pictures")
    if image is None:
        if len(names) == 1:
            return next(iter(names))
        raise AnnotationError(
            f"{path.name} has {len(names)} pictures, say which with --image: "
            + ", ".join(list(names.values())[:5])
        )
    same = [key for key, name in names.items() if image in (name, Path(name).name, key)]
    if len(same) != 1:
        found = f"{len(same)} pictures" if same else "no picture"
        raise AnnotationError(
            f"{path.name} has {found} called {image!r}: " + ", ".join(list(names.values())[:5])
        )
    return same[0]


def _coco_object(
    item: dict[str, Any], names: dict[Any, str], size_px: tuple[int, int], path: Path
) -> Instance:
    category = names.get(item["category_id"])
    if category is None:
        raise AnnotationError(f"{path.name}: category {item['category_id']} has no name")
    box = tuple(float(side) for side in item["bbox"])
    crowd = bool(item.get("iscrowd", 0))
    segmentation = item.get("segmentation") or None
    if segmentation is None:
        area = float(item.get("area") or box[2] * box[3])
        return _box_instance(category, box, size_px, area, crowd)
    if isinstance(segmentation, dict):
        counts = segmentation["counts"]
        if isinstance(counts, str):
            counts = decompress_rle(counts)
        rle = {"size": [int(n) for n in segmentation["size"]], "counts": [int(n) for n in counts]}
        if rle["size"] != [size_px[1], size_px[0]] or sum(rle["counts"]) != math.prod(size_px):
            raise AnnotationError(f"{path.name}: a mask of another size than its picture")
        mask = decode_rle(rle)
    else:
        mask = polygon_mask(segmentation, size_px)
    made = mask_instance(mask, category)
    return Instance(made.category, made.box_xywh_px, made.area_px, size_px, crowd, made.rle)


def _cvat_object(shape: ET.Element, size_px: tuple[int, int]) -> Instance:
    label = shape.attrib["label"]
    if shape.tag == "box":
        if float(shape.get("rotation", "0")) != 0:
            raise AnnotationError(f"box of {label!r} is rotated: draw a polygon instead")
        left, top, right, bottom = (
            float(shape.attrib[side]) for side in ("xtl", "ytl", "xbr", "ybr")
        )
        box = (left, top, right - left, bottom - top)
        return _box_instance(label, box, size_px, box[2] * box[3], crowd=False)
    if shape.tag == "polygon":
        points = [float(v) for pair in shape.attrib["points"].split(";") for v in pair.split(",")]
        return mask_instance(polygon_mask([points], size_px), label)
    if shape.tag == "mask":
        return mask_instance(_cvat_mask(shape, size_px), label)
    if shape.tag in _NO_AREA:
        raise AnnotationError(
            f"{shape.tag} of {label!r} gives no outline: use boxes, polygons or masks"
        )
    raise AnnotationError(f"unknown shape {shape.tag!r}")


def _cvat_mask(shape: ET.Element, size_px: tuple[int, int]) -> npt.NDArray[np.bool_]:
    """Run lengths of CVAT go row by row through the mask's own box, zeros first."""
    left, top, width, height = (
        int(shape.attrib[side]) for side in ("left", "top", "width", "height")
    )
    counts = [int(count) for count in shape.attrib["rle"].split(",")]
    inside = left >= 0 and top >= 0 and left + width <= size_px[0] and top + height <= size_px[1]
    if min(counts) < 0 or sum(counts) != width * height or not inside:
        raise AnnotationError("a mask does not fit its box or its picture")
    ones = np.arange(len(counts)) % 2 == 1
    mask = np.zeros((size_px[1], size_px[0]), bool)
    mask[top : top + height, left : left + width] = np.repeat(ones, counts).reshape(height, width)
    return mask


def _box_instance(
    category: str, box: tuple[float, ...], size_px: tuple[int, int], area: float, crowd: bool
) -> Instance:
    left, top, width, height = box
    # tools round to hundredths of a pixel
    inside = left >= -1 and top >= -1 and left + width <= size_px[0] + 1
    if not all(map(math.isfinite, box)) or min(width, height) <= 0:
        raise AnnotationError(f"a box of {category!r} without an area")
    if not inside or top + height > size_px[1] + 1:
        raise AnnotationError(f"a box of {category!r} leaves its picture")
    right, bottom = min(left + width, size_px[0]), min(top + height, size_px[1])
    left, top = max(left, 0.0), max(top, 0.0)
    return Instance(category, (left, top, right - left, bottom - top), area, size_px, crowd)


def _parse_xml(data: bytes) -> ET.Element:
    """The document, without any document type: so without entities to expand."""
    builder = ET.TreeBuilder()
    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = _refuse_doctype
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.data
    parser.Parse(data, True)
    return builder.close()


def _refuse_doctype(*_declaration: object) -> NoReturn:
    raise AnnotationError("the file declares a document type, which no export of CVAT has")
