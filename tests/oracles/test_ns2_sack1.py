"""ns-2's Sack1 under a window that is smaller than the path: what it has in flight, and what its
sequence numbers may span.
"""

import pytest

from studies.oracles.ns2 import Sender, dumbbell, our_run, our_series

SACK1 = Sender("nativeSack1", "reno", "sack")
WINDOW = 60 * 1024
SECONDS = 20


@pytest.mark.finding("K11")
@pytest.mark.parametrize(
    ("lost", "segments", "timeouts"),
    [
        # `ns linux_run.tcl agent=Sack1 win=60 T=20 err=list drops=500`, and `drops=500:560`, where
        # 560 is the retransmission (ns-2 2.35+dfsg-5).
        ([500], 11044, 0),
        ([500, 560], 10167, 1),
    ],
    ids=["one", "and its retransmission"],
)
def test_window_bounds_sequence_numbers_in_a_recovery_as_ns2s_sack1(lost, segments, timeouts):
    loss = {"kind": "list", "packets": lost}
    scenario = dumbbell(SACK1, 118, f"{SECONDS}.1 s", "100 ms", loss=loss, receive_buffer=f"{WINDOW} B")
    run = our_run(scenario)
    assert our_series(run).acked[-1] == pytest.approx(segments, rel=0.005)
    assert run.summaries[0]["flows"][0]["timeouts"] == timeouts
