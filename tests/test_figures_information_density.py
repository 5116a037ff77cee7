"""The figures of chapters 16 and 17: they draw at every corner of their sliders, and show the numbers they should."""

import itertools
import math
import warnings

import numpy as np
import pytest

import dpnotes.information_density as density
from dpnotes.figures import all_figures, get

NAMES = [name for name, spec in all_figures().items() if spec.chapter in (16, 17)]


def test_there_are_enough_that_move():
    assert sum(bool(get(name).sliders) for name in NAMES) >= 12
    assert {"F3.1", "F3.2", "F3.3", "F3.4", "F3.5"} <= {get(name).source for name in NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_draws_at_the_ends_of_its_sliders(name):
    spec = get(name)
    assert len(spec.alt) > 80 and spec.caption.endswith(".") and spec.data()
    sliders = list(spec.sliders.values())
    corners = itertools.product(*[(s.low, s.high) for s in sliders[:2]]) if len(sliders) < 3 else [
        *itertools.product(*[(s.low, s.high) for s in sliders[:2]], [sliders[2].low]), tuple(s.high for s in sliders[:3])]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        given = [{s.parameter: v for s, v in zip(sliders, corner, strict=False)} for corner in corners]
        readouts = {spec.draw_with_readout(**parameters)[1] for parameters in given}
    assert len(readouts) > 1 and all(text.endswith(".") and "nan" not in text for text in readouts)  # moving it says something


def line(name, series, **parameters):
    data = get(name).data(**parameters)[series]
    return np.array(data["x"]), np.array(data["y"])


def test_randomized_response_figure_shows_the_oracle():
    for series, value in (("cost of C", 0.6201145069582775), ("leakage of A", 0.7046054708796523)):
        x, y = line("rr-leakage-and-cost", series)
        assert np.interp(1.0, x, y) == pytest.approx(value, rel=1e-12)


def test_map_figure_ends_where_it_should():
    x, y = line("leakage-to-cost", "PML at most x: cost at most")
    assert x.max() < -math.log(0.8) and np.allclose(y, np.linspace(0, 4.8, 160), atol=1e-9)  # by the inverse formula
    u, _ = line("leakage-to-cost", "PMC at most y: leakage at most")
    assert u.max() < math.log(5) and "0.2231" in get("leakage-to-cost").draw_with_readout()[1]


def test_laplace_figure_shows_the_printed_values():
    x, cost = line("laplace-leakage-and-cost", "cost")
    _, leakage = line("laplace-leakage-and-cost", "leakage")
    printed = {0.0: (1.161439, 0.838561), 0.25: (0.964146, 0.535854), 0.5: (0.541325, 0.458675), 1.6: (1.161439, 0.838561)}
    for y, values in printed.items():
        assert (np.interp(y, x, cost), np.interp(y, x, leakage)) == pytest.approx(values, abs=1e-6)


def test_clayton_figures():
    x, leakage = line("clayton-mixture", "panel 2: leakage")
    assert x[0] == pytest.approx(1e-6) and leakage[0] == pytest.approx(11.3951513, abs=1e-6)
    x, delta = line("clayton-tail", "P[leakage > ε]")
    printed = [0.0461739, 0.0134701, 0.0046065, 0.00060213]
    assert [np.interp(t, x, delta) for t in (1, 2, 3, 5)] == pytest.approx(printed, rel=2e-5)
    x, limit = line("clayton-tail", "its limit, a constant × e^(−ε)")
    assert limit[0] == pytest.approx(0.3 * 8 / 27)


def test_repeated_answers_figure_against_composition():
    law = density.randomized_response([0.3, 0.7], 0.8)
    _, exact = line("costs-add-up", "exact", epsilon=0.8, prior_of_1=0.3)
    both = law
    for k in range(1, 5):
        assert exact[k - 1] == pytest.approx(both.pmc_epsilon(), rel=1e-12)
        both = both.compose(law.channel)


def test_ladder_lengths_do_not_depend_on_the_prior():
    def lengths(**prior):
        data = get("density-ladder").data(**prior)
        return [data[f"leakage of {s}"]["y"][1] - data[f"cost of {s}"]["y"][0] for s in "ABC"]

    of_the_channel = pytest.approx([math.log(12), math.log(2.4), math.log(6)])
    assert lengths() == of_the_channel and lengths(prior_of_A=0.9, share_of_B=0.05) == of_the_channel


def test_reveal_figure_against_the_law():
    x, leakage = line("reveal-a-rare-secret", "leakage")
    assert leakage[0] == pytest.approx(density.reveal([0.5, 0.5], 0.3).pml_epsilon())
    assert np.all(np.diff(leakage) > 0) and x[0] == 2


def test_designed_channels_are_never_worse():
    series = ("best of equal cost and leakage", "best of equal LDP", "randomized response")
    both, ldp, plain = (line("designed-utility", s)[1] for s in series)
    assert np.all(both >= ldp - 1e-9) and np.all(ldp >= plain - 1e-9) and np.max(ldp - plain) > 0.1
