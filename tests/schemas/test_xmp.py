"""Provenance in XMP: what goes in comes out, and nothing else of the picture changes."""

import hashlib
import io
import xml.etree.ElementTree as ET
from datetime import UTC, datetime
from pathlib import Path

import piexif
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from schemas.capture_store import Run
from schemas.exposure import Exposure
from schemas.jpeg import (
    XMP_HEADER,
    JpegError,
    iter_segments,
    read_exif,
    xmp_block,
    xmp_place,
    xmp_segments,
)
from schemas.plan import SweepPlan
from schemas.records import Frame, Light, Outcome, Scene
from schemas.stamp import provenance, read_stamp, stamp, stamp_frame, unstamp
from schemas.xmp import EMPTY, NAMESPACE, XmpError, add_fields, read_fields, remove_fields, sayable

FIELDS = {"scene": "cups", "lux": "998.5", "ev": "11.0"}
PLAN = SweepPlan()
RUN = Run(
    id=3,
    scene="cups",
    lighting="bright",
    kind="sweep",
    plan=PLAN,
    plan_digest=PLAN.digest,
    simulated=True,
    devices={},
    versions={"snaprig": "0.1.0"},
    started_at=datetime(2026, 3, 1, 20, 0, 1, 250, tzinfo=UTC),
    ended_at=None,
    status=None,
    reason="",
)
FRAME = Frame(
    scene="cups",
    lighting="bright",
    run_id=3,
    kind="manual",
    requested=Exposure(1 / 60, 400, 5.6),
    outcome=Outcome.ACCEPTED,
    attempt=1,
    ev=8.877,
    ev_offset=2,
    light=Light(1000.25, 999.0, 1002.0, 5),
    camera_sha256="c" * 64,
)

#: As Canon bodies write it: a rating, and room to edit in place.
CANON = (
    '<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?>'
    '<x:xmpmeta xmlns:x="adobe:ns:meta/">'
    '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
    '<rdf:Description rdf:about="" xmlns:xmp="http://ns.adobe.com/xap/1.0/">'
    "<xmp:Rating>0</xmp:Rating></rdf:Description></rdf:RDF></x:xmpmeta>"
    + (" " * 99 + "\n") * 20
    + '<?xpacket end="w"?>'
).encode()


def picture(packet: bytes | None = None) -> bytes:
    buffer = io.BytesIO()
    exif = piexif.dump({"Exif": {piexif.ExifIFD.FNumber: (8, 1)}})
    Image.linear_gradient("L").save(buffer, "JPEG", exif=exif)
    data = buffer.getvalue()
    if packet is None:
        return data
    at = xmp_place(data)
    return data[:at] + xmp_block(packet) + data[at:]


def image_data(data: bytes) -> bytes:
    """Everything from the start of the scan."""
    return data[list(iter_segments(data))[-1].end :]


def test_a_stamp_changes_nothing_but_its_segment():
    data = picture()
    stamped = stamp(data, FIELDS)
    assert read_stamp(stamped) == FIELDS
    assert read_exif(stamped) == read_exif(data)
    assert image_data(stamped) == image_data(data)
    (segment,) = xmp_segments(stamped)
    assert stamped[: segment.start] + stamped[segment.end :] == data
    assert unstamp(stamped) == data


def test_the_packet_is_plain_rdf_that_other_programs_read():
    stamped = stamp(picture(), FIELDS)
    with Image.open(io.BytesIO(stamped)) as image:
        packet = image.info["xmp"]
    root = ET.fromstring(packet)  # noqa: S314
    assert root.tag == "{adobe:ns:meta/}xmpmeta"
    values = {element.tag: element.text for element in root.iter()}
    assert values[f"{{{NAMESPACE}}}scene"] == "cups"
    assert packet.startswith(b'<?xpacket begin="\xef\xbb\xbf" id="W5M0MpCehiHzreSzNTczkc9d"?>')
    assert packet.endswith(b'<?xpacket end="r"?>')


def test_stamping_twice_is_stamping_once():
    for data in (picture(), picture(CANON), picture(b"<broken")):
        once = stamp(stamp(data, {"scene": "other", "more": "1"}), FIELDS)
        assert once == stamp(data, FIELDS)


def test_what_the_camera_wrote_is_kept_byte_for_byte():
    data = picture(CANON)
    stamped = stamp(data, FIELDS)
    (segment,) = xmp_segments(stamped)
    assert b"<xmp:Rating>0</xmp:Rating>" in segment.packet
    assert segment.packet.endswith(CANON[-2018:])
    assert read_stamp(stamped) == FIELDS
    assert unstamp(stamped) == data


@pytest.mark.parametrize(
    "rdf",
    [
        '<r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#"></r:RDF>',
        '<x xmlns="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><RDF ></RDF ></x>',
    ],
)
def test_any_prefix_of_rdf_will_do(rdf):
    stamped = stamp(picture(rdf.encode()), FIELDS)
    assert len(xmp_segments(stamped)) == 1
    assert read_stamp(stamped) == FIELDS


