"""Figures of chapter 11: the bound as part of the output."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from dpnotes.ex_post import ApproximateExPost, FinitePair, ProbabilisticExPost
from dpnotes.figures._diagram import arrow, box, canvas
from dpnotes.figures._registry import _, figure
from dpnotes.figures._style import BLUE, GREEN, INK, RED, SHADE


@figure("bound-in-the-output", chapter=11, source="F2.1", size=(6.4, 2.4),
        caption="An ex-post private mechanism returns its output y together with the bound ε; post-processing may change y at will and carries ε along, or rounds it up.",
        alt="Three boxes from left to right joined by arrows: the data X, dashed because they are private; the pair of output y and bound ε; the pair of f(y) and ε. A green arrow "
            "beside the one for f carries ε unchanged from the second box to the third.")
def bound_in_the_output(ax):
    canvas(ax)
    box(ax, 1.0, 3.2, _("data X\n(private)"), color=RED, dashed=True)
    box(ax, 4.8, 3.2, _("output y\nbound ε"))
    box(ax, 8.8, 3.2, _("output f(y)\nbound ε"))
    arrow(ax, (2.0, 3.2), (3.95, 3.2), _("mechanism M"), shift=(0, 0.45))
    arrow(ax, (5.65, 3.55), (7.75, 3.55), _("f, any kernel"), shift=(0, 0.45))
    arrow(ax, (5.65, 2.85), (7.75, 2.85), _("ε carried along"), shift=(0, -0.45), color=GREEN)
    ax.text(5.0, 0.8, _("ε may be rounded up on the way, never down"), ha="center", color=GREEN)
    return _("The pair (y, ε) is what an observer sees; the guarantee is about the pair, before f and after it.")


@figure("bound-forgotten", chapter=11, source="new", move={"epsilon": (0.2, 4.0)},
        caption="Two outputs, one with the bound 0 and one with the bound ε, are merged and the bound is not carried along: the best bound that is left depends on the neighbor's data.",
        alt="A curve of the bound that is left after the merge, rising from 0 to ε as the neighbor's probability of the second output goes from 0 to 1; a dashed line at ε marks "
            "the only bound that needs no data.")
def bound_forgotten(ax, epsilon=2.0):
    q = np.linspace(0, 1, 201)
    left = [FinitePair([0.5, 0.5], [1 - x, x], [0.0, epsilon]).averaged_bound([[1.0], [1.0]])[0] for x in q]
    ax.plot(q, left, color=BLUE, label=_("best bound after the merge"))
    ax.axhline(epsilon, color=RED, linestyle="--", linewidth=1.5, label=_("the larger of the two bounds"))
    ax.set(xlim=(0, 1), ylim=(0, 1.35 * epsilon), xlabel=_("probability of the second output on the neighbor's data"), ylabel=_("bound"))
    ax.legend(loc="upper left", ncols=2)
    return _("If the neighbor gives the second output with probability 0.1, the merged output could carry {low:.4f}; with 0.9, {high:.4f}. Without looking at the "
             "data only {epsilon:.4g} is safe.").format(low=left[20], high=left[180], epsilon=epsilon)


@figure("probabilistic-merge", chapter=11, source="F2.6", panels=(1, 2), move={"epsilon": (0.3, 1.5), "delta": (0.01, 0.15)},
        caption="Merging outputs a and b breaks the probabilistic definition: before, only a exceeds the bound ε, with probability δ; after, all that was b exceeds it, too.",
        alt="Two groups of bars, before and after merging. Before: output a has a small hatched bar under P and none under Q, b more under P than under Q, c more under Q. After: "
            "the merged bar under P is far more than twice the one under Q and is hatched, as exceeding the bound.")
def probabilistic_merge(axes, epsilon=float(np.log(2)), delta=0.05):
    b = min(0.4, 0.999 * (np.exp(epsilon) * (1 - delta) - 1) / (2 * np.sinh(epsilon)))  # so that (Q, P) keeps the bound, too
    pair = FinitePair([delta, b, 1 - delta - b], [0, b * np.exp(-epsilon), 1 - b * np.exp(-epsilon)], epsilon)
    merged = pair.merge([0, 0, 1])
    for ax, one, names in zip(axes, (pair, merged), (["a", "b", "c"], [_("a or b"), "c"]), strict=True):
        place, over = np.arange(len(names)), one.losses > epsilon + 1e-9
        ax.bar(place - 0.2, one.p, 0.38, color=np.where(over, RED, BLUE).tolist(), hatch=["//" if o else "" for o in over], edgecolor="white", gid="P")
        ax.bar(place + 0.2, one.q, 0.38, color="white", edgecolor=INK, gid="Q")
        for i in np.flatnonzero(over):
            ax.text(i - 0.2, one.p[i] + 0.02, f"{one.p[i]:.3g}", ha="center", color=RED)
        ax.set(xticks=place, xticklabels=names, ylim=(0, 1.05), xlim=(-0.6, 2.6) if len(names) == 3 else (-1.1, 2.1))
    axes[0].set(ylabel=_("probability"), xlabel=_("before"))
    axes[1].set(xlabel=_("after merging a and b"))
    axes[1].legend([_("P (hatched: loss above ε)"), "Q"], loc="upper left")
    before, after = (one.mean(ProbabilisticExPost(delta)) for one in (pair, merged))
    area = [one.mean(ApproximateExPost(0)) for one in (pair, merged)]
    return _("P[loss > {epsilon:.4f}] is {before:.4f} before and {after:.4f} after the merge; the delta of the approximate definition is {first:.4f} and "
             "{second:.4f}.").format(epsilon=epsilon, before=before, after=after, first=area[0], second=area[1])


@figure("ex-post-bet", chapter=11, source="new", move={"alpha": (1.2, 4.0), "claim": (0.5, 1.5)},
        caption="Ex-post Rényi privacy as a bet against the neighbor's law Q: the payout W of a stake of 1, laid out over Q's probability, must have area at most 1.",
        alt="A payout curve over the probability axis of Q: close to zero for most outputs and rising steeply at the right end, above the dashed line at the stake of 1. The shaded "
            "area below the curve is the mean payout.")
def ex_post_bet(ax, alpha=2.0, claim=1.0, mu=0.6):
    x = np.linspace(5e-4, 1 - 5e-4, 1000)
    epsilon = claim * alpha * mu**2 / 2
    payout = np.exp((1 - alpha) * epsilon + alpha * (mu * ndtri(x) - mu**2 / 2))
    mean = np.exp((1 - alpha) * (epsilon - alpha * mu**2 / 2))
    unfair = mean > 1 + 1e-9
    color, verdict = (RED, _("the bettor wins on average: the claimed bound is too small")) if unfair else (BLUE, _("nobody wins on average: the bound holds"))
    ax.plot(x, payout, color=color, label=_("payout W"))
    ax.fill_between(x, payout, color=color, label=_("area: mean payout {mean:.3f}").format(mean=mean), **SHADE)
    ax.axhline(1, color=INK, linestyle="--", linewidth=1.5, label=_("the stake"))
    ax.set(xlim=(0, 1), ylim=(0, 8), xlabel=_("outputs by their probability under Q"), ylabel=_("payout W"))
    ax.legend(loc="upper left")
    return _("At order {alpha:.3g} and the claimed bound ε = {epsilon:.4f}, {claim:.3g} times αρ, the mean payout is {mean:.4f}: {verdict}.").format(
        alpha=alpha, epsilon=epsilon, claim=claim, mean=mean, verdict=verdict)
