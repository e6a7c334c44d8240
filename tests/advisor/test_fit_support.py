"""What a fit supports: which gains are advised, which are not, and what to capture next."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ackclock as library
from ackclock.advice.tables import verdict
from ackclock.advisor.actions import Action, Change, candidates
from ackclock.advisor.fit_support import ERROR, RATE, SIZE, FitSupport
from ackclock.advisor.outcome import Prediction
from ackclock.advisor.situation import situation_of
from ackclock.input.objects import Hop

SURE, UNSURE = Prediction(1.01, 1.6), Prediction(0.97, 1.6)
VARIANT = Action("variant", "bbr", (Change("tcp.variant", "cubic", "bbr"),), ())
AQM = Action("queue", "fq-codel", (Change("hop.access.queue.down", {}, {"kind": "fq-codel"}),), ())
CAKE = Action("queue", "cake", (Change("hop.access.queue.down", {}, {"kind": "cake"}),), ())
DROPTAIL = Action(
    "queue", "droptail", (Change("hop.access.queue.down", {}, {"kind": "droptail", "bytes": "9 kB"}),), ()
)
WINDOW = Action("buffers", "up to 72 KiB", (Change("tcp.receive_limit", "6 MiB", "72 KiB"),), ())
OPEN = Action("buffers", "auto", (Change("tcp.receive_buffer", "64 KiB", "auto"),), ())
SQM = Action(
    "shaper",
    "SQM",
    (Change("hop.sqm.rate.up", None, "950 kb/s"), Change("hop.sqm.queue.up", None, {"kind": "cake"})),
    (),
    hop=("access", Hop(name="sqm")),
)


def fit(goodput: float, rtt: float, seconds: float = 20.0, *, up: str = "identified", down: str = "identified") -> Any:
    """A fit's document by its errors and the statuses of its rates."""
    errors = {"goodput_error": {"median": goodput}, "rtt_p95_error": {"median": rtt}}
    return {
        "inputs": [{"duration_s": seconds}],
        "parameters": [
            {"path": "hop.access.rate.down", "status": down},
            {"path": "hop.access.rate.up", "status": up},
        ],
        "not_identified": [],
        "remarks": [],
        "score": {**errors, "held_out": [{"direction": "down"}]},
    }


@pytest.mark.parametrize(
    ("goodput", "rtt", "action", "one", "why"),
    [
        (0.02, 0.05, DROPTAIL, UNSURE, ""),
        (0.02, 0.05, WINDOW, UNSURE, ""),
        (0.02, 0.20, DROPTAIL, SURE, SIZE),
        (0.02, 0.20, WINDOW, SURE, SIZE),
        (0.02, 0.20, OPEN, SURE, ""),
        (0.02, 0.20, AQM, SURE, ""),
        (0.02, 0.20, AQM, UNSURE, ERROR),
        (0.12, 0.05, VARIANT, SURE, ""),
        (0.12, 0.05, VARIANT, UNSURE, ERROR),
        (0.12, 0.05, VARIANT, None, ERROR),
    ],
)
def test_change_is_refused_when_its_gain_is_not_beyond_the_fits_error(
    goodput: float, rtt: float, action: Action, one: Prediction | None, why: str
) -> None:
    assert FitSupport.of(fit(goodput, rtt)).refusal((action,), one) == why


@pytest.mark.parametrize(
    ("action", "statuses", "why"),
    [
        (SQM, {"up": "assumed"}, RATE.format("up")),
        (SQM, {"up": "bounded"}, RATE.format("up")),
        (SQM, {"up": "identified", "down": "bounded"}, ""),
        (CAKE, {"down": "bounded"}, RATE.format("down")),
        (CAKE, {"down": "identified", "up": "assumed"}, ""),
        (AQM, {"down": "bounded"}, ""),
    ],
)
def test_change_is_refused_when_it_types_a_rate_that_the_input_does_not_show(
    action: Action, statuses: dict[str, Any], why: str
) -> None:
    assert FitSupport.of(fit(0.01, 0.01, **statuses)).refusal((action,), SURE) == why


