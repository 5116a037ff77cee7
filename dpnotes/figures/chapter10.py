"""Figures of chapter 10: sampling and DP-SGD."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

import numpy as np

from dpnotes import conversions
from dpnotes.accountants import NumericalAccountant
from dpnotes.dp_sgd import shuffled_at_least
from dpnotes.figures._registry import _, figure
from dpnotes.figures._style import BLUE, GREEN, GREY, INK, ORANGE, PURPLE, RED, SHADE
from dpnotes.privacy_loss import GaussianLoss, PoissonGaussianLoss


def _bell(x, center, sigma):
    return np.exp(-(((x - center) / sigma) ** 2) / 2) / (sigma * np.sqrt(2 * np.pi))


@figure("batch-without-you", chapter=10, source="new", move={"q": (0.02, 0.9), "sigma": (0.3, 2.0)},
        caption="The noisy sum of one batch: without you, and with you in the data. Most often the batch does not hold you, and then both are the same bell.",
        alt="A dashed bell around 0 and a solid curve almost on top of it, a little lower around 0 and with a small shaded bump around 1: the batches that do hold you.")
def batch_without_you(ax, q=0.1, sigma=0.4):
    x = np.linspace(-3.2 * sigma, 1 + 3.2 * sigma, 500)
    without, held = _bell(x, 0, sigma), q * _bell(x, 1, sigma)
    ax.plot(x, without, color=RED, linestyle="--", label=_("you are not in the data"))
    ax.plot(x, (1 - q) * without + held, color=BLUE, label=_("you are in the data"))
    ax.fill_between(x, held, color=BLUE, label=_("the batch holds you"), **SHADE)
    ax.set(xlabel=_("noisy sum, less what the others contribute"), ylabel=_("density"), xlim=(x[0], x[-1]), ylim=(0, 1.75 * without.max()))
    ax.legend(loc="upper right")
    return _("With probability {out:.3g} the batch does not hold you. Far left the odds fall to {out:.3g} and no lower; an output of 1 raises them to {gain:.4g}.").format(
        out=1 - q, gain=1 + q * np.expm1(1 / (2 * sigma**2)))


@figure("sampled-gaussian-loss", chapter=10, source="new", move={"q": (0.01, 0.9), "sigma": (0.5, 3.0)},
        caption="The loss of a Gaussian on a Poisson sample, drawn on a logarithmic scale: it starts at a hard edge, log(1 - q), stays small, and is rarely large.",
        alt="On a logarithmic axis a narrow peak just right of the edge, a dotted vertical line a little below 0, falls off quickly and then slowly in a long tail to "
            "the right. The dashed parabola of the Gaussian without sampling is wide and centered at one half.")
def sampled_gaussian_loss(ax, q=0.1, sigma=1.0):
    loss, plain = PoissonGaussianLoss(q, 1 / sigma), GaussianLoss(1 / sigma)
    x = np.linspace(-9 * sigma, 1 + 9 * sigma, 2000)
    ratio = np.exp((x - 0.5) / sigma**2)
    l, slope = np.log1p(q * (ratio - 1)), q * ratio / (1 + q * (ratio - 1)) / sigma**2
    ends = plain.mean() - 3.9 / sigma, plain.mean() + 3.9 / sigma
    grid = np.linspace(*ends, 400)
    ax.plot(l, ((1 - q) * _bell(x, 0, sigma) + q * _bell(x, 1, sigma)) / slope, color=BLUE, label=_("on a sample, q = {q:.3g}").format(q=q))
    ax.plot(grid, _bell(grid, plain.mean(), 1 / sigma), color=RED, linestyle="--", label=_("on all records"))
    ax.axvline(loss.minimum, color=INK, linestyle=":", linewidth=1.4, label=_("edge log(1 - q)"))
    ax.set(xlabel=_("privacy loss L"), ylabel=_("density"), yscale="log", ylim=(1e-4, 300), xlim=(min(ends[0], 1.1 * loss.minimum), ends[1]))
    ax.legend(loc="upper right")
    return _("The edge is at {edge:.5g}. Mean loss {mean:.4g} instead of {whole:.4g}; P[L > 1] = {tail:.4g} instead of {much:.4g}.").format(
        edge=loss.minimum, mean=loss.mean(), whole=plain.mean(), tail=loss.tail(1.0), much=plain.tail(1.0))


@figure("sampled-delta-both-ways", chapter=10, source="new", move={"q": (0.01, 0.9), "sigma": (0.5, 3.0)},
        caption="δ of one step by ε, for the record that is removed and for the one that is added: the second curve ends at -log(1 - q).",
        alt="On a logarithmic axis three falling curves: highest the one without sampling; below it the curve for removing a record, which goes on; from the same "
            "start, the curve for adding one drops away and plunges to nothing at a dotted vertical line.")
def sampled_delta_both_ways(ax, q=0.2, sigma=1.0):
    remove, add = (PoissonGaussianLoss(q, 1 / sigma, way) for way in ("remove", "add"))
    epsilon = np.linspace(0, 1.5, 301)
    short = add.maximum * (1 - np.geomspace(1, 1e-4, 300))
    ax.plot(epsilon, GaussianLoss(1 / sigma).delta(epsilon), color=GREY, linestyle="-.", label=_("on all records"))
    ax.plot(epsilon, remove.delta(epsilon), color=BLUE, label=_("record removed"))
    ax.plot(short, add.delta(short), color=RED, linestyle="--", label=_("record added"))
    ax.axvline(add.maximum, color=INK, linestyle=":", linewidth=1.4, label=_("-log(1 - q)"))
    ax.set(xlabel="ε", ylabel="δ", yscale="log", xlim=(0, 1.5), ylim=(1e-7, 30))
    ax.legend(loc="upper right", ncols=2)
    return _("At ε = 0 both are {tv:.4g}. At ε = 0.1: removed {remove:.4g}, added {add:.4g}. From ε = {end:.4g} on, an added record has δ = 0.").format(
        tv=remove.delta(0.0), remove=remove.delta(0.1), add=add.delta(0.1), end=add.maximum)


@figure("dp-sgd-budget", chapter=10, source="new", move={"sigma": (0.8, 3.0, "log"), "q": (0.005, 0.05, "log")},
        caption="ε of DP-SGD by the number of steps, at δ = 10⁻⁵: exact (to nine digits), by Rényi DP, and for rates twice and half as large.",
        alt="Rising curves on logarithmic axes. The exact curve lies below the dashed one from Rényi divergences, clearly so where there are few steps; curves for half "
            "and twice the rate run parallel below and above.")
def dp_sgd_budget(ax, sigma=1.0, q=0.01):
    steps = np.array([500, 1000, 2000, 5000, 10_000, 20_000])
    exact = {}
    for factor, color, style in ((2, PURPLE, ":"), (1, BLUE, "-"), (0.5, GREEN, "-.")):
        ledger = NumericalAccountant().add(PoissonGaussianLoss(factor * q, 1 / sigma))
        exact[factor] = ledger.epsilon_curve(steps, delta=1e-5)[1]
        ax.plot(steps, exact[factor], color=color, linestyle=style, label=_("q = {q:.3g}").format(q=factor * q))
    orders = 1 + np.geomspace(0.1, 200, 60)
    curve = PoissonGaussianLoss(q, 1 / sigma).renyi(orders)
    renyi = [np.min(conversions.rdp_to_epsilon_cks(orders, k * curve, 1e-5)) for k in steps]
    ax.plot(steps, renyi, color=RED, linestyle="--", label=_("q = {q:.3g}, by Rényi DP").format(q=q))
    ax.set(xscale="log", yscale="log", xlabel=_("steps"), ylabel=_("ε at δ = 10⁻⁵"), xlim=(steps[0], steps[-1]))
    ax.legend(loc="upper left")
    return _("After {steps} steps: {exact:.5g}, by Rényi DP {renyi:.5g}; at twice the rate {twice:.5g}, at half {half:.5g}.").format(
        steps=steps[-1], exact=exact[1][-1], renyi=renyi[-1], twice=exact[2][-1], half=exact[0.5][-1])


@cache
def _trained():
    text = (files("dpnotes.data") / "dp_sgd_adult.csv").read_text(encoding="utf-8")
    return np.loadtxt(text.splitlines(), delimiter=",", skiprows=3)


@figure("dp-sgd-accuracy", chapter=10, source="new", move={"epochs": (1, 20)},
        caption="How often a private model is right on Adult's test rows, by ε: the median of eleven runs, with the best and the worst.",
        alt="A curve of accuracy against epsilon on a logarithmic axis. At an epsilon of 0.01 it lies below the dotted line of always saying 'not rich', at 0.764; it crosses that "
            "line, and from about 0.3 on runs along the dashed line of the same training without noise, at 0.846. A band around it is wide at the left and thin at the right.")
def dp_sgd_accuracy(ax, epochs=10):
    rows = _trained()[_trained()[:, 0] == epochs]
    private, plain = rows[np.isfinite(rows[:, 1])], rows[np.isinf(rows[:, 1])][0]
    ax.plot(private[:, 1], private[:, 2], "o-", color=BLUE, label=_("private, median"))
    ax.fill_between(private[:, 1], private[:, 3], private[:, 4], color=BLUE, label=_("worst to best run"), **SHADE)
    ax.axhline(plain[2], color=GREEN, linestyle="--", linewidth=1.5, label=_("without noise"))
    ax.axhline(12_435 / 16_281, color=GREY, linestyle=":", linewidth=1.5, label=_("always 'not rich'"))
    ax.set(xscale="log", xlabel=_("ε at δ = 10⁻⁵"), ylabel=_("accuracy"), xlim=(0.009, 3.3), ylim=(0.68, 0.87))
    ax.legend(loc="lower right")
    return _("Passes: {epochs}. Accuracy {low:.4f} at ε = 0.01, {tenth:.4f} at ε = 0.1, {one:.4f} at ε = 1, {plain:.4f} without noise.").format(
        epochs=epochs, low=private[0, 2], tenth=private[2, 2], one=private[4, 2], plain=plain[2])


@figure("claimed-and-true", chapter=10, source="new", move={"sigma": (0.7, 3.0)},
        caption="Batches of a shuffled list, 64 an epoch, reported as if they were Poisson samples: the claim, and where the truth lies.",
        alt="Epsilon against epochs on a logarithmic axis: the claimed curve at the bottom; well above it a band between a computed lower bound and the exact value for "
            "a known order. The claim lies below the band from the first epoch on.")
def claimed_and_true(ax, sigma=1.0):
    epochs, steps = np.array([1, 2, 3, 5, 8, 13, 20, 30]), 64
    claimed = NumericalAccountant().add(PoissonGaussianLoss(1 / steps, 1 / sigma)).epsilon_curve(steps * epochs, delta=1e-5)[1]
    least = [shuffled_at_least(sigma, steps, int(e), delta=1e-5) for e in epochs]
    known = np.array([GaussianLoss(np.sqrt(e) / sigma).epsilon(1e-5) for e in epochs])
    ax.plot(epochs, known, color=RED, linestyle="--", marker="s", markersize=4, label=_("order known: exact"))
    ax.plot(epochs, least, color=ORANGE, linestyle="-.", marker="^", markersize=5, label=_("shuffled: at least"))
    ax.fill_between(epochs, least, known, color=ORANGE, label=_("the truth for shuffled batches"), **SHADE)
    ax.plot(epochs, claimed, color=BLUE, marker="o", markersize=4, label=_("claimed, as if Poisson"))
    ax.set(yscale="log", xlabel=_("epochs"), ylabel=_("ε at δ = 10⁻⁵"), xlim=(0.5, 30.5), ylim=(0.3 * claimed[0], 12 * known[-1]))
    ax.legend(loc="upper left", ncols=2)
    return _("One epoch: claimed {a:.4g}, true between {b:.4g} and {c:.4g}. Twenty epochs: claimed {d:.4g}, true between {e:.4g} and {f:.4g}.").format(
        a=claimed[0], b=least[0], c=known[0], d=claimed[6], e=least[6], f=known[6])
