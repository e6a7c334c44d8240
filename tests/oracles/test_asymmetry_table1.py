"""Table 1 of `asymmetry`, plain Reno: within 10 % of the paper or of ns-2 on either network; all
three are reported.
"""

import pytest

from studies.oracles import table1


@pytest.mark.parametrize(("claim", "path"), table1.CELLS.items(), ids=table1.CELLS.values())
def test_table_1_throughput_agrees_with_the_paper_or_ns2(claim: str, path: str) -> None:
    figures = table1.figures(claim, path)
    print(*figures, sep="\n")
    assert any(figure.holds for figure in figures), "\n".join(map(str, figures))


@pytest.mark.parametrize(("claim", "path"), table1.CELLS.items(), ids=table1.CELLS.values())
def test_table_1_throughput_agrees_with_ns2_under_its_queue_rule(claim: str, path: str) -> None:
    figures = table1.figures_with_ns2_queues(claim, path)
    assert all(figure.holds for figure in figures), "\n".join(map(str, figures))
