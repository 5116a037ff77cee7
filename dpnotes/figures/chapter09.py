"""Figures of chapter 09: Gaussian DP and trade-off curves."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from dpnotes import conversions
from dpnotes.figures._registry import _, figure
from dpnotes.figures._style import BLUE, GREEN, GREY, ORANGE, PURPLE, RED, SHADE
from dpnotes.privacy_loss import DiscreteLoss, GaussianLoss, LaplaceLoss

X = np.concatenate([[0.0], np.geomspace(1e-5, 0.02, 60), np.linspace(0.021, 1, 240)])


def _square(ax, **legend) -> None:
    ax.plot([0, 1], [1, 0], color=GREY, linestyle=":", linewidth=1.3, label=_("nothing learned"))
    ax.set(xlabel=_("type I error"), ylabel=_("type II error"), xlim=(0, 1), ylim=(0, 1))
    ax.legend(**({"loc": "upper right"} | legend))


def _corners(loss: DiscreteLoss) -> tuple[np.ndarray, np.ndarray]:
    """The corners of the trade-off curve of a finite loss: reject the largest losses first."""
    p, q = np.exp(loss.log_masses)[::-1], np.exp(loss.log_masses - loss.losses)[::-1]
    return np.append(0, np.cumsum(q)), 1 - np.append(0, np.cumsum(p))


@figure("tradeoff-gaussian", chapter=9, source="new", size=(5.2, 4.4), move={"sigma": (0.3, 5.0, "log")},
        caption="The errors of the best test between two neighbors under Gaussian noise: the more noise, the closer to the diagonal of guessing.",
        alt="A square of error rates. A convex curve bows from the top left corner to the bottom right corner below the dotted diagonal; fainter curves for twice "
            "and half the noise lie above and below it.")
def tradeoff_gaussian(ax, sigma=1.0):
    for factor, color, style in ((2, GREEN, "-."), (1, BLUE, "-"), (0.5, PURPLE, "--")):
        ax.plot(X, conversions.gdp_to_tradeoff(1 / (factor * sigma), X), color=color, linestyle=style, label=_("σ = {sigma:.3g}").format(sigma=factor * sigma))
    _square(ax)
    return _("μ = 1/σ = {mu:.4g}: at a type I error of 0.05 the best test still misses {miss:.5g}.").format(
        mu=1 / sigma, miss=conversions.gdp_to_tradeoff(1 / sigma, 0.05))


@figure("tradeoff-of-epsilon-delta", chapter=9, source="new", size=(5.2, 4.4), move={"epsilon": (0.1, 4.0), "delta": (0.0, 0.3)},
        caption="What (ε, δ)-DP allows a test: a corner cut into the square by two lines of slopes -e^ε and -e^-ε, lowered by δ.",
        alt="A square of error rates with a broken line: from 1 minus delta on the left edge steeply down to a corner, on to the bottom edge short of its right "
            "end. The region below it, which no test reaches, is shaded.")
def tradeoff_of_epsilon_delta(ax, epsilon=1.0, delta=0.05):
    corner = (1 - delta) / (1 + np.exp(epsilon))
    x = np.unique(np.concatenate([X, [corner, 1 - delta]]))
    curve = conversions.approx_to_tradeoff(epsilon, delta, x)
    ax.plot(x, curve, color=BLUE, label=_("(ε, δ)-DP"))
    ax.fill_between(x, curve, color=BLUE, label=_("no test gets here"), **SHADE)
    ax.plot([corner], [corner], "o", color=RED, gid="corner")
    _square(ax)
    return _("The corner lies at errors ({corner:.5g}, {corner:.5g}); the advantage of a test, 1 less both errors, is at most {advantage:.5g}.").format(
        corner=corner, advantage=conversions.membership_advantage(epsilon, delta))


@figure("tradeoff-touching", chapter=9, source="new", size=(5.2, 4.4), move={"epsilon": (0.2, 4.0)},
        caption="The Gaussian that covers all of ε-DP touches randomized response's curve in its corner; Laplace noise rounds that corner off.",
        alt="A square of error rates with a broken line, randomized response, and a smooth curve, the Gaussian, below it that touches it at its corner only; a third "
            "curve, Laplace noise, runs on the broken line but rounds its corner from above.")
def tradeoff_touching(ax, epsilon=1.0):
    mu = conversions.pure_to_gdp(epsilon)
    corner = 1 / (1 + np.exp(epsilon))
    ax.plot([0, corner, 1], [1, corner, 0], color=RED, linestyle="--", label=_("randomized response"))
    ax.plot(X, conversions.delta_to_tradeoff(LaplaceLoss(epsilon).delta, X), color=GREEN, linestyle="-.", label=_("Laplace noise"))
    ax.plot(X, conversions.gdp_to_tradeoff(mu, X), color=BLUE, label=_("Gaussian, μ = {mu:.4g}").format(mu=mu))
    ax.plot([corner], [corner], "o", color=RED, gid="touching point")
    _square(ax)
    return _("ε = {epsilon:.4g} is covered by μ = {mu:.7g}; they touch at ({corner:.5g}, {corner:.5g}).").format(epsilon=epsilon, mu=mu, corner=corner)


@figure("tradeoff-duality", chapter=9, source="new", size=(5.2, 4.4), move={"epsilon": (-2.0, 4.0), "sigma": (0.4, 3.0)},
        caption="δ(ε) read off the trade-off curve: the line of slope -e^ε that touches it meets the left edge at 1 - δ(ε).",
        alt="A square of error rates with the Gaussian curve and a straight dashed tangent that touches it at a marked point; the gap between the tangent's left end "
            "and the top left corner is drawn as a short thick bar.")
def tradeoff_duality(ax, epsilon=0.5, sigma=1.0):
    delta = GaussianLoss(1 / sigma).delta(epsilon)
    ax.plot(X, conversions.gdp_to_tradeoff(1 / sigma, X), color=BLUE, label=_("Gaussian, σ = {sigma:.3g}").format(sigma=sigma))
    ends = np.array([0.0, min(1.0, (1 - delta) * np.exp(-epsilon))])
    ax.plot(ends, 1 - delta - np.exp(epsilon) * ends, color=RED, linestyle="--", label=_("slope -exp(ε)"))
    ax.plot([0.004, 0.004], [1 - delta, 1], color=ORANGE, linewidth=6, solid_capstyle="butt", label=_("δ(ε)"))
    x = float(ndtr(-epsilon * sigma - 0.5 / sigma))  # the test that rejects where L > epsilon
    ax.plot([x], [conversions.gdp_to_tradeoff(1 / sigma, x)], "o", color=RED, gid="touching point")
    _square(ax)
    return _("δ({epsilon:.4g}) = {delta:.6g}: what the tangent leaves to 1 at the left edge.").format(epsilon=epsilon, delta=delta)


@figure("tradeoff-central-limit", chapter=9, source="new", size=(5.2, 4.4), move={"k": (1, 40)},
        caption="Many small losses look like one Gaussian: k randomized responses with ε = 1/√k, and the Gaussian with their mean loss.",
        alt="A square of error rates with a broken line of k + 1 segments and a smooth Gaussian curve. At four runs the broken line has visible corners and winds "
            "closely around the smooth curve.")
def tradeoff_central_limit(ax, k=4):
    epsilon = 1 / np.sqrt(k)
    loss = conversions.optimal_composition([(epsilon, 0.0, k)])
    mu = float(np.sqrt(2 * loss.mean()))
    x, y = _corners(loss)
    ax.plot(x, y, color=RED, linestyle="--", marker="o" if k <= 12 else "", markersize=4, label=_("k = {k} runs of ε = {epsilon:.3g}").format(k=k, epsilon=epsilon))
    ax.plot(X, conversions.gdp_to_tradeoff(mu, X), color=BLUE, label=_("Gaussian, μ = {mu:.4g}").format(mu=mu))
    _square(ax)
    gap = float(np.max(np.abs(np.interp(X, x, y) - conversions.gdp_to_tradeoff(mu, X))))
    return _("μ = {mu:.5g}; the curves differ by at most {gap:.4f}. At δ = 10⁻⁶: exact ε {exact:.5g}, the Gaussian's {gaussian:.5g}.").format(
        mu=mu, gap=gap, exact=loss.epsilon(1e-6), gaussian=GaussianLoss(mu).epsilon(1e-6))


@figure("power-at-low-rates", chapter=9, source="new", move={"sigma": (0.3, 5.0, "log")},
        caption="What an attacker finds who may rarely be wrong: the largest true positive rate under Gaussian noise, and under its one point at δ = 10⁻⁵.",
        alt="Power against false alarm rate, both on logarithmic axes. The Gaussian's curve runs above the dotted diagonal and comes closer to it only at the right end; the dashed "
            "line of its single (epsilon, delta) point lies well above the curve except near one place on the left where they touch.")
def power_at_low_rates(ax, sigma=1.0):
    x, mu = np.geomspace(1e-7, 1, 211), 1 / sigma
    epsilon = conversions.gdp_to_epsilon(mu, 1e-5)
    ax.plot(x, 1 - conversions.gdp_to_tradeoff(mu, x), color=BLUE, label=_("Gaussian, σ = {sigma:.3g}").format(sigma=sigma))
    ax.plot(x, 1 - conversions.approx_to_tradeoff(epsilon, 1e-5, x), color=RED, linestyle="--", label=_("all of (ε, 10⁻⁵)-DP"))
    ax.plot(x, x, color=GREY, linestyle=":", linewidth=1.3, label=_("nothing learned"))
    ax.axvline(1e-3, color=GREY, linewidth=0.8)
    ax.set(xscale="log", yscale="log", xlabel=_("type I error, false alarms"), ylabel=_("power, true positives"), xlim=(1e-7, 1), ylim=(1e-7, 1.3))
    ax.legend(loc="lower right")
    return _("With one false alarm in a thousand at most {curve:.5g} are found; from ε = {epsilon:.4g} at δ = 10⁻⁵ alone one could only say {point:.4g}.").format(
        curve=1 - conversions.gdp_to_tradeoff(mu, 1e-3), epsilon=epsilon, point=1 - conversions.approx_to_tradeoff(epsilon, 1e-5, 1e-3))
