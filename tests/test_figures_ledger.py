"""The figures of chapters 04 to 09: they draw at every end of their sliders, and show the numbers they are about."""

import itertools
import json
import re
from pathlib import Path

import numpy as np
import pytest
from scipy.special import log_ndtr, ndtr

from dpnotes import conversions as cv
from dpnotes.figures import all_figures
from dpnotes.figures._race import on_a_grid, on_a_line

FIGURES = {name: spec for name, spec in all_figures().items() if spec.chapter in (4, 5, 6, 7, 8, 9)}


def numbers(sentence):
    return [float(number) for number in re.findall(r"-?\d+(?:\.\d+)?(?:e-?\d+)?", sentence)]


def readout(name, **given):
    return numbers(FIGURES[name].draw_with_readout(**given)[1])


@pytest.mark.parametrize("name", FIGURES)
def test_every_end_of_the_sliders_draws(name):
    spec = FIGURES[name]
    ends = [[int(end) if slider.whole else end for end in (slider.low, slider.high)] for slider in spec.sliders.values()]
    for values in itertools.product(*ends):
        figure, sentence = spec.draw_with_readout(**dict(zip(spec.sliders, values, strict=True)))
        assert figure.axes
        assert len(numbers(sentence)) >= 1
        assert "nan" not in sentence
    assert len(spec.alt) > 100
    assert len(spec.caption) > 50
    assert spec.data()


def test_the_sources_figures_are_there():
    sources = {spec.source for spec in FIGURES.values()}
    assert {f"F0.{i}" for i in range(1, 7)} | {f"F4.{i}" for i in range(1, 8)} <= sources


def test_means_of_the_gain():
    # theory.md, section 2: gains of the Laplace mechanism with mean loss 3.4
    assert readout("gain-quadratic-mean") == pytest.approx([53.63, 62.312])
    assert readout("gain-geometric-mean") == pytest.approx([3.4, 29.964])
    assert readout("gain-all-means", alpha=4.0)[1:] == pytest.approx([66.755, 4.201])
    data = FIGURES["gain-of-a-mechanism"].data()["gain exp(L)"]
    x, gain = np.array(data["x"]), np.array(data["y"])
    top = np.exp(4.387569089)
    assert gain == pytest.approx(np.where(x < 0.5, top, np.maximum(4 * top * (1 - x) ** 2, 1 / top)), rel=1e-9)


def test_the_ledger_by_order():
    assert readout("ledger-by-order") == pytest.approx([20, 4, 14.605, 14.254])
    assert readout("best-order")[:4] == pytest.approx([3.3508, 14.2539, 14.6052, 13.3738])
    grid = FIGURES["best-order"].data()["grid of orders"]
    assert grid["y"] == pytest.approx([18.816, 14.605, 21.974, 40.921, 80.446], abs=6e-4)


def test_rounds():
    data = FIGURES["rounds-compared"].data()
    exact = data["exact"]
    assert [exact["y"][k - 1] for k in (1, 5, 10, 20)] == pytest.approx([2.254085, 5.550860, 8.306225, 12.595247], abs=6e-7)
    assert data["plain sum"]["y"][-1] == pytest.approx(51.15, abs=5e-3)


def test_the_wrong_parabola_and_the_one_order():
    shown = readout("log-moment-parabolas")
    assert shown.count(1.098285) == 2  # the Gaussian's moment, and the right bound; the wrong one is below
    assert 1.031743 in shown
    one = readout("rho-is-a-supremum")
    assert 1.18519 in one
    assert 8.879e-4 in [pytest.approx(value, abs=1e-7) for value in one]


