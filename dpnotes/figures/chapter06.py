"""Figures of chapter 06: zero-concentrated DP."""

from __future__ import annotations

import numpy as np
from scipy.special import log_ndtr, ndtr

from dpnotes import conversions
from dpnotes.figures._registry import _, figure
from dpnotes.figures._style import BLUE, GREEN, GREY, INK, ORANGE, PURPLE, RED
from dpnotes.privacy_loss import DiscreteLoss, GaussianLoss, LaplaceLoss


@figure("one-line-above-all", chapter=6, source="F0.6", move={"epsilon": (0.2, 4.0)},
        caption="The line ρα of zCDP with ρ = ε tanh(ε/2): Gaussian noise of that ρ runs along it, every ε-DP mechanism stays below.",
        alt="A straight line through the origin; the curve of randomized response touches it at order 1, bends away and levels off at epsilon; the curve of "
            "Laplace noise lies below both.")
def one_line_above_all(ax, epsilon=1.0):
    alpha, rho = np.linspace(1, 8, 200), conversions.pure_to_zcdp(epsilon)
    ax.plot(alpha, rho * alpha, color=BLUE, label=_("ρα: Gaussian noise"))
    ax.plot(alpha, conversions.pure_to_loss(epsilon).renyi(alpha), color=RED, linestyle="--", label=_("randomized response"))
    ax.plot(alpha, LaplaceLoss(epsilon).renyi(alpha), color=GREEN, linestyle="-.", label=_("Laplace noise"))
    ax.axhline(epsilon, color=GREY, linestyle=":", linewidth=1.3, label=_("ε"))
    ax.set(xlabel=_("order α"), ylabel=_("Rényi divergence"), xlim=(1, 8), ylim=(0, min(8 * rho, 2.4 * epsilon) * 1.02))
    ax.legend(loc="lower right", ncols=2)
    return _("ρ = ε tanh(ε/2) = {rho:.6g}, at most ε²/2 = {half:.6g}; Laplace noise starts at its mean loss {laplace:.6g}.").format(
        rho=rho, half=epsilon**2 / 2, laplace=LaplaceLoss(epsilon).mean())


@figure("log-moment-parabolas", chapter=6, source="F4.5", move={"sigma": (0.7, 4.0)},
        caption="The log-moment of a Gaussian loss is the parabola t(t+1)ρ of zCDP; a bound t²ρ, as sometimes printed, would exclude it.",
        alt="Two parabolas from the origin over t between 0 and 2. The Gaussian's log-moment coincides with the upper one, t(t+1)ρ, marked by dots; the dashed "
            "lower one, t²ρ, runs below it and starts flat, with slope zero.")
def log_moment_parabolas(ax, sigma=2.0):
    t, loss = np.linspace(0, 2, 200), GaussianLoss(1 / sigma)
    rho = loss.mean()
    ax.plot(t, loss.log_mgf(t), color=BLUE, label=_("log E[exp(tL)], Gaussian"))
    ax.plot(t[20::20], t[20::20] * (t[20::20] + 1) * rho, "o", color=GREEN, label=_("t(t+1)ρ, the definition"))
    ax.plot(t, t**2 * rho, color=RED, linestyle="--", label=_("t²ρ, not the definition"))
    ax.set(xlabel=_("t = α - 1"), ylabel=_("log-moment"), xlim=(0, 2), ylim=(0, None))
    ax.legend(loc="upper left")
    return _("At t = 0.5: E[exp(tL)] = {moment:.6f}, exp(t(t+1)ρ) = {right:.6f}, exp(t²ρ) = {wrong:.6f}; ρ = {rho:.4g}.").format(
        moment=np.exp(loss.log_mgf(0.5)), right=np.exp(0.75 * rho), wrong=np.exp(0.25 * rho), rho=rho)


@figure("rho-is-a-supremum", chapter=6, source="S4.26", move={"alpha": (1.05, 30.0, "log")},
        caption="ρ is the largest slope D/α over all orders. Reading it at one order, 2 say, can claim far too little.",
        alt="A hump-shaped curve of divergence divided by order, on a logarithmic axis of orders, with its top marked near order 3.4 at 1.19; a point on the "
            "curve at order 2 lies at 0.35, less than a third of the top.")
