"""Figures of chapter 08: numerical accounting."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from dpnotes import conversions
from dpnotes.accountants import NumericalAccountant, RenyiAccountant
from dpnotes.figures._race import on_a_grid, on_a_line
from dpnotes.figures._registry import _, figure
from dpnotes.figures._style import BLUE, GREEN, GREY, ORANGE, PURPLE, RED, SHADE
from dpnotes.privacy_loss import GaussianLoss, PoissonGaussianLoss

EPSILON, MU = 12.595246735506775, 5**0.5  # twenty Gaussian queries with sigma = 2, at delta = 1e-6
POINTS = np.unique(np.geomspace(2, 4096, 45).astype(int))


def _hockey_stick(epsilon, losses, masses) -> np.ndarray:
    return np.maximum(0.0, -np.expm1(np.minimum(np.asarray(epsilon)[..., None] - losses, 0.0))) @ masses


@figure("loss-on-a-grid", chapter=8, source="new", panels=(1, 2), size=(7.2, 3.8), move={"step": (0.1, 1.2)},
        caption="A loss of four values, each moved to the next point of a grid: upwards gives a delta curve above the exact one, downwards one below.",
        alt="Left, four stems that grow from left to right, with an upward triangle at the next grid line to the right of each and a downward one at the next to the "
            "left. Right, three falling broken curves; the exact one lies between the curve rounded up and the curve rounded down.")
def loss_on_a_grid(axes, step=0.5):
    loss = conversions.optimal_composition([(0.55, 0.0, 1), (0.9, 0.0, 1)])
    l, p = loss.losses, np.exp(loss.log_masses)
    rounded = {"up": step * np.ceil(l / step - 1e-12), "down": step * np.floor(l / step + 1e-12)}
    for line in step * np.arange(-np.ceil(1.7 / step), np.ceil(2.7 / step) + 1):
        axes[0].axvline(line, color=GREY, linewidth=0.6, alpha=0.5)
    axes[0].vlines(l, 0, p, color=BLUE, linewidth=3)
    axes[0].plot(l, p, "o", color=BLUE, label=_("exact"))
    epsilon = np.linspace(0, 2, 161)
    axes[1].plot(epsilon, _hockey_stick(epsilon, l, p), color=BLUE, label=_("exact"))
    for (name, values), color, marker, line in zip(rounded.items(), (RED, GREEN), "^v", ("--", "-."), strict=True):
        label = {"up": _("rounded up"), "down": _("rounded down")}[name]
        axes[0].plot(values, p, marker, color=color, label=label)
        axes[0].hlines(p, values, l, color=color, linewidth=1)
        axes[1].plot(epsilon, _hockey_stick(epsilon, values, p), color=color, linestyle=line, label=label)
    axes[0].set(xlabel=_("privacy loss"), ylabel=_("probability"), xlim=(-2.7, 2.7), ylim=(0, 0.72))
    axes[1].set(xlabel="ε", ylabel="δ", xlim=(0, 2), ylim=(0, 0.65))
    axes[0].legend(loc="upper left")
    axes[1].legend(loc="upper right")
    low, exact, high = (float(_hockey_stick(0.5, values, p)) for values in (rounded["down"], l, rounded["up"]))
    return _("At ε = 0.5: {low:.5f} ≤ δ = {exact:.5f} ≤ {high:.5f}.").format(low=low, exact=exact, high=high)


@figure("contour-integrand", chapter=8, source="new", move={"c": (0.3, 4.0)},
        caption="What the contour integral adds up, for twenty Gaussian queries at δ = 10⁻⁶: the line through c decides how much cancels.",
        alt="A curve over y from 0 to 4 that starts at its highest, falls to zero by about 1.5 and stays there, with a dashed envelope just above it. The area "
            "under the curve is shaded.")
def contour_integrand(ax, c=1.8):
    loss, y = GaussianLoss(MU), np.linspace(0, 4, 1601)
    z = c + 1j * y
    terms = np.exp(loss.log_mgf(z) - z * EPSILON - loss.log_delta(EPSILON)) / (np.pi * z * (z + 1))
    ax.fill_between(y, terms.real, color=BLUE, **SHADE)
    ax.plot(y, terms.real, color=BLUE, label=_("real part"))
    ax.plot(y, np.abs(terms), color=ORANGE, linestyle="--", label=_("modulus"))
    ax.axhline(0, color=GREY, linewidth=0.8)
    ax.set(xlabel=_("y, the height above the real axis"), ylabel=_("integrand / δ"), xlim=(0, 4))
    ax.legend(loc="upper right")
    area, size = (float(np.trapezoid(values, y)) for values in (terms.real, np.abs(terms)))
    return _("c = {c:.3g}: the signed area is {area:.5f} of δ, the area under the modulus {size:.4g} of δ.").format(c=c, area=area, size=size)


@figure("aliased-copies", chapter=8, source="new", move={"period": (2.0, 20.0), "c": (0.5, 5.0)},
        caption="What the trapezoid rule adds up exactly: the weighted curve exp(c(l - ε)) δ(l) at ε, the wanted term, and at every period R to its left and right.",
        alt="A hill on a logarithmic scale, rising in a straight line from the left, round at the top and falling off steeply on the right. Dots on it stand a "
            "period apart; the middle one is marked; its neighbors lie about two powers of ten lower, the others much lower.")
def aliased_copies(ax, period=8.0, c=2.0):
    loss, l = GaussianLoss(MU), np.linspace(-30, 40, 701)

    def weighted(x):
        return np.exp(c * (x - EPSILON) + loss.log_delta(x) - loss.log_delta(EPSILON))

    places = EPSILON + period * np.arange(-60, 61)
    inside = (places >= l[0]) & (places <= l[-1])
    ax.plot(l, weighted(l), color=BLUE, label=_("weighted δ, in units of δ(ε)"))
    ax.plot(places[inside], weighted(places[inside]), "o", color=RED, label=_("copies that are added"))
    ax.plot([EPSILON], [1.0], "D", color=GREEN, markersize=9, label=_("the wanted one"))
    ax.set(yscale="log", xlabel=_("l"), ylabel=_("weighted δ(l)"), xlim=(-30, 40), ylim=(1e-24, 1e6))
    ax.legend(loc="lower center")
    return _("R = {period:.4g}: the rule exceeds δ by the fraction {excess:.3g}, and takes a node every 2π/R = {step:.4f}.").format(
        period=period, excess=float(np.sum(weighted(places)) - 1), step=2 * np.pi / period)


@lru_cache(maxsize=4)
def _brackets(k: int) -> tuple[float, np.ndarray]:
    """delta, and for every number of POINTS the bounds in units of delta: line (2), grid (3)."""
    delta = GaussianLoss(0.5 * k**0.5).delta(_target(k))
    return delta, np.array([on_a_line(0.5, k, _target(k), n) + on_a_grid(0.5, k, _target(k), n) for n in POINTS.tolist()]) / delta


def _target(k: int) -> float:
    return float(GaussianLoss(0.5 * k**0.5).epsilon(1e-6))


@figure("race-of-bounds", chapter=8, source="new", panels=(1, 2), size=(7.2, 3.8), move={"nodes": (2, 4096, "log"), "k": (2, 200)},
        caption="A race of certified bounds on δ with the same number of points: on the contour, and on a grid with losses rounded or split. The exact value is at 1.",
        alt="Left, on logarithmic axes, bounds in units of the exact delta against the number of points. The contour's two bounds meet the line at one within ten "
            "points; those of the grid stand far apart at 64 points and close only slowly. Right, how far the upper bounds are above: the contour's falls to rounding at sixteen points.")
def race_of_bounds(axes, nodes=64, k=20):
    delta, bounds = _brackets(k)
    now = np.array(on_a_line(0.5, k, _target(k), nodes) + on_a_grid(0.5, k, _target(k), nodes)) / delta
    styles = ((1, BLUE, "-", _("contour")), (3, RED, "--", _("grid, rounded")), (4, PURPLE, "-.", _("grid, split")))
    for column, color, line, label in styles:
        axes[0].plot(POINTS, bounds[:, column], color=color, linestyle=line, label=label)
        axes[1].plot(POINTS, np.maximum(bounds[:, column] - 1, 1e-16), color=color, linestyle=line, label=label)
        axes[1].plot([nodes], [max(now[column] - 1, 1e-16)], "o", color=color)
    for column, color, line in ((0, BLUE, "-"), (2, RED, "--")):
        axes[0].plot(POINTS, np.maximum(bounds[:, column], 1e-9), color=color, linestyle=line)
    for ax in axes:
        ax.axvline(nodes, color=GREY, linewidth=1)
        ax.set(xscale="log", yscale="log", xlabel=_("number of points"), xlim=(2, 4096))
    axes[0].set(ylabel=_("bound / exact δ"), ylim=(1e-3, 1e6))
    axes[1].set(ylabel=_("upper bound / exact δ - 1"), ylim=(1e-16, 1e7))
    axes[0].legend(loc="upper right")
    return _("{nodes} points: the contour's bracket is within {width:.1g} of δ; the grid's runs from {lower:.3g} to {upper:.4g} times δ rounded, and to "
             "{split:.4g} times δ split.").format(nodes=nodes, width=max(now[1] - now[0], 1e-12), lower=now[2], upper=now[3], split=now[4])


@figure("epsilon-over-steps", chapter=8, source="new", move={"sigma": (0.7, 4.0, "log"), "q": (0.001, 0.05, "log")},
        caption="What training costs, step by step: the certified value and a Rényi ledger's bound for Gaussian noise on Poisson samples, at δ = 10⁻⁵.",
        alt="Two curves of epsilon against the number of steps on a logarithmic axis, both rising ever more steeply; the Rényi ledger's lies above the certified one all along, "
            "by more than half at a hundred steps and by a twelfth at ten thousand.")
def epsilon_over_steps(ax, sigma=1.0, q=0.01):
    times, loss = np.unique(np.geomspace(100, 10_000, 15).astype(int)), PoissonGaussianLoss(q, 1 / sigma)
    lower, upper = NumericalAccountant().add(loss).epsilon_curve(times, delta=1e-5)
    orders = [RenyiAccountant().add(loss, int(k)).epsilon(1e-5) for k in times]
    ax.plot(times, orders, color=ORANGE, linestyle="--", marker="s", markersize=4, label=_("Rényi ledger"))
    ax.plot(times, upper, color=BLUE, marker="o", markersize=4, label=_("certified"))
    ax.set(xscale="log", xlabel=_("number of steps"), ylabel=_("ε at δ = 10⁻⁵"), xlim=(90, 11_000), ylim=(0, None))
    ax.legend(loc="upper left")
    return _("After 10,000 steps: {low:.9g} ≤ ε ≤ {high:.9g}; the Rényi ledger says {orders:.5g}.").format(low=lower[-1], high=upper[-1], orders=orders[-1])
