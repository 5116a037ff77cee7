"""Figures of chapter 11: the bound as part of the output."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from scipy.special import ndtri

from dpnotes.ex_post import ApproximateExPost, FinitePair, ProbabilisticExPost
from dpnotes.figures._diagram import arrow, box, canvas
from dpnotes.figures._registry import _, figure
from dpnotes.figures._style import BLUE, GREEN, INK, RED, SHADE


@figure("bound-in-the-output", chapter=11, source="F2.1", size=(6.4, 2.5),
        caption="An ex-post private mechanism returns its output y together with the bound ε; post-processing may change y at will "
                "and carries ε along, or rounds it up.",
        alt="Three boxes from left to right joined by arrows: the data X, dashed because they are private; the pair of output y and "
            "bound ε; the pair of f(y) and ε. A straight green line under the boxes carries ε unchanged from the second to the third.")
def bound_in_the_output(ax: Axes) -> str:
    canvas(ax)
    box(ax, 1.0, 3.0, _("data X\n(private)"), color=RED, dashed=True)
    box(ax, 4.8, 3.0, _("output y\nbound ε"))
    box(ax, 8.7, 3.0, _("output f(y)\nbound ε"))
    arrow(ax, (2.05, 3.0), (3.85, 3.0), _("mechanism M"), shift=(0, 0.4))
    arrow(ax, (5.75, 3.3), (7.6, 3.3), _("f, any kernel"), shift=(0, 0.4))
    arrow(ax, (5.75, 2.7), (7.6, 2.7), _("ε carried along"), shift=(0, -0.4), color=GREEN)
    ax.text(5.0, 0.75, _("ε may be rounded up on the way, never down"), ha="center", color=GREEN)
    return _("The pair (y, ε) is what an observer sees; the guarantee is about the pair, before f and after it.")


@figure("probabilistic-merge", chapter=11, source="F2.6", panels=(1, 2), move={"epsilon": (0.3, 1.5), "delta": (0.01, 0.15)},
        caption="Merging outputs a and b breaks the probabilistic definition: before, only a exceeds the bound ε, with probability δ; "
                "after, the merged output exceeds it with nearly ten times that probability.",
        alt="Two groups of bars, before and after merging. Before: output a has a small bar under P only, b twice as much under P as "
            "under Q, c more under Q. After: the merged bar under P is more than twice the one under Q and is marked as exceeding the bound.")
def probabilistic_merge(axes: np.ndarray, epsilon: float = float(np.log(2)), delta: float = 0.05) -> str:
    at_bound = min(0.4, 0.999 * (np.exp(epsilon) * (1 - delta) - 1) / (2 * np.sinh(epsilon)))  # so that (Q, P) keeps the bound, too
    p, q = np.array([delta, at_bound, 1 - delta - at_bound]), np.array([0, at_bound * np.exp(-epsilon), 1 - at_bound * np.exp(-epsilon)])
    pair = FinitePair(p, q, epsilon)
    merged = pair.merge([0, 0, 1])
    for ax, one, names, title in zip(axes, (pair, merged), (["a", "b", "c"], ["a or b", "c"]), (_("before"), _("after merging a and b")),
                                     strict=True):
        x, over = np.arange(len(names)), one.losses > epsilon + 1e-9
        ax.bar(x - 0.2, one.p, 0.38, color=np.where(over, RED, BLUE).tolist(), hatch=["//" if o else "" for o in over],
               edgecolor="white", label="P")
        ax.bar(x + 0.2, one.q, 0.38, color="white", edgecolor=INK, label="Q")
        for i in np.flatnonzero(over):
            ax.text(i - 0.2, one.p[i] + 0.02, f"{one.p[i]:.3g}", ha="center", color=RED)
        ax.set(xticks=x, xticklabels=names, ylim=(0, 1), title=title, ylabel=_("probability") if len(names) == 3 else "")
    axes[1].legend(["P (hatched: loss above ε)", "Q"], loc="upper right")
    before, after = (one.mean(ProbabilisticExPost(delta)) for one in (pair, merged))
    return (f"P[loss > {epsilon:.3f}] is {before:.4f} before and {after:.4f} after the merge; the approximate delta stays "
            f"{pair.mean(ApproximateExPost(0)):.4f} and {merged.mean(ApproximateExPost(0)):.4f}.")


@figure("ex-post-bet", chapter=11, source="S2.8", move={"alpha": (1.2, 4.0), "claim": (0.5, 1.5)},
        caption="Ex-post Rényi privacy as a bet against the neighbor's law Q: the payout W, laid out over Q's probability, must have "
                "area at most 1.",
        alt="A payout curve over the probability axis of Q: close to zero for most outputs and rising steeply at the right end, above "
            "the dashed line at the stake of 1. The shaded area below the curve is the mean payout.")
def ex_post_bet(ax: Axes, alpha: float = 2.0, claim: float = 1.0, mu: float = 0.6) -> str:
    x = np.linspace(5e-4, 1 - 5e-4, 1000)
    epsilon = claim * alpha * mu**2 / 2
    payout = np.exp((1 - alpha) * epsilon + alpha * (mu * ndtri(x) - mu**2 / 2))
    mean = np.exp((1 - alpha) * (epsilon - alpha * mu**2 / 2))
    unfair = mean > 1 + 1e-9
    ax.plot(x, payout, color=RED if unfair else BLUE, label=_("payout W of a stake of 1"))
    ax.fill_between(x, payout, color=RED if unfair else BLUE, **SHADE)
    ax.axhline(1, color=INK, linestyle="--", linewidth=1.3, label=_("the stake"))
    ax.set(xlim=(0, 1), ylim=(0, 8), xlabel=_("outputs, by their probability under Q"), ylabel=_("payout W"))
    ax.text(0.03, 4.6, _("mean payout {mean:.3f}").format(mean=mean), color=RED if unfair else BLUE)
    ax.legend(loc="upper left")
    verdict = "the bettor wins on average: the claimed bound is too small" if unfair else "nobody wins on average: the bound holds"
    return f"With order {alpha:.3g} and the claimed bound ε = {epsilon:.4f}, {claim:.3g} times αρ, the mean payout is {mean:.4f}: {verdict}."