def rho_is_a_supremum(ax, alpha=2.0):
    pair = DiscreteLoss.from_probabilities([1e-3, 0.999], [1e-6, 1 - 1e-6])
    orders = 1 + np.geomspace(0.01, 40, 600)
    slopes, claimed = pair.renyi(orders) / orders, pair.renyi(alpha) / alpha
    rho = conversions.rdp_curve_to_zcdp(pair.renyi)
    ax.plot(orders, slopes, color=BLUE, label=_("divergence / order"))
    ax.axhline(rho, color=GREEN, linestyle="--", linewidth=1.3, label=_("ρ, the supremum"))
    ax.plot([alpha], [claimed], "o", color=RED, markersize=8, label=_("read at one order"))
    ax.set(xscale="log", xlabel=_("order α"), ylabel=_("D / α"), xlim=(1, 41), ylim=(0, 1.45 * rho), xticks=[1, 2, 4, 8, 16, 32],
           xticklabels=["1", "2", "4", "8", "16", "32"])
    ax.minorticks_off()
    ax.legend(loc="upper left")
    claim = conversions.zcdp_to_epsilon_bun_steinke(claimed, 1e-6)
    return _("Order {alpha:.3g} claims ρ = {claimed:.6g}, so ε = {claim:.6g} at δ = 10⁻⁶; the true δ there is {true:.4g}. The supremum is {rho:.6g}.").format(
        alpha=alpha, claimed=claimed, claim=claim, true=pair.delta(claim), rho=rho)


@figure("zcdp-to-epsilon", chapter=6, source="new", move={"rho": (0.01, 10.0, "log")},
        caption="What ρ-zCDP is worth in (ε, δ): Bun and Steinke's formula, a better conversion, and the exact value of Gaussian noise with that ρ.",
        alt="Three falling curves of epsilon against delta on a logarithmic axis from 10⁻¹² to 0.1. Bun and Steinke's formula lies highest, the better "
            "conversion below it, the exact Gaussian lowest; the gaps change little along the axis.")
def zcdp_to_epsilon(ax, rho=2.5):
    delta = np.geomspace(1e-12, 0.1, 45)
    ax.plot(delta, conversions.zcdp_to_epsilon_bun_steinke(rho, delta), color=RED, linestyle="--", label=_("Bun, Steinke"))
    ax.plot(delta, conversions.zcdp_to_epsilon(rho, delta, "cks"), color=PURPLE, linestyle="-.", label=_("Canonne, Kamath, Steinke"))
    ax.plot(delta, conversions.gdp_to_epsilon(np.sqrt(2 * rho), delta), color=BLUE, label=_("exact for Gaussian noise"))
    ax.set(xscale="log", xlabel=_("δ"), ylabel=_("ε"), xlim=(delta[0], delta[-1]), ylim=(0, None))
    ax.legend(loc="lower left")
    return _("At δ = 10⁻⁶ and ρ = {rho:.4g}: {bs:.6g}, {cks:.6g}, exact {exact:.6g}.").format(
        rho=rho, bs=conversions.zcdp_to_epsilon_bun_steinke(rho, 1e-6), cks=conversions.zcdp_to_epsilon(rho, 1e-6, "cks"),
        exact=conversions.gdp_to_epsilon(np.sqrt(2 * rho), 1e-6))


@figure("running-bound", chapter=6, source="new", move={"delta": (1e-6, 0.2, "log"), "seed": (1, 25)},
        caption="An odometer: a line that the running privacy loss of Gaussian queries crosses with probability at most δ, at all moments together.",
        alt="Twenty jagged paths of the running loss, which drift slowly upward and spread out; a dashed straight line above them starts at a positive height "
            "and rises; a dotted curve, the bound for one fixed moment, lies below the line except where it touches it.")
