"""Links on which a control breaks and no report was found, as `hunt` found them: they still do."""

from __future__ import annotations

import ackclock
from ackclock.hunting.evaluation import Evaluator, Store
from ackclock.hunting.table import read_hunt
from ackclock.input.scenario.draft import read_draft
from tests.support import ROOT

FINDS = ROOT / "studies" / "hunt" / "finds"
SHORT = "20 s"


def share(**tcp: object) -> float:
    """The second flow's goodput relative to an equal share, in a shorter run."""
    draft = read_draft(FINDS / "bbr-policer-share.toml")
    data = draft.document.data
    draft = draft.replaced(
        {"duration": SHORT, "tcp": {**data["tcp"], **tcp}, "hunt": {**data["hunt"], "vary": {"duration": [SHORT]}}}
    )
    value = Evaluator(draft, read_hunt(draft), Store(None), workers=1).one({"duration": 0}).value
    assert value is not None
    return value


def test_second_bbr_flow_behind_a_policer_gets_less_than_half_when_both_estimate_a_long_term_rate() -> None:
    assert share() < 0.5
    without = [rule for rule in ackclock.list_linux_rules() if rule != "bbr-long-term-bandwidth"]
    assert share(linux_rules=without) > 0.8