@pytest.mark.parametrize(
    "packet",
    [
        b"<broken",
        b"",
        b"<x:xmpmeta xmlns:x='adobe:ns:meta/'/>",
        b"<r:RDF xmlns:r='http://www.w3.org/1999/02/22-rdf-syntax-ns#'/>",
        CANON.decode().replace(" " * 99, " " * 3252).encode(),  # 64 KB with its padding
        CANON.decode().encode("utf-16"),
    ],
    ids=["broken", "empty", "no RDF", "closed RDF", "full", "utf-16"],
)
def test_a_packet_that_cannot_be_joined_stays_and_ours_goes_behind_it(packet):
    data = picture(packet)
    stamped = stamp(data, FIELDS)
    assert [s.packet for s in xmp_segments(stamped)] == [packet, add_fields(EMPTY, FIELDS)]
    assert read_stamp(stamped) == FIELDS
    assert unstamp(stamped) == data
    assert image_data(stamped) == image_data(data)


def test_fill_bytes_and_a_second_packet_survive():
    data = picture(CANON)
    (segment,) = xmp_segments(data)
    extended = b"\xff\xff" + xmp_block(b"<second/>")
    data = (
        data[: segment.start]
        + b"\xff"
        + data[segment.start : segment.end]
        + extended
        + (data[segment.end :])
    )
    assert unstamp(stamp(data, FIELDS)) == data


def test_values_that_other_programs_rewrote_as_attributes_are_read():
    packet = EMPTY.replace(
        b"</rdf:RDF>",
        f'<rdf:Description rdf:about="" xmlns:s="{NAMESPACE}" s:scene="cups"/></rdf:RDF>'.encode(),
    )
    assert read_fields(packet) == {"scene": "cups"}


def test_a_bare_picture_says_nothing():
    assert read_stamp(picture()) == {}
    assert read_stamp(picture(CANON)) == {}
    assert unstamp(picture(CANON)) == picture(CANON)


HOSTILE = '</snaprig:scene><x y="&amp;">]]><!-- \r\n\t \x00\x1b \ud800 <?xpacket end="w"?>'


@pytest.mark.parametrize("value", [HOSTILE, "</rdf:Description>\n", "äöü 杯", "&lt;", " x "])
def test_hostile_values_stay_values(value):
    packet = add_fields(EMPTY, {"category": value, "scene": "cups"})
    assert read_fields(packet) == {"category": sayable(value), "scene": "cups"}
    assert remove_fields(packet) == EMPTY


@given(st.dictionaries(st.sampled_from(["scene", "category", "lux"]), st.text(max_size=60)))
def test_any_text_comes_back(values):
    packet = add_fields(add_fields(EMPTY, {"before": "1"}) if values else EMPTY, values)
    assert read_fields(packet) == {
        **({"before": "1"} if values else {}),
        **{name: sayable(value) for name, value in values.items()},
    }


@given(st.binary(max_size=200))
def test_junk_is_refused_by_name(junk):
    for work in (lambda: read_fields(junk), lambda: add_fields(junk, FIELDS)):
        try:
            work()
        except XmpError:
            continue


def test_not_a_jpeg():
    for work in (unstamp, read_stamp, lambda data: stamp(data, FIELDS)):
        with pytest.raises(JpegError):
            work(b"picture")


def test_a_segment_has_an_end():
    with pytest.raises(JpegError, match="does not fit"):
        xmp_block(b"x" * 65_600)
    assert len(xmp_block(b"x" * (65_533 - len(XMP_HEADER)))) == 65_537


# ---- the fields of a frame


def test_a_frame_says_where_it_comes_from():
    assert provenance(FRAME, Scene("cups", "cup", 3), RUN) == {
        "scene": "cups",
        "category": "cup",
        "count": "3",
        "lighting": "bright",
        "kind": "manual",
        "lux": "1000.25",
        "luxMin": "999.0",
        "luxMax": "1002.0",
        "luxReadings": "5",
        "ev": "8.877",
        "evOffset": "2",
        "requestedShutterSeconds": "0.016666666666666666",
        "requestedIso": "400",
        "requestedFNumber": "5.6",
        "run": "3",
        "runStarted": "2026-03-01T20:00:01.000250+00:00",
        "planDigest": PLAN.digest,
        "software": "snaprig 0.1.0",
        "simulated": "True",
        "cameraSha256": "c" * 64,
    }


def test_a_stamped_frame_has_the_digest_of_its_file_and_is_the_same_every_time():
    data = picture()
    for category in ("cup", HOSTILE, "x" * 100_000):
        scene = Scene("cups", category, 3)
        frame, stamped = stamp_frame(FRAME, data, scene, RUN)
        assert (frame.size_bytes, frame.sha256) == (
            len(stamped),
            hashlib.sha256(stamped).hexdigest(),
        )
        assert frame.camera_sha256 == FRAME.camera_sha256
        assert read_stamp(stamped) == provenance(FRAME, scene, RUN)
        assert unstamp(stamped) == data
        assert stamp_frame(FRAME, data, scene, RUN) == (frame, stamped)


def test_real_photographs_keep_every_byte(snaprig_data: Path):
    photos = sorted((snaprig_data / "snap/annotations/images_SNAP").glob("*.jpg"))
    assert photos
    for photo in photos:
        data = photo.read_bytes()
        frame, stamped = stamp_frame(FRAME, data, Scene("cups", "cup", 3), RUN)
        assert read_stamp(stamped)["scene"] == "cups"
        assert unstamp(stamped) == data
        assert image_data(stamped) == image_data(data)
        assert frame.size_bytes == len(stamped) < len(data) + 2500
