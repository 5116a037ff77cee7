"""Figures of chapter 01: odds and neighbors."""

from __future__ import annotations

import numpy as np

from dpnotes.data import load_adult
from dpnotes.figures._registry import _, figure
from dpnotes.figures._style import BLUE, GREEN, GREY, RED, SHADE
from dpnotes.mechanisms import RandomizedResponse


@figure("posterior-band", chapter=1, source="after 001", move={"epsilon": (0.1, 4.0), "prior": (0.02, 0.98)},
        caption="What an answer can do to a belief: whatever the prior, the posterior stays inside the band that ε allows.",
        alt="Posterior probability against prior probability, both from 0 to 1. Two curves bow away from the diagonal, one above and one "
            "below, and the lens between them is shaded. A vertical bar at the chosen prior shows how far a belief can move up and down.")
def posterior_band(ax, epsilon=np.log(3), prior=0.5):
    x = np.linspace(0, 1, 201)
    gain = np.exp(epsilon)
    up, down = x * gain / (1 - x + x * gain), x / (x + (1 - x) * gain)
    ax.fill_between(x, down, up, color=BLUE, **SHADE)
    ax.plot(x, up, color=BLUE, label=_("odds times exp(ε)"))
    ax.plot(x, down, color=BLUE, linestyle="--", label=_("odds divided by exp(ε)"))
    ax.plot(x, x, color=GREY, linewidth=1, linestyle=":", label=_("nothing learned"))
    high, low = prior * gain / (1 - prior + prior * gain), prior / (prior + (1 - prior) * gain)
    ax.plot([prior, prior], [low, high], color=RED, marker="o", label=_("the chosen prior"))
    ax.set(xlabel=_("prior probability of D₁"), ylabel=_("posterior probability of D₁"), xlim=(0, 1), ylim=(0, 1))
    ax.legend(loc="upper left" if prior > 0.5 else "lower right")
    return _("From a prior of {prior:.0%} the posterior lies between {low:.1%} and {high:.1%}: the odds move by a factor of at "
             "most {gain:.3g}.").format(prior=prior, low=low, high=high, gain=gain)


@figure("randomized-response-adult", chapter=1, source="new", move={"epsilon": (0.3, 4.0)},
        caption="A thousand repetitions of randomized response on the 48,842 rows of Adult: the estimate of how many people earn over "
                "50K, after debiasing.",
        alt="A histogram of estimated counts, bell-shaped and centered on a vertical line at the true count of 11,687. A curve with the "
            "predicted spread follows the tops of the bars.")
def randomized_response_adult(ax, epsilon=np.log(3), seed=1):
    rich = load_adult()["income"] == ">50K"
    n, true = rich.size, int(rich.sum())
    mechanism, rng = RandomizedResponse(epsilon), np.random.default_rng(seed)
    reports = rng.binomial(true, mechanism.truth, 1000) + rng.binomial(n - true, mechanism.lie, 1000)
    estimates = (reports - mechanism.lie * n) / (mechanism.truth - mechanism.lie)
    spread = mechanism.estimate_standard_errors([n - true, true])[1]
    bins = np.linspace(-3.5, 3.5, 36) * spread + true
    ax.hist(estimates, bins, color=BLUE, alpha=0.55, label=_("estimates"))
    x = np.linspace(bins[0], bins[-1], 201)
    density = np.exp(-(((x - true) / spread) ** 2) / 2) / (spread * np.sqrt(2 * np.pi))
    ax.plot(x, 1000 * density * (bins[1] - bins[0]), color=RED, linestyle="--", label=_("predicted spread"))
    ax.axvline(true, color=GREEN, linewidth=1.5, label=_("true count"))
    ax.set(xlabel=_("estimated number of people with income over 50K"), ylabel=_("repetitions"), xlim=(9000, 14400), ylim=(0, None))
    ax.legend(loc="upper right")
    return _("True count {true:,}; standard error of the estimate {spread:.0f}, which is {relative:.1%} of it.").format(
        true=true, spread=spread, relative=spread / true)


@figure("laplace-densities", chapter=1, source="F1.1", move={"epsilon": (0.3, 3.0)},
        caption="The count 1000 and its neighbor 1001 after Laplace noise: two tents, one place apart.",
        alt="Two identical tent-shaped densities that fall away exponentially on both sides, one with its tip at 1000, the other, dashed, "
            "with its tip at 1001. Left of 1000 the first is higher by the same factor everywhere.")
def laplace_densities(ax, epsilon=np.log(3)):
    y = np.linspace(996, 1005, 901)
    for center, color, line, name in ((1000, BLUE, "-", "D₁: 1000"), (1001, RED, "--", "D₂: 1001")):
        density = epsilon / 2 * np.exp(-epsilon * np.abs(y - center))
        ax.plot(y, density, color=color, linestyle=line, label=name)
        ax.fill_between(y, density, color=color, **SHADE)
    ax.set(xlabel=_("published count"), ylabel=_("probability density"), xlim=(996, 1005), ylim=(0, 1.55 if epsilon > 1.2 else 0.65))
    ax.legend(loc="upper right")
    return _("Scale b = {scale:.4f}; left of 1000 the first density is exp(ε) = {gain:.4g} times the second; standard deviation "
             "{deviation:.3f}.").format(scale=1 / epsilon, gain=np.exp(epsilon), deviation=np.sqrt(2) / epsilon)


@figure("neighbors-two-ways", chapter=1, source="new", move={"n": (2, 40)},
        caption="How far one person can move the mean of n ages known to lie between 0 and 100, under the two neighboring relations.",
        alt="Two falling curves of the largest change of a mean against the number of records, from 2 to 40. The curve for replacing a "
            "record is 100 divided by n; the dashed curve for adding one to n records lies below it. Both are marked at the chosen n.")
def neighbors_two_ways(ax, n=10):
    sizes = np.arange(2, 41)
    ax.plot(sizes, 100 / sizes, color=BLUE, label=_("replace one: 100 / n"))
    ax.plot(sizes, 100 / (sizes + 1), color=RED, linestyle="--", label=_("add one to n: 100 / (n + 1)"))
    ax.plot([n], [100 / n], "o", color=BLUE)
    ax.plot([n], [100 / (n + 1)], "s", color=RED)
    ax.set(xlabel=_("n, the number of records"), ylabel=_("largest change of the mean"), xlim=(1, 41), ylim=(0, 52))
    ax.legend(loc="upper right")
    return _("n = {n}: replacing one record moves the mean by at most {replace:.3g}, adding one by at most {add:.3g}; a mean that may be "
             "asked of any n, even of 1, can move by 50.").format(n=n, replace=100 / n, add=100 / (n + 1))