@pytest.mark.parametrize(("bucket", "why"), [("identified", ""), ("bounded", RATE.format("up"))])
def test_rate_that_a_shaper_stays_below_is_that_of_the_bucket_when_there_is_one(bucket: str, why: str) -> None:
    document = fit(0.02, 0.05, up="bounded")
    document["parameters"].append({"path": "hop.access.policer.up.rate", "status": bucket})
    assert FitSupport.of(document).refusal((SQM,), SURE) == why


def test_link_that_is_not_fitted_supports_every_gain() -> None:
    for action in (VARIANT, AQM, CAKE, DROPTAIL, WINDOW, SQM):
        assert FitSupport.of(None).refusal((action,), UNSURE) == ""
    assert FitSupport.of(None).captures() == []


@pytest.mark.parametrize(
    ("support", "refused", "captures"),
    [
        (FitSupport.of(fit(0.02, 0.05)), [], []),
        (FitSupport.of(fit(0.30, 0.05)), [], ["a transfer of 60 s, not 20 s"]),
        (
            FitSupport.of(fit(0.30, 0.05, 90.0)),
            [],
            ["the same transfer at another time, to compare both with `ackclock diff`"],
        ),
        (
            FitSupport.of(fit(0.02, 0.05, up="assumed")),
            [RATE.format("up")],
            ["an upload, too, which shows the rate up"],
        ),
        (FitSupport(good_for="receive window"), [], ["a transfer that the receive window does not limit"]),
        (FitSupport(one_end=True), [], ["both ends of the transfer at the same time"]),
    ],
)
def test_next_capture_is_named_when_it_would_show_more(
    support: FitSupport, refused: list[str], captures: list[str]
) -> None:
    assert support.captures(refused) == captures


def test_verdict_names_the_fit_when_it_supports_no_gain() -> None:
    row = {"label": "bbr", "gain": 1.2, "lo": 1.1, "hi": 1.3, "why": ERROR, "supported": False}
    fit = {"good_for": "variants", "capture_next": ["more"]}
    document: Any = {"goal": "balanced", "advice": [], "nothing_to_gain": [row], "fit": fit}
    assert verdict(document) == (
        "No advice: the fit of the link supports none of the 1 changes tried. The best of them, bbr: +20 % "
        f"(+10 % .. +30 %), {ERROR}. Capture next: more."
    )
    other = {**row, "gain": 1.01, "why": "gains less than 3 %", "supported": True}
    assert verdict({**document, "nothing_to_gain": [other]}).startswith("Leave it as it is: none of the 1 changes")


Captured = Callable[..., list[str]]


@pytest.fixture(scope="module")
def captured(tmp_path_factory: pytest.TempPathFactory) -> Captured:
    """The captures of both ends of a download over a line of 8 Mb/s up."""

    def made(down: str, *others: dict[str, Any], variant: str = "cubic", **tcp: Any) -> list[str]:
        folder = tmp_path_factory.mktemp("captured") / "run"
        hop = {"name": "line", "rate": {"down": down, "up": "8 Mb/s"}, "delay": "25 ms", "queue": {"bytes": "200 kB"}}
        flow = {"name": "own", "variant": variant, "workload": {"kind": "bulk"}}
        library.simulate(
            {"hop": [hop]}, [flow, *others], "12 s", seed=1, tcp=tcp, sample="0 s", out=folder, captures="pcapng"
        )
        return [str(path) for path in sorted(Path(folder, "captures").glob("own.*"))]

    return made


def test_nothing_is_advised_when_the_fit_predicts_nothing(captured: Captured) -> None:
    """Another flow begins in the part that is not fitted, and takes most of the rate."""
    workload = {"kind": "cbr", "rate": "6 Mb/s", "packet": "1000 B"}
    ends = captured("8 Mb/s", {"name": "other", "start": "7 s", "workload": workload})
    document = library.advise(*ends, may=["sender", "operator"], cpu_s=0.5).document
    assert document["fit"]["good_for"] == "nothing"
    assert not document["advice"]
    assert not document["nothing_to_gain"]
    assert document["verdict"].startswith(
        "No advice: the fit of the link is not good enough to choose by. Capture next:"
    )
    assert "others do not use the path" in document["verdict"]
    assert {one["changes"] for one in document["runs"]["rounds"]} == {1}, "the baseline alone"


