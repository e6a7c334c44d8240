"""The paper's conclusions (section 6)."""

from __future__ import annotations

from ackclock.papers.evaluators import ExperimentData, ExperimentPoint, fairness, format_values, goodput_mbps, statement
from ackclock.papers.evidence import Evaluate, Evidence
from ackclock.papers.wimax_simulated import scenario3
from ackclock.papers.wimax_simulated.single import RATES, RATES2, of_five, scenario1, scenario2

BAND = (7.0 - 15.0, 18.0 + 15.0)


def _places() -> dict[str, ExperimentPoint]:
    first = {f"scenario 1 at {rate:g}": scenario1("New Reno", rate) for rate in RATES}
    second = {f"scenario 2 at {rate:g}": scenario2("New Reno", rate) for rate in RATES2}
    third = {f"scenario 3 at {rate:g}": scenario3.errors("New Reno", rate) for rate in scenario3.RATES}
    return {**first, **second, **third}


def _bic(figures: ExperimentData) -> tuple[bool, str]:
    gains = {name: figures.gain(spot.of("BIC"), spot, goodput_mbps).mean for name, spot in _places().items()}
    inside = [name for name, gain in gains.items() if BAND[0] <= gain <= BAND[1]]
    text = (
        f"{min(gains.values()):+.0f} % to {max(gains.values()):+.0f} %, {len(inside)} of "
        f"{len(gains)} cases within the paper's band"
    )
    contradiction = '"a gain between 7% and 18% over Reno in all cases considered", where section 4 has 54 %'
    return len(inside) == len(gains), f"not judged: {contradiction}. Ours: {text}"


def _order(figures: ExperimentData) -> tuple[bool, str]:
    wrong = []
    for name, spot in _places().items():
        found = of_five(figures, spot)
        best = sorted(found, key=lambda scheme: -found[scheme])[:2]
        if set(best) != {"Westwood", "BIC"}:
            wrong.append(f"{name} ({', '.join(best)})")
    cases = len(_places())
    text = f"Westwood and BIC are the best two in {cases - len(wrong)} of {cases} cases"
    return not wrong, text + (f"; not in {'; '.join(wrong)}" if wrong else "")


def _fair(figures: ExperimentData) -> tuple[bool, str]:
    spots = [scenario3.errors("", rate) for rate in scenario3.RATES if rate <= 1e-2] + [
        scenario3.ratio("", split) for split in scenario3.RATIOS
    ]
    found = {s: min(figures.mean(spot.of(s), fairness).mean for spot in spots) for s in ("Westwood", "BIC")}
    return min(found.values()) >= 0.9, "minimum index over error rates up to 1 % and all splits: " + format_values(
        found
    )


def _biad(figures: ExperimentData) -> tuple[bool, str]:
    ahead = []
    places = _places()
    for name, spot in places.items():
        found = of_five(figures, spot, ("Westwood", "BIC", "BIAD"))
        if found["BIAD"] > max(found["Westwood"], found["BIC"]):
            ahead.append(name)
    why = "BIAD and Westwood use the same estimate, that of 2001"
    return len(ahead) == len(
        places
    ), f"ahead of both in {len(ahead)} of {len(places)} cases ({', '.join(ahead) or 'none'}). {why}"


def _undecided(figures: ExperimentData) -> Evaluate:
    """The paper contradicts itself: ours is described without a verdict."""
    return lambda claim: Evidence(None, _bic(figures)[1], decidable=False)


def evaluators(figures: ExperimentData) -> dict[str, Evaluate]:
    """Claim id to evaluator."""
    return {
        "P3-057": _undecided(figures),
        "P3-058": statement(lambda: _order(figures)),
        "P3-059": statement(lambda: _fair(figures)),
        "P3-060": statement(lambda: _biad(figures)),
    }
