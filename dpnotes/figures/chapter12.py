"""Figures of chapter 12: noise that can be reduced."""

from __future__ import annotations

import numpy as np

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
        caption="One Brownian path read from large variance to small: each release costs only what it adds, and all of them together cost what the last one costs.",
        alt="A jagged path that starts away from the dashed true value on the left, where the variance is large, and closes in on it inside a narrowing funnel; dots mark the releases "
            "at standard deviations 4, 2, 1 and one half.")
def brownian_from_large_variance(ax, releases=4, seed=4, alpha=4.0):
    value, levels, funnel = 20.0, [4.0, 2.0, 1.0, 0.5][:releases], np.geomspace(4.6, 0.45, 100)
    sigmas = np.unique(np.concatenate([np.geomspace(4.0, levels[-1], 60 * releases - 59), levels]))[::-1]
    mechanism = BrownianMechanism(value, alpha=alpha, rng=np.random.default_rng(seed))
    path = np.array([mechanism.release(sigma).output for sigma in sigmas])
    shown = path[np.isin(sigmas, levels)]
    ax.fill_between(funnel**2, value - 2 * funnel, value + 2 * funnel, color=GREY, label=_("two standard deviations"), **SHADE)
    ax.axhline(value, color=INK, linestyle="--", linewidth=1.5, label=_("true value"))
    ax.plot(sigmas**2, path, color=BLUE, linewidth=1.2, label=_("path"))
    ax.plot(np.square(levels), shown, "o", color=RED, label=_("releases"))
    for sigma, y in zip(levels, shown, strict=True):
        ax.annotate(f"σ = {sigma:g}", (sigma**2, y), (0, 9 if y >= value else -17), textcoords="offset points", color=RED, ha="center")
    ax.set(xscale="log", xlim=(4.6**2, 0.45**2), ylim=(10, 30), xlabel=_("variance σ² of the noise, large to small"), ylabel=_("release"))
    ax.set_xticks([16, 4, 1, 0.25], ["16", "4", "1", "0.25"])
    ax.set_xticks([], minor=True)
    ax.legend(loc="upper right", ncols=2)
    return _("Released: {outputs}. Together they cost ε = αρ = {epsilon:.4g} at order {alpha:g}.").format(
        outputs=", ".join(f"{y:.2f}" for y in shown), epsilon=mechanism.epsilon, alpha=alpha)


@figure("laplace-reduction", chapter=12, source="new", move={"levels": (3, 120), "seed": (1, 25)},
        caption="Laplace noise that can be reduced: from one level to the next it mostly stays where it is, and sometimes jumps. However fine the levels, the jumps remain few.",
        alt="A staircase: the noise stays constant over many levels of ε and jumps a few times, ending near zero inside a funnel that narrows from left to right. Three thin staircases "
            "beside it are other runs.")
def laplace_reduction(ax, levels=40, seed=3):
    epsilons, smooth = np.geomspace(0.1, 3.0, levels), np.geomspace(0.1, 3.0, 100)
    reduction = LaplaceReduction(np.zeros(4), rng=np.random.default_rng(seed))
    paths = np.array([reduction.release(epsilon).output for epsilon in epsilons])
    width = np.log(10) / smooth  # beyond it, at either side together, lies one in ten
    ax.fill_between(smooth, -width, width, color=GREY, label=_("nine in ten"), **SHADE)
    ax.axhline(0, color=INK, linestyle="--", linewidth=1.5, label=_("no noise"))
    for other in paths.T[1:]:
        ax.plot(epsilons, other, color=GREY, linewidth=0.9, drawstyle="steps-post", gid=_("another run"))
    ax.plot(epsilons, paths[:, 0], color=BLUE, drawstyle="steps-post", marker="o", markersize=3, label=_("the noise, level by level"))
    ax.set(xscale="log", xlim=(0.1, 3), ylim=(-30, 30), xlabel=_("level ε of the release"), ylabel=_("noise"))
    ax.set_xticks([0.1, 0.3, 1, 3], ["0.1", "0.3", "1", "3"])
    ax.set_xticks([], minor=True)
    ax.legend(loc="upper right")
    moves, stay = int(np.sum(np.diff(paths[:, 0]) != 0)), (epsilons[0] / epsilons[1]) ** 2
    return _("{moves} jumps in {steps} steps; each step stays with probability {stay:.3f}, so {mean:.1f} jumps are expected. The last noise is {last:.2f}, and "
             "everything shown costs ε = 3.").format(moves=moves, steps=levels - 1, stay=stay, mean=(1 - stay) * (levels - 1), last=paths[-1, 0])


