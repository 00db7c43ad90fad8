import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_reach.errors import StoreFull
from agent_reach.store.spool import Spool, varint, whole_frames

BODIES = st.lists(st.binary(max_size=300), max_size=8)


def frames(data):
    found, position = [], 0
    while position < len(data):
        length = shift = 0
        while True:
            byte = data[position]
            position += 1
            length |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
        found.append(data[position : position + length])
        position += length
    return found


@given(BODIES)
def test_frames_read_back_as_what_was_framed(bodies):
    assert frames(b"".join(varint(len(body)) + body for body in bodies)) == bodies


@given(BODIES, st.data())
def test_a_torn_tail_is_cut_at_the_last_whole_request(bodies, data):
    whole = b"".join(varint(len(body)) + body for body in bodies)
    cut = data.draw(st.integers(0, len(whole)))
    kept = frames(whole[: whole_frames(whole[:cut])])
    assert kept == bodies[: len(kept)]
    assert whole_frames(whole[:cut]) <= cut
    assert whole_frames(whole) == len(whole)


def test_requests_of_a_sealed_segment_are_there_in_order_until_it_is_done(tmp_path):
    spool = Spool(tmp_path)
    for body in (b"one", b"two"):
        spool.append(body)
    assert spool.sealed() == []
    spool.seal()
    [segment] = spool.sealed()
    assert frames(segment.read_bytes()) == [b"one", b"two"]
    spool.done(segment)
    assert spool.sealed() == []
    assert spool.waiting == 0


def test_a_young_segment_stays_open_and_a_full_one_is_sealed_at_once(tmp_path):
    spool = Spool(tmp_path, segment_bytes=100)
    spool.append(b"x" * 20)
    spool.seal(older_than=60)
    assert spool.sealed() == []
    spool.append(b"x" * 90)
    assert len(spool.sealed()) == 1


def test_names_are_never_used_again(tmp_path):
    names = set()
    for _ in range(3):
        spool = Spool(tmp_path)
        spool.append(b"x")
        spool.seal()
        [segment] = spool.sealed()
        names.add(segment.name)
        spool.done(segment)
    assert len(names) == 3


def test_what_a_killed_process_left_open_is_found_without_its_torn_end(tmp_path):
    spool = Spool(tmp_path)
    spool.append(b"whole")
    [open_file] = tmp_path.glob("*.open")
    with open_file.open("ab") as file:
        file.write(varint(500) + b"torn")
    again = Spool(tmp_path)
    [segment] = again.sealed()
    assert frames(segment.read_bytes()) == [b"whole"]
    assert again.waiting == segment.stat().st_size


def test_no_more_than_the_limit_waits(tmp_path):
    spool = Spool(tmp_path, max_bytes=50)
    spool.append(b"x" * 40)
    with pytest.raises(StoreFull, match="wait to be written"):
        spool.append(b"y" * 40)
    spool.seal()
    spool.done(spool.sealed()[0])
    spool.append(b"y" * 40)


_LIMITED = """
import resource, sys
from pathlib import Path
from agent_reach.errors import StoreFull
from agent_reach.store.spool import Spool

spool = Spool(Path(sys.argv[1]))
spool.append(b"first")
resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, 1_000))
try:
    spool.append(b"second" * 1_000)
except StoreFull as error:
    print(error)
spool.append(b"third")
spool.seal()
"""


def test_a_disk_that_takes_no_more_refuses_the_request_whole_and_keeps_the_others(tmp_path):
    done = subprocess.run([sys.executable, "-c", _LIMITED, str(tmp_path)], capture_output=True, text=True, check=True)
    assert "cannot write to" in done.stdout
    [segment] = tmp_path.glob("*.otlp")
    assert frames(segment.read_bytes()) == [b"first", b"third"]


def test_a_segment_that_nobody_can_read_is_set_aside(tmp_path):
    spool = Spool(tmp_path)
    spool.append(b"x")
    spool.seal()
    aside = spool.set_aside(spool.sealed()[0])
    assert aside.exists()
    assert spool.sealed() == []
    assert spool.waiting == 0


def test_what_cannot_be_read_of_a_segment_is_set_aside_and_the_rest_stays(tmp_path):
    spool = Spool(tmp_path)
    for body in (b"good", b"bad", b"better"):
        spool.append(body)
    spool.seal()
    (segment,) = spool.sealed()
    assert spool.sift(segment, lambda body: True) is None
    assert spool.sift(segment, lambda body: False) is None
    aside = spool.sift(segment, lambda body: body != b"bad")
    assert frames(aside.read_bytes()) == [b"bad"]
    (left,) = spool.sealed()
    assert frames(left.read_bytes()) == [b"good", b"better"]
    assert spool.waiting == left.stat().st_size
