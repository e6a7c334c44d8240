"""Two congestion controls in Python: the engine's Reno, and one that keeps two segments in the
queue.
"""

import math

import ackclock


class Reno(ackclock.CongestionControl):
    """RFC 5681 with classic slow start: the same windows as the built-in `reno`, ACK by ACK."""

    def __init__(self, initial_window: float, initial_ssthresh: float) -> None:
        super().__init__(initial_window, initial_ssthresh)
        self.counted = 0.0  # credit towards the next segment

    def on_ack(self, ack: ackclock.Ack) -> None:
        if not ack.cwnd_limited:  # not limited by the window, which therefore says nothing of the path
            return
        credit = ack.growth_credit
        if self.cwnd < self.ssthresh:
            opened = min(self.cwnd + credit, max(self.ssthresh, self.cwnd))
            credit, self.cwnd = max(credit - (opened - self.cwnd), 0.0), opened
        if credit > 0:  # one segment per window of credit (RFC 3465, section 2.1)
            self.counted += credit
            if self.counted >= (window := math.floor(self.cwnd)):
                self.counted -= window
                self.cwnd += 1

    def on_congestion(self, congestion: ackclock.Congestion) -> None:
        super().on_congestion(congestion)
        self.counted = 0.0
        self.halving_floor = math.floor(self.ssthresh / 2)  # for recovery "rate-halving", as in Linux 2.6


class TwoInQueue(ackclock.CongestionControl):
    """Grow by a segment per RTT until two segments wait in the queue, then hold; reduce as Reno."""

    QUEUED = 2.0

    def on_ack(self, ack: ackclock.Ack) -> None:
        if not ack.cwnd_limited or ack.rtt is None or ack.min_rtt is None:
            return
        queued = self.cwnd * (1 - ack.min_rtt / ack.rtt)
        if queued >= self.QUEUED:
            self.ssthresh = min(self.ssthresh, self.cwnd)
        elif self.cwnd < self.ssthresh:
            self.cwnd += ack.growth_credit
        else:
            self.cwnd += ack.growth_credit / self.cwnd