@figure("bounds-against-rho", chapter=12, source="F2.3", size=(6.4, 5.2), panels=(2, 1), move={"target_rho": (0.1, 5.0, "log"), "delta": (1e-9, 1e-2, "log")},
        caption="Bounds on the loss of the Brownian mechanism at whatever ρ one stops, tuned for one target; the dotted curves hold only at a ρ fixed in advance. Below: the same, "
                "divided by the exact value for a ρ fixed in advance.",
        alt="Above, rising curves of the bound against ρ on logarithmic axes. Below, the same divided by the pointwise value: the linear boundary touches the dotted curve of post-hoc "
            "orders at the target, marked by a vertical line, and climbs steeply on both sides; the mixture stays near 1.2 over two decades; the stitched curve is flattest.")
def bounds_against_rho(axes, target_rho=1.0, delta=1e-6):
    rho = np.geomspace(0.01, 10, 80)
    curves = {_("linear = ex-post Rényi"): (LinearBoundary.for_target(target_rho, delta), BLUE, "-"),
              _("mixture, one-sided"): (OneSidedMixture.for_target(target_rho, delta), RED, "--"),
              _("mixture, two-sided"): (TwoSidedMixture.for_target(target_rho, delta), ORANGE, (0, (4, 1, 1, 1, 1, 1))),
              _("stitched"): (StitchedBoundary(0.02, delta), GREEN, "-."),
              _("α after the stop: NOT valid"): (not_anytime_valid.PostHocAlpha(delta), PURPLE, ":"),
              _("pointwise: NOT valid"): (not_anytime_valid.PointwiseQuantile(delta), GREY, ":")}
    least = not_anytime_valid.PointwiseQuantile(delta).epsilon(rho)
    for name, (curve, color, style) in curves.items():
        for ax, unit in zip(axes, (1.0, least), strict=True):
            ax.plot(rho, curve.epsilon(rho) / unit, color=color, linestyle=style, label=name, linewidth=1.7)
    for ax, label, limits, top in ((axes[0], _("bound on the loss"), (0.2, 300), 14), (axes[1], _("bound / pointwise"), (0.9, 3), 3)):
        ax.plot([target_rho, target_rho], [limits[0], top], color=INK, linewidth=0.8, gid=_("target"))
        ax.set(xscale="log", xlim=(0.01, 10), ylim=limits, ylabel=label)
        ax.set_xticks([0.01, 0.1, 1, 10], ["0.01", "0.1", "1", "10"])
    axes[0].set(yscale="log", yticks=[1, 10, 100], yticklabels=["1", "10", "100"], xticklabels=[])
    axes[1].set(xlabel=_("ρ of the last release"))
    axes[0].legend(loc="upper left", ncols=2, fontsize="small")
    axes[0].figure.subplots_adjust(hspace=0.12)
    return _("Bounds at the target ρ = {rho:.3g}: {values}.").format(
        rho=target_rho, values=", ".join(f"{name} {curve.epsilon(target_rho):.4f}" for name, (curve, _color, _style) in curves.items()))


@figure("alpha-after-the-stop", chapter=12, source="new", move={"decades": (1, 24), "delta": (0.01, 0.3)},
        caption="Choosing α after the stop: that bound has the same height at every scale, so a path that is watched long enough crosses it; a line fixed in advance bends away on both sides.",
        alt="Wandering paths of the standardized loss over many decades of precision. A dotted horizontal line is crossed by many of them, drawn thicker and in red; a solid U-shaped curve, "
            "the bound with α fixed in advance, touches the dotted line at one place and is crossed by few.")
def alpha_after_the_stop(ax, decades=12, delta=0.05, seed=1):
    time = np.geomspace(10.0 ** (-decades / 2), 10.0 ** (decades / 2), 40 * decades)
    steps = np.sqrt(np.diff(time, prepend=0.0))[:, None] * np.random.default_rng(seed).standard_normal((time.size, 500))
    scaled = np.cumsum(steps, axis=0) / np.sqrt(time)[:, None]
    post_hoc, line = not_anytime_valid.PostHocAlpha(delta).height(1.0), LinearBoundary.for_target(0.5, delta).height(time) / np.sqrt(time)
    over, over_line = np.any(scaled >= post_hoc, axis=0), np.any(scaled >= line[:, None], axis=0)
    for i in range(14):
        ax.plot(np.log10(time), scaled[:, i], color=RED if over[i] else GREY, linewidth=1.0 if over[i] else 0.5, alpha=0.7, gid=_("path"))
    ax.axhline(post_hoc, color=PURPLE, linestyle=":", label=_("α after the stop: {share:.1%} cross").format(share=over.mean()))
    ax.plot(np.log10(time), line, color=BLUE, label=_("α fixed in advance: {share:.1%} cross").format(share=over_line.mean()))
    ax.set(xlim=(-decades / 2, decades / 2), ylim=(-6.5, 6), xlabel=_("decades of precision, log₁₀(1/σ²)"), ylabel=_("(loss − ρ) / √(2ρ)"))
    ax.legend(loc="lower center")
    return _("Of 500 simulated paths over {decades} decades a share of {share:.3f} crosses the bound with α chosen after the stop, and {line:.3f} the one with α fixed; "
             "promised is at most δ = {delta:.3g}.").format(decades=decades, share=over.mean(), line=over_line.mean(), delta=delta)
