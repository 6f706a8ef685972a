"""XMP packets: a flat set of named values of ours, inside whatever a picture carries already.

The values stand in one ``rdf:Description`` of a namespace of our own. It is inserted as text, so
that every other byte of a foreign packet stays, and can be cut out again as text: a stamped
packet gives the camera's packet back exactly.

Source: Adobe, "XMP Specification Part 1" (2012), sections 7 (serialization) and 7.3.2 (packet
wrapper).
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from xml.parsers import expat
from xml.sax.saxutils import escape

#: What ExifTool shows as group ``XMP-snaprig``. The digit is the version of the field list.
NAMESPACE = "urn:snaprig:capture:1#"
_RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"

# Namespaces are declared on the element itself: it means the same in any packet.
_OPEN = f'<rdf:Description xmlns:rdf="{_RDF}" xmlns:snaprig="{NAMESPACE}" rdf:about="">\n'.encode()
_CLOSE = b"</rdf:Description>\n"
_HEAD = (
    '<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?>\n'
    '<x:xmpmeta xmlns:x="adobe:ns:meta/" x:xmptk="snaprig">\n'
    f'<rdf:RDF xmlns:rdf="{_RDF}">\n'
).encode()
_TAIL = b'</rdf:RDF>\n</x:xmpmeta>\n<?xpacket end="r"?>'

#: A packet without any value: what is left of one that is only ours.
EMPTY = _HEAD + _TAIL

#: XML 1.0 cannot hold these, not even escaped.
_UNSPEAKABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class XmpError(ValueError):
    """A packet that is not XMP, or broken."""


def add_fields(packet: bytes, fields: Mapping[str, str]) -> bytes:
    """The packet with `fields` beside what it says already; `EMPTY` makes one of our own.

    Characters that XML cannot hold become U+FFFD.

    Raises
    ------
    XmpError
        If the packet is not well-formed, or has no ``rdf:RDF``.
    """
    lines = "".join(
        f"<snaprig:{name}>{_escaped(value)}</snaprig:{name}>\n" for name, value in fields.items()
    )
    at = _end_of_rdf(packet)
    return packet[:at] + _OPEN + lines.encode() + _CLOSE + packet[at:]


def remove_fields(packet: bytes) -> bytes:
    """The packet as it was before `add_fields`; unchanged where nothing was added."""
    start = packet.find(_OPEN)
    if start < 0:
        return packet
    end = packet.find(_CLOSE, start)
    return packet if end < 0 else packet[:start] + packet[end + len(_CLOSE) :]


def read_fields(packet: bytes) -> dict[str, str]:
    """Our values in a packet, in any of the forms that other programs rewrite them to.

    Raises
    ------
    XmpError
        If the packet is not well-formed.
    """
    try:
        # Whitespace may follow a packet; expat bounds what entities can grow to.
        root = ET.fromstring(packet.strip(b" \t\r\n\0"))  # noqa: S314
    except (ET.ParseError, ValueError) as error:
        raise XmpError(f"broken XMP: {error}") from error
    found: dict[str, str] = {}
    mine = f"{{{NAMESPACE}}}"
    for description in root.iter(f"{{{_RDF}}}Description"):
        for name, value in description.attrib.items():
            if name.startswith(mine):
                found[name.removeprefix(mine)] = value
        for child in description:
            if child.tag.startswith(mine):
                found[child.tag.removeprefix(mine)] = child.text or ""
    return found


def sayable(value: str) -> str:
    """The value as it comes back from a packet."""
    return _UNSPEAKABLE.sub("\ufffd", value)


def _escaped(value: str) -> str:
    # A parser would read a bare carriage return as a line feed.
    return escape(sayable(value), {"\r": "&#13;"})


def _end_of_rdf(packet: bytes) -> int:
    """Byte index of ``</rdf:RDF>``, whatever prefix it has."""
    if packet == EMPTY:
        return len(_HEAD)
    found: list[int] = []
    parser = expat.ParserCreate(namespace_separator="|")

    def end(name: str) -> None:
        if name == f"{_RDF}|RDF":
            found.append(parser.CurrentByteIndex)

    parser.EndElementHandler = end
    try:
        parser.Parse(packet.rstrip(b" \t\r\n\0"), True)
    except expat.ExpatError as error:
        raise XmpError(f"broken XMP: {error}") from error
    if not found or packet[found[-1] : found[-1] + 2] != b"</":
        raise XmpError("no rdf:RDF element to add to")
    return found[-1]
