"""The figures of chapters 11 to 13: they draw at every end of their sliders, and show the numbers they are about."""

import itertools
import json
import re
from pathlib import Path

import numpy as np
import pytest

from dpnotes.figures import all_figures

DATA = json.loads((Path(__file__).parent / "data" / "ex_post.json").read_text(encoding="utf-8"))
TABLE = DATA["boundaries_at_delta_1e-6_tuned_at_rho_1"]
FIGURES = {name: spec for name, spec in all_figures().items() if spec.chapter in (11, 12, 13)}


def numbers(sentence):
    return [float(number) for number in re.findall(r"-?\d+(?:\.\d+)?(?:e-?\d+)?", sentence)]


@pytest.mark.parametrize("name", FIGURES)
def test_every_end_of_the_sliders_draws(name):
    spec = FIGURES[name]
    ends = [[int(end) if slider.whole else end for end in (slider.low, slider.high)] for slider in spec.sliders.values()]
    for values in itertools.product(*ends):
        given = dict(zip(spec.sliders, values, strict=True))
        figure, readout = spec.draw_with_readout(**given)
        assert len(readout) > 40 and figure.axes
    assert len(spec.alt) > 100 and len(spec.caption) > 40


def test_the_merge_shows_the_counterexample():
    readout = numbers(FIGURES["probabilistic-merge"].draw_with_readout()[1])
    assert readout[1:] == pytest.approx([0.05, 0.45, 0.05, 0.05])
    for epsilon, delta in ((0.3, 0.15), (1.5, 0.01)):  # at the ends, too, the pair is a right example before the merge
        before, after = numbers(FIGURES["probabilistic-merge"].draw_with_readout(epsilon=epsilon, delta=delta)[1])[1:3]
        assert before == pytest.approx(delta) and after > 2 * before


def test_the_bounds_are_the_table():
    data = FIGURES["bounds-against-rho"].data()
    for label, column in (("linear = ex-post Rényi", "linear"), ("mixture, one-sided", "mixture_one_sided"),
                          ("stitched", "stitched"), ("pointwise: NOT valid", "pointwise"),
                          ("α after the stop: NOT valid", "post_hoc_alpha")):
        line = data[f"panel 1: {label}"]
        assert np.interp(np.log(TABLE["rho"]), np.log(line["x"]), line["y"]) == pytest.approx(TABLE[column], rel=3e-3)


def test_a_bet_that_wins_is_called_unfair():
    assert "bound holds" in FIGURES["ex-post-bet"].draw_with_readout()[1]
    assert "too small" in FIGURES["ex-post-bet"].draw_with_readout(claim=0.9)[1]
    line = FIGURES["ex-post-bet"].data(alpha=1.5)["payout W"]
    assert np.trapezoid(line["y"], line["x"]) == pytest.approx(1.0, abs=0.02)


def test_the_path_ends_where_it_was_released():
    data = FIGURES["brownian-from-large-variance"].data()
    assert data["releases"]["x"] == [16.0, 4.0, 1.0, 0.25]
    path = dict(zip(data["path"]["x"], data["path"]["y"], strict=True))
    assert [path[x] for x in data["releases"]["x"]] == data["releases"]["y"]


def test_watching_longer_crosses_more():
    shares = [numbers(FIGURES["alpha-after-the-stop"].draw_with_readout(decades=d)[1])[2:4] for d in (1, 12, 24)]
    assert shares[0][0] < shares[1][0] < shares[2][0] and all(line <= 0.05 + 4 * (0.05 * 0.95 / 500) ** 0.5 for _, line in shares)
