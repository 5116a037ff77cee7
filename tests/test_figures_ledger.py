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
    for focus, order, gain, words in ((0, 1, 29.964, "geometric mean"), (6, 2, 53.63, "arithmetic mean"), (8, 3, 62.312, "quadratic mean"),
                                      (9, 4, 66.755, "cubic mean")):
        sentence = FIGURES["gain-all-means"].draw_with_readout(focus=focus)[1]
        assert numbers(sentence)[:2] == pytest.approx([order, gain]) and words in sentence
    assert numbers(FIGURES["gain-all-means"].draw_with_readout(focus=12)[1])[0] == pytest.approx(80.445)
    assert FIGURES["gain-all-means"].sliders["focus"].grid(17, 9) == list(range(13))  # every named mean has a frame of its own
    data = FIGURES["gain-of-a-mechanism"].data()["gain exp(L)"]
    x, gain = np.array(data["x"]), np.array(data["y"])
    top = np.exp(4.387569089)
    assert gain == pytest.approx(np.where(x < 0.5, top, np.maximum(4 * top * (1 - x) ** 2, 1 / top)), rel=1e-9)


def test_the_ledger_by_order():
    assert readout("ledger-by-order") == pytest.approx([20, 4, 14.605, 14.254])
    assert readout("best-order")[:4] == pytest.approx([3.3508, 14.2539, 14.6052, 13.3737])
    grid = FIGURES["best-order"].data()["grid of orders"]
    assert grid["y"] == pytest.approx([18.816, 14.605, 21.974, 40.921, 80.446], abs=6e-4)


def test_what_an_order_weighs():
    # the integrand of E_Q[(P/Q)^alpha], normalized, and its total, by plain sums over a fine grid
    for alpha, sigma in ((4.0, 2.0), (1.0, 1.0), (2.5, 3.0)):
        y = np.linspace(900, 1100, 400_001)
        log_p, log_q = -((y - 1000) ** 2) / (2 * sigma**2), -((y - 1001) ** 2) / (2 * sigma**2)
        weight = np.exp(alpha * log_p + (1 - alpha) * log_q)
        order, center, at, renyi = readout("where-the-order-looks", alpha=alpha, sigma=sigma)
        assert order == alpha
        assert center == pytest.approx((y * weight).sum() / weight.sum(), abs=0.06)  # five digits of 1000
        assert at == pytest.approx(((log_p - log_q) * weight).sum() / weight.sum(), rel=1e-3)
        if alpha > 1:
            assert renyi == pytest.approx(np.log(weight.sum() / np.exp(log_p).sum()) / (alpha - 1), rel=1e-3)


def test_every_order_bounds_the_tail():
    assert readout("tail-by-order")[:2] == pytest.approx([2, 8.842e-5], rel=1e-3)  # P[N(1/8, 1/4) > 2] = Q(3.75)
    assert readout("tail-by-order")[3] == pytest.approx(np.exp(-7), rel=1e-3)
    data = FIGURES["tail-by-order"].data()
    tail = np.array(data["P[L > l], exactly"]["y"])
    bounds = [np.array(columns["y"]) for name, columns in data.items() if "order" in name]
    assert len(bounds) == 4 and all((bound >= tail).all() for bound in bounds)


def test_the_ledger_fills_on_one_scale():
    heights = [FIGURES["ledger-by-order"].draw(k=k).axes[0].get_ylim() for k in (1, 20)]
    assert heights[0] == heights[1]


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


def test_a_morning_charges_the_tags():
    top, own, loss = readout("one-morning", seed=5)
    prices = [0.1, 0.1, 0.2, 0.2, 0.5, 1.0]
    assert (top, own) == pytest.approx((6.0, 2.1))
    data = FIGURES["one-morning"].data(seed=5)["the losses of the outputs"]
    steps = np.diff(data["y"])[:6]
    assert np.all(np.abs(steps) <= np.array(prices) + 1e-12)
    assert steps.sum() == pytest.approx(loss, rel=1e-3)


def test_a_bound_read_too_often():
    # All 2**14 patterns of truths and lies, against the walk of the figure.
    up = np.exp(0.1) / (1 + np.exp(0.1))
    signs = np.array(list(itertools.product((1, -1), repeat=14)))
    chance = np.where(signs > 0, up, 1 - up).prod(axis=1)
    runs, walk = np.arange(1, 15), signs.cumsum(axis=1)
    bound = np.minimum(runs, runs * np.tanh(0.05) + np.sqrt(2 * runs * np.log(20)))
    above = np.maximum.accumulate(walk > bound + 1e-9, axis=1)
    drawn = FIGURES["ever-exceeded"].data()["bound for a fixed number of runs"]["y"][:14]
    assert drawn == pytest.approx(chance @ above, abs=1e-12)
    fixed, meter = readout("ever-exceeded")[1:3]
    assert meter < 0.05 < fixed


def test_two_points_and_their_tangent():
    for epsilon, alpha in ((2.0, 2.0), (1.0, 3.0), (3.0, 1.5)):
        data = FIGURES["two-point-budget"].data(epsilon=epsilon, alpha=alpha)
        curve = data["largest p that the budget allows"]
        p, q = np.array(curve["y"]), np.array(curve["x"])
        delta = cv.rdp_to_delta(alpha, 0.5, epsilon)
        assert (p - np.exp(epsilon) * q).max() == pytest.approx(delta, rel=1e-3)
        inside = (p > q) & (p < 0.999) & (q > 0)
        p, q = p[inside], q[inside]
        budget = np.log(p**alpha * q ** (1 - alpha) + (1 - p) ** alpha * (1 - q) ** (1 - alpha)) / (alpha - 1)
        assert budget == pytest.approx(np.full(p.shape, 0.5), rel=1e-6)


def test_savings():
    # Claim S4.15: .73, 2.81, 9.6, 15.0, and the limit 16
    data = FIGURES["saving-by-rounds"].data()
    demo = data["2k over zCDP, as in the demo"]
    at = np.interp(np.log([1, 1000, 1e5]), np.log(demo["x"]), demo["y"])
    assert at == pytest.approx([0.73, 9.61, 15.0], rel=0.01)
    same = data["plain sum over exact, same δ"]["y"]
    assert same[0] == pytest.approx(1.0) and np.all(np.diff(same) > 0) and max(demo["y"]) < 16


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