def test_aqm_is_advised_when_the_same_fit_predicts_well(captured: Captured) -> None:
    document = library.advise(*captured("8 Mb/s"), may=["operator"], cpu_s=0.5).document
    assert document["fit"]["good_for"] in ("buffers", "variants")
    (change,) = document["advice"][0]["change"]
    assert change["path"] == "hop.access.queue.down"


def test_window_is_opened_when_it_limits_the_captured_transfer(captured: Captured) -> None:
    """The score once replayed a transfer without its window: 143 % of error for a perfect fit."""
    ends = captured("30 Mb/s", receive_buffer="64 KiB")
    situation = situation_of(ends)
    assert situation.fit is not None
    score = situation.fit["score"]
    assert score["good_for"] == "receive window"
    assert abs(score["held_out"][0]["goodput_error"]) < 0.05
    assert "with the receive window of 64 KiB" in score["sentence"]
    document = library.advise(*ends, may=["receiver"], goal="throughput", cpu_s=0.5).document
    assert document["advice"][0]["label"] == "receive buffer auto"
    assert any("the receive window does not limit" in note for note in document["notes"])


@pytest.mark.parametrize("variant", ["cubic", "bbr"])
def test_situation_has_the_variant_of_the_captured_sender(captured: Captured, variant: str) -> None:
    """It once was cubic for every capture."""
    situation = situation_of(captured("8 Mb/s", variant=variant))
    assert situation.tcp.keys["variant"] == variant
    assert (
        f"Of the congestion controls that were replayed, none is more like the input than {variant}." in situation.notes
    )


def test_fit_of_a_link_file_limits_its_advice(tmp_path: Path, captured: Captured) -> None:
    file = tmp_path / "link.toml"
    fitted = library.fit(*captured("8 Mb/s"), out=file)
    support = FitSupport.of(situation_of([file]).fit)
    assert support.good_for == fitted.document["score"]["good_for"]
    assert support.direction == "down"
    assert FitSupport.of(situation_of(["dsl-16m"]).fit) == FitSupport()


LINE = """
[[hop]]
name = "access"
rate = { down = "20 Mb/s", up = "2 Mb/s" }
delay = "10 ms"
queue = { down = { bytes = "500 kB" }, up = { bytes = "100 kB" } }
"""
FITTED = """
[fit]
inputs = []
[[fit.parameters]]
path = "hop.access.rate.down"
value = 2e7
lo = 1.8e7
hi = 2.1e7
unit = "b/s"
status = "identified"
[[fit.parameters]]
path = "hop.access.rate.up"
value = 2e6
lo = 3e6
hi = 4e6
unit = "b/s"
status = "identified"
"""


@pytest.mark.parametrize(
    ("text", "kbits"),
    [(LINE, (19_000, 1900)), (LINE + "[fit]\ninputs = []\n", (19_000, 1900)), (LINE + FITTED, (17_100, 1900))],
    ids=["not fitted", "no parameters", "fitted, and the rate up lowered by hand"],
)
def test_shaper_stays_below_the_lower_end_of_a_fitted_rate(text: str, kbits: tuple[int, int], tmp_path: Path) -> None:
    (tmp_path / "line.toml").write_text(text, encoding="utf-8")
    actions = candidates(situation_of([tmp_path / "line.toml"]), ["router"])
    shaper = next(one for one in actions if one.kind == "shaper" and "both directions" in one.label)
    typed = [step.command.text() for step in shaper.steps]
    for rate in kbits:
        assert sum(f"bandwidth {rate}kbit" in line for line in typed) == 1, typed
    assert shaper.sqm is not None
    assert (shaper.sqm.download, shaper.sqm.upload) == kbits


@pytest.mark.parametrize(("lo", "bits"), [(1.8e6, 1_800_000), (3e6, 2_000_000)], ids=["below the rate", "above it"])
def test_cake_of_a_router_has_the_lower_end_of_a_fitted_rate(lo: float, bits: int, tmp_path: Path) -> None:
    text = LINE + FITTED.replace("lo = 3e6", f"lo = {lo}")
    (tmp_path / "line.toml").write_text(text, encoding="utf-8")
    actions = candidates(situation_of([tmp_path / "line.toml"]), ["router"])
    cake = next(one for one in actions if one.label == "cake at access up")
    assert f"cake bandwidth {bits}bit" in cake.steps[0].command.text()
    assert f"the line carries {bits / 1e6:g} Mb/s" in " ".join(cake.preconditions)
