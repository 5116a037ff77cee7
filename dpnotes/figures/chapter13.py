"""Figures of chapter 13: when to stop."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from dpnotes.ex_post import BrownianMechanism, RenyiExPost, doubling
from dpnotes.figures._diagram import arrow, box, canvas
from dpnotes.figures._registry import _, figure
from dpnotes.figures._style import BLUE, GREEN, GREY, INK, PURPLE, RED


@figure("stop-with-a-private-check", chapter=13, source="F2.4", size=(6.4, 3.9),
        caption="Release, build, check, and stop or lower the noise: training and validation rows are disjoint, and both are read "
                "through noise only.",
        alt="A loop of boxes: private training rows feed a noisy release, from which a model is built; private validation rows feed a "
            "noisy check of the model; if it does not pass an arrow leads back to the release with a lower σ, if it does to the result "
            "with its bound, the larger of the two costs.")
def stop_with_a_private_check(ax: Axes) -> str:
    canvas(ax)
    box(ax, 1.3, 4.2, _("training rows\n(private)"), color=RED, dashed=True)
    box(ax, 8.7, 4.2, _("validation rows\n(private)"), color=RED, dashed=True)
    box(ax, 1.3, 2.2, _("release y\nwith noise σ"))
    box(ax, 5.0, 2.2, _("build g(y)"))
    box(ax, 8.7, 2.2, _("noisy check:\ngood enough?"))
    box(ax, 5.0, 0.55, _("result, ε = larger of the two costs"), color=GREEN)
    arrow(ax, (1.3, 3.65), (1.3, 2.8), _("cost αρ"), shift=(0.62, 0))
    arrow(ax, (8.7, 3.65), (8.7, 2.8), _("cost of\nthe checks"), shift=(-0.75, 0))
    arrow(ax, (2.3, 2.2), (4.15, 2.2))
    arrow(ax, (5.85, 2.2), (7.5, 2.2))
    arrow(ax, (7.9, 2.8), (2.1, 2.8), _("no: lower σ"), bend=0.28, shift=(0, 1.05), color=PURPLE)
    arrow(ax, (8.7, 1.6), (7.45, 0.6), _("yes"), shift=(0.3, -0.1), color=GREEN)
    return _("Nothing private crosses from one side to the other except through noise: hence the larger cost, not the sum.")


@figure("checks-gaussian-or-sparse-vector", chapter=13, source="S2.23", move={"margin": (10.0, 200.0, "log"), "alpha": (1.5, 16.0)},
        caption="What up to K checks cost if none may pass wrongly by more than a margin (in sensitivities): Gaussian checks grow with K, "
                "the sparse vector technique hardly at all.",
        alt="Cost against the number of checks on logarithmic axes: a straight rising line for Gaussian checks starts far below a nearly "
            "flat curve for the sparse vector technique and crosses it where there are many checks.")
def checks_gaussian_or_sparse_vector(ax: Axes, margin: float = 50.0, alpha: float = 4.0, beta: float = 0.05) -> str:
    definition, k = RenyiExPost(alpha), np.unique(np.rint(np.geomspace(1, 1000, 60)))
    sigma = margin / np.sqrt(2 * np.log(k / beta))  # no noise of k reaches the margin, except with probability beta
    gaussian = definition.gaussian_epsilon(k / (2 * sigma**2))
    pure = (2 * np.log(1 / beta) + 4 * np.log(k / beta)) / margin  # the same promise for AboveThreshold, half of beta to either noise
    sparse = np.array([definition.pure_epsilon(e) for e in pure])
    ax.plot(k, gaussian, color=BLUE, label=_("Gaussian checks, all K asked"))
    ax.plot(k, sparse, color=RED, linestyle="--", label=_("sparse vector, Rényi bound"))
    ax.plot(k, pure, color=GREY, linestyle=":", label=_("sparse vector, pure ε"))
    cheaper = k[gaussian > sparse]
    if cheaper.size:
        ax.axvline(cheaper[0], color=INK, linewidth=0.8)
    ax.set(xscale="log", yscale="log", xlim=(1, 1000), ylim=(3e-4, 30), xlabel=_("number of checks K"), ylabel=_("ε of the checks"))
    ax.set_xticks([1, 10, 100, 1000], ["1", "10", "100", "1000"])
    ax.set_yticks([0.001, 0.01, 0.1, 1, 10], ["0.001", "0.01", "0.1", "1", "10"])
    ax.legend(loc="upper left")
    where = f"from about {cheaper[0]:.0f} checks on the sparse vector technique is cheaper" if cheaper.size else "Gaussian checks stay cheaper"
    at = int(np.argmin(np.abs(k - 10)))
    return (f"At a margin of {margin:.3g} sensitivities and order {alpha:.3g}: {where}; ten checks cost {gaussian[at]:.3g} (Gaussian) or "
            f"{sparse[at]:.3g} (sparse vector).")


@figure("reduce-or-start-anew", chapter=13, source="S2.28", move={"needed": (1, 7), "seed": (1, 25)},
        caption="Levels that double: with noise that can be reduced the search costs what its last level costs; with fresh noise "
                "everything adds up, to almost twice that, and the early releases are wasted.",
        alt="Pairs of bars that double from level to level: the bar for fresh noise, the sum of all levels so far, is almost twice the "
            "bar for reduced noise; bars beyond the level where the search stopped are pale.")
def reduce_or_start_anew(ax: Axes, needed: int = 5, seed: int = 1, alpha: float = 4.0) -> str:
    rhos = np.array(list(doubling(0.01, 7)))
    mechanism = BrownianMechanism(100.0, alpha=alpha, rng=np.random.default_rng(seed))
    outputs = [mechanism.release((2 * rho) ** -0.5).output for rho in rhos[:needed]]
    x = np.arange(1, 8)
    for shift, cost, color, hatch, label in ((-0.2, alpha * rhos, BLUE, "", _("reduced noise: the last level")),
                                             (0.2, alpha * np.cumsum(rhos), RED, "//", _("fresh noise: the sum"))):
        bars = ax.bar(x + shift, cost, 0.38, color=color, hatch=hatch, edgecolor="white", label=label)
        for bar in bars[needed:]:
            bar.set_alpha(0.2)
    ax.set(yscale="log", ylim=(0.02, 12), xlabel=_("level"), ylabel=_("ε so far"), xticks=x)
    ax.set_yticks([0.1, 1, 10], ["0.1", "1", "10"])
    ax.legend(loc="upper left")
    return (f"Stopped at level {needed} with release {outputs[-1]:.2f} of the value 100: ε = {alpha * rhos[needed - 1]:.3g} with noise that "
            f"can be reduced, {alpha * rhos[:needed].sum():.3g} with fresh noise.")
