"""Figures of chapter 13: when to stop."""

from __future__ import annotations

import numpy as np

from dpnotes.ex_post import RenyiExPost, doubling
from dpnotes.figures._diagram import arrow, box, canvas
from dpnotes.figures._registry import _, figure
from dpnotes.figures._style import BLUE, GREEN, GREY, INK, PURPLE, RED


@figure("stop-with-a-private-check", chapter=13, source="F2.4", size=(6.4, 3.8),
        caption="Release, build, check, and stop or lower the noise: training and validation rows are disjoint, and both are read through noise only.",
        alt="A loop of boxes: private training rows feed a noisy release, from which a model is built; private validation rows feed a noisy check of the model; if it does not pass, an "
            "arrow leads back to the release with a lower σ, and if it does, one leads to the result with its bound, the larger of the two costs.")
def stop_with_a_private_check(ax):
    canvas(ax)
    box(ax, 1.3, 4.3, _("training rows\n(private)"), color=RED, dashed=True)
    box(ax, 8.7, 4.3, _("validation rows\n(private)"), color=RED, dashed=True)
    box(ax, 1.3, 2.2, _("release y\nwith noise σ"))
    box(ax, 5.0, 2.2, _("build g(y)"))
    box(ax, 8.7, 2.2, _("noisy check:\ngood enough?"))
    box(ax, 5.0, 0.55, _("result, ε = larger of the two costs"), color=GREEN)
    arrow(ax, (1.3, 3.7), (1.3, 2.8), _("cost αρ"), shift=(0.62, 0.1))
    arrow(ax, (8.7, 3.7), (8.7, 2.8), _("cost of\nthe checks"), shift=(-0.75, 0.1))
    arrow(ax, (2.3, 2.2), (4.15, 2.2))
    arrow(ax, (5.85, 2.2), (7.5, 2.2))
    arrow(ax, (7.7, 2.8), (2.3, 2.8), _("no: lower σ"), bend=0.2, shift=(0, 0.8), color=PURPLE)
    arrow(ax, (8.7, 1.6), (7.5, 0.6), _("yes"), shift=(0.3, -0.1), color=GREEN)
    return _("Nothing private crosses from one side to the other except through noise: hence the larger of the costs, not their sum.")


@figure("checks-gaussian-or-sparse-vector", chapter=13, source="new", move={"margin": (20.0, 200.0, "log"), "alpha": (1.5, 16.0)},
        caption="What up to K checks cost if, except with probability 0.05, none may pass although its score is a given margin too low: Gaussian checks grow with K, the sparse vector "
                "technique only with the logarithm of K.",
        alt="Cost against the number of checks on logarithmic axes: a straight rising line for Gaussian checks starts far below a nearly flat curve for the sparse vector technique and "
            "crosses it where there are many checks, at a vertical line.")
def checks_gaussian_or_sparse_vector(ax, margin=50.0, alpha=4.0, beta=0.05):
    definition, k = RenyiExPost(alpha), np.unique(np.rint(np.geomspace(1, 1000, 120)))
    sigma = margin / np.sqrt(2 * np.log(k / beta))  # no noise of k reaches the margin, except with probability beta
    gaussian = definition.gaussian_epsilon(k / (2 * sigma**2))
    pure = (2 * np.log(1 / beta) + 4 * np.log(k / beta)) / margin  # the same promise for AboveThreshold: half of beta to either noise
    sparse = np.array([definition.pure_epsilon(epsilon) for epsilon in pure])
    ax.plot(k, gaussian, color=BLUE, label=_("Gaussian, all K asked"))
    ax.plot(k, sparse, color=RED, linestyle="--", label=_("sparse vector, Rényi bound"))
    ax.plot(k, pure, color=GREY, linestyle=":", label=_("sparse vector, pure ε"))
    crossing, ten = k[gaussian > sparse], int(np.argmin(np.abs(k - 10)))
    ax.axvline(crossing[0], color=INK, linewidth=0.8, gid=_("sparse vector cheaper from here on"))
    ax.set(xscale="log", yscale="log", xlim=(1, 1000), ylim=(1e-3, 100), xlabel=_("number of checks K"), ylabel=_("ε of the checks"))
    ax.set_xticks([1, 10, 100, 1000], ["1", "10", "100", "1000"])
    ax.set_yticks([0.01, 0.1, 1, 10], ["0.01", "0.1", "1", "10"])
    ax.legend(loc="upper left")
    return _("With a margin of {margin:.3g} times the sensitivity and order {alpha:.3g} the sparse vector technique is cheaper from {crossing:.0f} checks on. Ten checks cost {gaussian:.4g} "
             "(Gaussian) or {sparse:.4g}.").format(margin=margin, alpha=alpha, crossing=crossing[0], gaussian=gaussian[ten], sparse=sparse[ten])


@figure("reduce-or-start-anew", chapter=13, source="new", move={"needed": (1, 7), "alpha": (1.5, 16.0)},
        caption="Levels that double: with noise that can be reduced the search costs what its last level costs; if each release has new noise and the earlier ones are thrown away, all "
                "levels are paid for, almost twice as much.",
        alt="Two rising series of points over seven levels on a logarithmic axis: circles for reduced noise double from level to level; squares for new noise lie above, from the third level "
            "on by almost a factor of two. Points beyond the level where the search stopped are pale.")
def reduce_or_start_anew(ax, needed=5, alpha=4.0):
    rhos, level = np.array(list(doubling(0.01, 7))), np.arange(1, 8)
    reduced, anew = alpha * rhos, alpha * np.cumsum(rhos)
    for cost, color, style, label in ((reduced, BLUE, "o-", _("reduced noise: the last level")), (anew, RED, "s--", _("new noise: all levels"))):
        ax.plot(level[:needed], cost[:needed], style, color=color, label=label)
        if needed < 7:
            ax.plot(level[needed:], cost[needed:], style[0], color=color, alpha=0.3, gid=_("not reached"))
    ax.set(yscale="log", ylim=(0.01, 100), xlim=(0.7, 7.3), xlabel=_("level"), ylabel=_("ε so far"), xticks=level)
    ax.set_yticks([0.01, 0.1, 1, 10, 100], ["0.01", "0.1", "1", "10", "100"])
    ax.legend(loc="upper left")
    return _("Stopped at level {needed}: ε = {reduced:.4g} with noise that can be reduced, {anew:.4g} with new noise at every level, {ratio:.3f} times as much.").format(
        needed=needed, reduced=reduced[needed - 1], anew=anew[needed - 1], ratio=anew[needed - 1] / reduced[needed - 1])
