from __future__ import annotations

import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardware_mocks import ptp, ptpip
from hardware_mocks.ptp import DeviceInfo, EventRecord, ObjectInfo, Reader
from hardware_mocks.ptpip import Command, Link, Packet, Reply

text = st.text(
    st.characters(codec="utf-16-le", exclude_characters="\0", max_codepoint=0xFFFF), max_size=254
)
codes = st.lists(st.integers(0, 0xFFFF), max_size=20).map(tuple)
u32s = st.integers(0, 0xFFFFFFFF)


@given(text)
def test_string_comes_back(value):
    assert Reader(ptp.string(value)).string() == value


def test_string_of_255_characters_is_refused():
    with pytest.raises(ValueError, match="254"):
        ptp.string("x" * 255)


@given(codes, st.lists(u32s, max_size=20))
def test_arrays_come_back(small, large):
    assert Reader(ptp.array16(small)).array(2) == small
    assert Reader(ptp.array32(large)).array(4) == tuple(large)


@given(st.builds(DeviceInfo, u32s, *[codes] * 5, *[text] * 4))
def test_device_info_comes_back(info):
    assert DeviceInfo.decode(info.encode()) == info


@given(u32s, st.integers(0, 0xFFFF), u32s, u32s, text, u32s, u32s, st.booleans(), text)
def test_object_info_comes_back(storage, form, size, parent, name, width, height, folder, taken):
    info = ObjectInfo(storage, form, size, parent, name, width, height, folder, taken)
    assert ObjectInfo.decode(info.encode()) == info


records = st.lists(st.builds(EventRecord, st.integers(1, 0xFFFF), st.binary(max_size=64)))


@given(records)
def test_event_records_come_back(events):
    assert ptp.decode_events(ptp.encode_events(events)) == events


def test_event_reply_without_events_is_the_end_mark():
    assert ptp.encode_events([]) == bytes.fromhex("08000000 00000000")


@given(st.binary(max_size=40))
def test_no_bytes_crash_the_event_decoder(data):
    try:
        ptp.decode_events(data)
    except ValueError:
        return
    assert data.endswith(bytes(4))


def test_file_names_are_cut_to_their_field():
    assert ptp.fixed_ascii("IMG_0001.JPG", 16) == b"IMG_0001.JPG" + bytes(4)
    assert ptp.fixed_ascii("A_VERY_LONG_NAME.JPG", 16) == b"A_VERY_LONG_NAM\0"


@given(st.sampled_from([1, 2]), st.integers(0, 0xFFFF), u32s, st.lists(u32s, max_size=5))
def test_command_comes_back(phase, opcode, transaction, parameters):
    body = ptp.u32(phase) + ptp.u16(opcode) + ptp.u32(transaction)
    body += b"".join(map(ptp.u32, parameters))
    command = Command(opcode, tuple(parameters))
    assert ptpip.decode_command(body) == (phase, transaction, command)
    assert command.parameter(len(parameters)) == 0


@pytest.mark.parametrize("size", [None, 0, 1, (1 << 18) - 1, 1 << 18, (1 << 18) + 1, 700_000])
def test_reply_crosses_a_link_in_blocks(size):
    data = None if size is None else bytes(i % 251 for i in range(size))
    encoded = ptpip.encode_reply(7, Reply(0x2001, (5, 6), data))
    ours, theirs = socket.create_server(("127.0.0.1", 0)), socket.socket()
    with ours, theirs:
        theirs.connect(ours.getsockname())
        accepted, _ = ours.accept()
        with accepted:
            link = Link(theirs)
            accepted.settimeout(5)
            received = []
            sender = Link(accepted)
            for start in range(0, len(encoded), 50_000):
                sender.send(encoded[start : start + 50_000])
            while not received or received[-1][0] != Packet.RESPONSE:
                received.append(link.receive())
    *phase, (_, response) = received
    assert response == ptp.u16(0x2001) + ptp.u32(7) + ptp.u32(5) + ptp.u32(6)
    if data is None:
        assert phase == []
        return
    (first, head), *blocks = phase
    assert first == Packet.START_DATA
    assert head == ptp.u32(7) + ptp.u64(len(data))
    assert [kind for kind, _ in blocks][-1] == Packet.END_DATA
    assert b"".join(block[4:] for _, block in blocks) == data


def test_link_refuses_what_is_not_ptpip():
    left, right = socket.create_server(("127.0.0.1", 0)), socket.socket()
    with left, right:
        right.connect(left.getsockname())
        accepted, _ = left.accept()
        with accepted:
            accepted.sendall(b"GET / HTTP/1.1\r\n")
            with pytest.raises(ConnectionError, match="not PTP/IP"):
                Link(right).receive()