def running_bound(ax, delta=0.05, seed=1):
    rng, rho = np.random.default_rng(seed), np.arange(1, 201) * 0.01
    paths = np.cumsum(rng.normal(0.01, np.sqrt(0.02), (20, 200)), axis=1)
    slope = np.sqrt(np.log(1 / delta))
    line, moment = (1 + slope) * rho + np.log(1 / delta) / slope, conversions.zcdp_to_epsilon_bun_steinke(rho, delta)
    for number, path in enumerate(paths):
        ax.plot(rho, path, color=GREY, linewidth=0.8, alpha=0.7, gid=f"path {number + 1}",
                label=_("loss so far, 20 runs") if number == 0 else None)
    ax.plot(rho, line, color=RED, linestyle="--", label=_("odometer: holds at all moments"))
    ax.plot(rho, moment, color=ORANGE, linestyle=":", label=_("conversion: holds at one moment"))
    ax.set(xlabel=_("ρ spent"), ylabel=_("privacy loss"), xlim=(0, 2), ylim=(paths.min() - 0.5, 1.35 * line[-1]))
    ax.legend(loc="upper left")
    over = int(np.sum(np.any(paths > line, axis=1))), int(np.sum(np.any(paths > moment, axis=1)))
    return _("Of 20 runs {line} crossed the odometer's line and {moment} the other curve; δ = {delta:.3g}.").format(
        line=over[0], moment=over[1], delta=delta)


@figure("why-tanh", chapter=6, source="new", move={"epsilon": (0.3, 6.0)},
        caption="Why ρ = ε tanh(ε/2): against u = (t + ½)² the log-moment of randomized response bends downward, so its tangent at t = 0 lies above it.",
        alt="A curve that rises ever more slowly from the origin over u between 0 and 2.25; a straight dashed line touches it at the marked point u = 0.25 "
            "and lies above it everywhere else.")
def why_tanh(ax, epsilon=3.0):
    u, rho = np.linspace(0, 2.25, 400), conversions.pure_to_zcdp(epsilon)
    curve = np.log(np.cosh(epsilon * np.sqrt(u)))
    touch = np.log(np.cosh(epsilon / 2))
    ax.plot(u, curve, color=BLUE, label=_("log cosh(ε√u), randomized response"))
    ax.plot(u, touch + rho * (u - 0.25), color=RED, linestyle="--", label=_("tangent of slope ρ: zCDP"))
    ax.plot([0.25], [touch], "o", color=INK, markersize=7, label=_("t = 0"))
    ax.set(xlabel=_("u = (t + ½)²"), ylabel=_("log-moment, plus log cosh(ε/2)"), xlim=(0, 2.25), ylim=(0, 1.7 * curve[-1]))
    ax.legend(loc="upper left")
    return _("The tangent's slope is ρ = ε tanh(ε/2) = {rho:.6g}; at t = 1 it lies {gap:.4g} above the curve.").format(
        rho=rho, gap=touch + 2 * rho - np.log(np.cosh(1.5 * epsilon)))


@figure("merging-and-concentration", chapter=6, source="new", move={"cut": (-1.5, 2.5)},
        caption="Gaussian noise whose outputs above a cut are merged into one: the parameter that concentrated DP needs grows, the one of zCDP does not.",
        alt="Three lines over t from 0 to 8: a level line at ρ = 0.5, a solid curve that starts near it, rises to 0.56 at t = 1.2 and comes slowly back "
            "towards it from above, and a dash-dotted curve that stays below it and approaches it from below.")
def merging_and_concentration(ax, cut=0.0):
    t = np.linspace(0.02, 8, 400)
    merged = log_ndtr(-cut) - log_ndtr(1 - cut)  # the loss at the merged output; centers 0 and 1, noise of deviation 1
    mean = ndtr(cut) / 2 + np.exp(-cut**2 / 2) / np.sqrt(2 * np.pi) + ndtr(-cut) * merged
    moment = np.logaddexp(t * (t + 1) / 2 + log_ndtr(cut + t), log_ndtr(-cut) + t * merged)
    cdp, zcdp = (moment - t * mean) / t**2, moment / (t * (t + 1))
    ax.axhline(0.5, color=GREY, linestyle=":", linewidth=1.6, label=_("before merging, either definition"))
    ax.plot(t, cdp, color=RED, label=_("after merging, concentrated DP: log E[exp(t(L - E[L]))] / t²"))
    ax.plot(t, zcdp, color=BLUE, linestyle="-.", label=_("after merging, zCDP: log E[exp(tL)] / (t(t+1))"))
    ax.set(xlabel=_("t"), ylabel=_("parameter needed"), xlim=(0, 8), ylim=(0.2, 0.85))
    ax.legend(loc="upper right")
    at = int(np.argmax(cdp))
    return _("Merging the outputs above {cut:.3g}: concentrated DP needs {cdp:.4g} at t = {t:.3g}, zCDP never more than 0.5.").format(
        cut=cut, cdp=cdp[at], t=t[at])