def test_curves_touch_where_the_sentence_says():
    spec = FIGURES["tradeoff-touching"]
    for epsilon in (0.2, 1.0, 4.0):
        data = spec.data(epsilon=epsilon)
        gaussian, corner = next(line for name, line in data.items() if name.startswith("Gaussian")), data["touching point"]
        assert np.interp(corner["x"], gaussian["x"], gaussian["y"]) == pytest.approx(corner["y"], abs=2e-4)
        laplace = data["Laplace noise"]
        assert np.all(np.array(laplace["y"]) >= cv.approx_to_tradeoff(epsilon, 0, laplace["x"]) - 1e-9)
    for epsilon in (-2.0, 0.5, 3.0):
        data = FIGURES["tradeoff-duality"].data(epsilon=epsilon)
        line, touch = data["slope -exp(ε)"], data["touching point"]
        slope = (line["y"][1] - line["y"][0]) / (line["x"][1] - line["x"][0])
        assert line["y"][0] + slope * touch["x"][0] == pytest.approx(touch["y"][0], abs=1e-9)


def test_the_polygon_of_a_finite_loss():
    data = FIGURES["tradeoff-central-limit"].data(k=3)
    line = next(line for name, line in data.items() if name.startswith("k ="))
    loss = cv.optimal_composition([(1 / 3**0.5, 0.0, 3)])
    assert line["y"] == pytest.approx(cv.delta_to_tradeoff(loss.delta, line["x"]), abs=1e-9)


@pytest.mark.parametrize("mu, k, epsilon", [(0.5, 20, 12.595246735506775), (0.1, 100, 4.9), (1.0, 2, 2.0), (0.05, 1000, 6.0), (2.0, 3, 3.0)])
def test_the_racers_bracket_the_exact_delta(mu, k, epsilon):
    total = mu * k**0.5
    exact = cv.gdp_to_delta(total, epsilon)
    for points in (2, 3, 5, 8, 13, 24, 64, 200, 1000, 4096):
        low, high = on_a_line(mu, k, epsilon, points)
        assert low <= exact <= high
        if points >= 24:
            assert high - low < (0.02 if points < 1000 else 1e-9) * exact
        lower, rounded, split = on_a_grid(mu, k, epsilon, points)
        assert lower <= exact <= min(rounded, split)
    assert split < rounded
    assert split < 1.05 * exact


def test_the_grid_moves_the_curve_to_its_sides():
    for step in (0.1, 0.5, 0.9, 1.2):
        data = FIGURES["loss-on-a-grid"].data(step=step)
        low, exact, high = (np.array(data[f"panel 2: {name}"]["y"]) for name in ("rounded down", "exact", "rounded up"))
        assert np.all(low <= exact + 1e-15) and np.all(exact <= high + 1e-15)
        moved = np.array(data["panel 1: rounded up"]["x"]) - np.array(data["panel 1: exact"]["x"])
        assert np.all((moved > -1e-9) & (moved < step))


def test_the_line_through_any_c_gives_delta():
    for c in (0.3, 1.8, 4.0):
        assert readout("contour-integrand", c=c)[1] == pytest.approx(1, abs=1e-5)
    # by the normal distribution alone: copies of delta to the left and right of epsilon
    epsilon, weights = 12.595246735506775, 0.0
    for k in range(-12, 13):
        weights += np.exp(16 * k) * (1 - np.exp(epsilon + 8 * k) if epsilon + 8 * k < -30 else _delta(epsilon + 8 * k, 5**0.5))
    assert readout("aliased-copies", period=8.0, c=2.0)[1] == pytest.approx(weights / 1e-6 - 1, rel=5e-3)


def _delta(epsilon, mu):
    return ndtr(mu / 2 - epsilon / mu) - np.exp(epsilon + log_ndtr(-mu / 2 - epsilon / mu))


def test_epsilon_over_steps_against_the_truth():
    truth = json.loads((Path(__file__).parent / "data" / "accounting_truths.json").read_text())["m_curve"]
    data = FIGURES["epsilon-over-steps"].data()
    certified, orders = data["certified"], data["Rényi ledger"]
    for steps in (100, 10_000):
        place = certified["x"].index(steps)
        assert certified["y"][place] == pytest.approx(float(truth["eps"][truth["Ts"].index(steps)]), rel=1e-8)
    assert np.all(np.array(orders["y"]) > np.array(certified["y"]))


def test_power_at_low_rates():
    assert readout("power-at-low-rates", sigma=1.0)[0] == pytest.approx(ndtr(1 - 3.090232306167813), rel=1e-4)
