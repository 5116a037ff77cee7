"""Figures of chapter 12: noise that can be reduced."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from dpnotes.ex_post import (
    BrownianMechanism,
    LaplaceReduction,
    LinearBoundary,
    OneSidedMixture,
    StitchedBoundary,
    TwoSidedMixture,
    not_anytime_valid,
)
from dpnotes.figures._registry import _, figure
from dpnotes.figures._style import BLUE, GREEN, GREY, INK, ORANGE, PURPLE, RED, SHADE


@figure("brownian-from-large-variance", chapter=12, source="F2.2", move={"releases": (1, 4), "seed": (1, 25)},
        caption="One Brownian path read from large variance to small: each release costs only what it adds, and all of them together "
                "cost what the last one costs.",
        alt="A jagged path that starts far from the dashed true value on the left, where the variance is large, and closes in on it "
            "inside a narrowing funnel; dots mark the releases at standard deviations 4, 2, 1 and one half.")
def brownian_from_large_variance(ax: Axes, releases: int = 4, seed: int = 4, alpha: float = 4.0) -> str:
    value, levels = 20.0, [4.0, 2.0, 1.0, 0.5][:releases]
    sigmas = np.unique(np.concatenate([np.geomspace(4.0, levels[-1], 60 * releases - 59), levels]))[::-1]
    mechanism = BrownianMechanism(value, alpha=alpha, rng=np.random.default_rng(seed))
    path = np.array([mechanism.release(sigma).output for sigma in sigmas])
    shown = path[[int(np.flatnonzero(sigmas == sigma)[0]) for sigma in levels]]
    all_sigmas = np.geomspace(4.6, 0.45, 100)
    ax.fill_between(all_sigmas**2, value - 2 * all_sigmas, value + 2 * all_sigmas, color=GREY, label=_("two standard deviations"), **SHADE)
    ax.axhline(value, color=INK, linestyle="--", linewidth=1.3, label=_("true value"))
    ax.plot(sigmas**2, path, color=BLUE, linewidth=1.2, label=_("path"))
    ax.scatter(np.square(levels), shown, color=RED, zorder=3, label=_("releases"))
    for sigma, y in zip(levels, shown, strict=True):
        ax.annotate(f"σ = {sigma:g}", (sigma**2, y), (0, 9 if y >= value else -17), textcoords="offset points", color=RED, ha="center")
    ax.set(xscale="log", xlim=(4.6**2, 0.45**2), ylim=(10, 30), xlabel=_("variance σ² of the noise, large to small"), ylabel=_("release"))
    ax.set_xticks([16, 4, 1, 0.25], ["16", "4", "1", "0.25"])
    ax.minorticks_off()
    ax.legend(loc="upper right", ncols=2)
    return (f"Released {', '.join(f'{y:.2f}' for y in shown)}; the bound for all of it is ε = αρ = {mechanism.epsilon:.4g} at "
            f"order {alpha:g}.")


@figure("laplace-reduction", chapter=12, source="S2.2", move={"levels": (3, 120), "seed": (1, 25)},
        caption="Laplace noise that can be reduced: from one level to the next it mostly stays where it is, and sometimes jumps closer.",
        alt="A staircase: the noise stays constant over many levels of ε and jumps a few times, ending near zero inside a funnel that "
            "narrows from left to right.")
def laplace_reduction(ax: Axes, levels: int = 40, seed: int = 3) -> str:
    epsilons = np.geomspace(0.1, 3.0, levels)
    reduction = LaplaceReduction(np.zeros(4), rng=np.random.default_rng(seed))
    paths = np.array([reduction.release(epsilon).output for epsilon in epsilons])
    smooth = np.geomspace(0.1, 3.0, 100)
    width = np.log(10) / smooth  # P[|Laplace(1/epsilon)| > log(10)/epsilon] = 1/10
    ax.fill_between(smooth, -width, width, color=GREY, label=_("nine in ten"), **SHADE)
    ax.axhline(0, color=INK, linestyle="--", linewidth=1.3)
    for other in paths.T[1:]:
        ax.plot(epsilons, other, color=GREY, linewidth=0.9, drawstyle="steps-post")
    ax.plot(epsilons, paths[:, 0], color=BLUE, drawstyle="steps-post", marker="o", markersize=3, label=_("the noise, level by level"))
    ax.set(xscale="log", xlim=(0.1, 3), ylim=(-30, 30), xlabel=_("level ε of the release"), ylabel=_("noise"))
    ax.set_xticks([0.1, 0.3, 1, 3], ["0.1", "0.3", "1", "3"])
    ax.minorticks_off()
    ax.legend(loc="upper right")
    moves, stay = int(np.sum(np.diff(paths[:, 0]) != 0)), (epsilons[0] / epsilons[1]) ** 2
    return (f"{moves} jumps in {levels - 1} steps; each step stays with probability {stay:.3f}, so {(1 - stay) * (levels - 1):.1f} jumps "
            f"are expected. The last noise is {paths[-1, 0]:.2f}, and everything shown costs ε = 3.")


@figure("bounds-against-rho", chapter=12, source="F2.3", move={"target_rho": (0.1, 5.0, "log"), "delta": (1e-9, 1e-2, "log")},
        caption="Bounds on the loss of the Brownian mechanism at whatever ρ one stops, tuned for one target; the dotted curves hold only "
                "at a ρ fixed in advance.",
        alt="Rising curves of the bound against ρ on logarithmic axes. The straight-line boundary is lowest at the target and far higher "
            "away from it; the mixture is a little higher at the target and lower elsewhere; two dotted curves that are not valid lie below.")
def bounds_against_rho(ax: Axes, target_rho: float = 1.0, delta: float = 1e-6) -> str:
    rho = np.geomspace(0.01, 10, 80)
    curves = {_("linear (= ex-post Rényi)"): (LinearBoundary.for_target(target_rho, delta), BLUE, "-"),
              _("mixture, one-sided"): (OneSidedMixture.for_target(target_rho, delta), RED, "--"),
              _("mixture, two-sided"): (TwoSidedMixture.for_target(target_rho, delta), ORANGE, (0, (1, 1))),
              _("stitched"): (StitchedBoundary(0.02, delta), GREEN, "-."),
              _("α after the stop: NOT valid"): (not_anytime_valid.PostHocAlpha(delta), PURPLE, ":"),
              _("pointwise: NOT valid"): (not_anytime_valid.PointwiseQuantile(delta), GREY, ":")}
    for name, (curve, color, style) in curves.items():
        ax.plot(rho, curve.epsilon(rho), color=color, linestyle=style, label=name, linewidth=1.6)
    ax.axvline(target_rho, color=INK, linewidth=0.8)
    ax.set(xscale="log", yscale="log", xlim=(0.01, 10), ylim=(0.3, 100), xlabel=_("ρ of the last release"), ylabel=_("bound on the loss"))
    ax.set_xticks([0.01, 0.1, 1, 10], ["0.01", "0.1", "1", "10"])
    ax.set_yticks([1, 10, 100], ["1", "10", "100"])
    ax.legend(loc="upper left", ncols=2, fontsize=8.5)
    values = [curve.epsilon(target_rho) for curve, _color, _style in curves.values()]
    return (f"At the target ρ = {target_rho:.3g}: linear {values[0]:.4f}, mixture {values[1]:.4f} (one-sided) and {values[2]:.4f} "
            f"(two-sided), stitched {values[3]:.4f}; not valid at a stop: {values[4]:.4f} and {values[5]:.4f}.")


@figure("alpha-after-the-stop", chapter=12, source="S2.28", move={"decades": (1, 24), "delta": (0.01, 0.3)},
        caption="Choosing α after the stop: the bound is the same height at every scale, so a path that is watched long enough crosses "
                "it; a line fixed in advance bends away on both sides.",
        alt="Wandering paths of the standardized loss over many decades of precision. A dotted horizontal line is crossed by many of "
            "them, drawn in red; a solid U-shaped curve, the bound with α fixed in advance, is crossed by few.")
def alpha_after_the_stop(ax: Axes, decades: int = 12, delta: float = 0.05, seed: int = 1) -> str:
    times = np.geomspace(10.0 ** (-decades / 2), 10.0 ** (decades / 2), 40 * decades)
    steps = np.sqrt(np.diff(times, prepend=0.0))[:, None] * np.random.default_rng(seed).standard_normal((times.size, 500))
    scaled = np.cumsum(steps, axis=0) / np.sqrt(times)[:, None]
    post_hoc, line = not_anytime_valid.PostHocAlpha(delta), LinearBoundary.for_target(0.5, delta)
    crossed = np.any(scaled >= post_hoc.height(1.0), axis=0)
    over_line = np.any(scaled >= (line.height(times) / np.sqrt(times))[:, None], axis=0)
    for i in range(14):
        ax.plot(times, scaled[:, i], color=RED if crossed[i] else GREY, linewidth=0.5 if not crossed[i] else 0.8, alpha=0.7)
    ax.axhline(post_hoc.height(1.0), color=PURPLE, linestyle=":", label=_("α after the stop: crossed by {0:.0%}").format(crossed.mean()))
    ax.plot(times, line.height(times) / np.sqrt(times), color=BLUE, label=_("α fixed in advance: crossed by {0:.1%}").format(over_line.mean()))
    ax.set(xscale="log", xlim=(times[0], times[-1]), ylim=(-4, 7), xlabel=_("precision 1/σ²"), ylabel=_("(loss − ρ) / √(2ρ)"))
    ax.legend(loc="upper center", ncols=2)
    return (f"Of 500 simulated paths over {decades} decades, a share of {crossed.mean():.3f} crosses the bound with α chosen after the "
            f"stop and {over_line.mean():.3f} the one with α fixed; promised is at most δ = {delta:.3g}.")
