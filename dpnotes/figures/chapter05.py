"""Figures of chapter 05: Rényi DP, averaging risk."""

from __future__ import annotations

import numpy as np

from dpnotes import conversions
from dpnotes.figures._events import event_axis
from dpnotes.figures._registry import _, figure
from dpnotes.figures._style import BLUE, GREEN, GREY, INK, ORANGE, PURPLE, RED
from dpnotes.privacy_loss import GaussianLoss, LaplaceLoss

FICTION = 4.387569089  # the Laplace epsilon whose mean loss is 3.4, a mean gain of about 30
EVENTS = _("outputs by probability, the most telling first")
ORDERS = (2, 4, 8, 16, 32)


def _gain(ax, epsilon: float) -> LaplaceLoss:
    loss = LaplaceLoss(epsilon)
    events = event_axis(loss)
    ax.plot(events.x, events.gain, color=BLUE, label=_("gain exp(L)"))
    ax.set(xlabel=EVENTS, ylabel=_("gain exp(L)"), xlim=(0, 1), ylim=(0, 1.5 * np.exp(epsilon)))
    return loss


def _mean_line(ax, loss: LaplaceLoss, alpha: float, color: str, style: str, name: str) -> float:
    gain = float(np.exp(loss.renyi(alpha)))
    ax.axhline(gain, color=color, linestyle=style, linewidth=1.6, label=_("{name}, order {order}: {gain:.4g}").format(
        name=name, order="∞" if np.isinf(alpha) else f"{alpha:g}", gain=gain))
    return gain


@figure("gain-of-a-mechanism", chapter=5, source="F0.1", move={"epsilon": (0.5, 5.0)},
        caption="A mechanism's gain e^L over its outputs, laid out by probability: half of them reach the maximum.",
        alt="The gain stays at its maximum, about 80, over the left half of the probability axis, then falls along a parabola and is close to zero at the "
            "right end.")
def gain_of_a_mechanism(ax, epsilon=FICTION):
    loss = _gain(ax, epsilon)
    return _("Half of the outputs have the largest gain, {top:.5g}; the mean loss is {mean:.4g}.").format(top=np.exp(epsilon), mean=loss.mean())


@figure("gain-geometric-mean", chapter=5, source="F0.2", move={"epsilon": (0.5, 5.0)},
        caption="Averaging the loss L is taking the geometric mean of the gain e^L: order 1.",
        alt="The gain curve, flat at 80 over the left half and then falling, with a dashed horizontal line at 30, well below the flat part.")
def gain_geometric_mean(ax, epsilon=FICTION):
    loss = _gain(ax, epsilon)
    gain = _mean_line(ax, loss, 1.0, RED, "--", _("geometric mean"))
    ax.legend(loc="upper right")
    return _("E[L] = {mean:.5g}, a gain of exp(E[L]) = {gain:.5g}.").format(mean=loss.mean(), gain=gain)


@figure("gain-arithmetic-mean", chapter=5, source="F0.3", move={"epsilon": (0.5, 5.0)},
        caption="Averaging the gain itself: the arithmetic mean, order 2, lies above the geometric one.",
        alt="The gain curve with two horizontal lines: dashed at 30 the geometric mean, dash-dotted at 54 the arithmetic mean.")
def gain_arithmetic_mean(ax, epsilon=FICTION):
    loss = _gain(ax, epsilon)
    low = _mean_line(ax, loss, 1.0, RED, "--", _("geometric mean"))
    high = _mean_line(ax, loss, 2.0, GREEN, "-.", _("arithmetic mean"))
    ax.legend(loc="upper right")
    return _("Geometric mean {low:.5g}, arithmetic mean {high:.5g}.").format(low=low, high=high)


@figure("gain-quadratic-mean", chapter=5, source="F0.4", move={"epsilon": (0.5, 5.0)},
        caption="The quadratic mean of the gain, order 3, weighs large gains more.",
        alt="The gain curve with three horizontal lines from below: geometric mean at 30, arithmetic mean at 54, quadratic mean at 62.")
def gain_quadratic_mean(ax, epsilon=FICTION):
    loss = _gain(ax, epsilon)
    _mean_line(ax, loss, 1.0, RED, "--", _("geometric mean"))
    middle = _mean_line(ax, loss, 2.0, GREEN, "-.", _("arithmetic mean"))
    high = _mean_line(ax, loss, 3.0, PURPLE, ":", _("quadratic mean"))
    ax.legend(loc="upper right")
    return _("Arithmetic mean {middle:.5g}, quadratic mean {high:.5g}.").format(middle=middle, high=high)


@figure("gain-all-means", chapter=5, source="F0.5", move={"alpha": (1.0, 50.0, "log"), "epsilon": (0.5, 5.0)},
        caption="Power means of the gain, from the geometric (order 1) to the maximum (order ∞): Rényi DP bounds one of them.",
        alt="The gain curve with horizontal lines at 30, 54 and 80, the geometric mean, the arithmetic mean and the maximum; a thicker line for the chosen "
            "order, at first 4, lies between the last two.")
def gain_all_means(ax, alpha=4.0, epsilon=FICTION):
    loss = _gain(ax, epsilon)
    _mean_line(ax, loss, 1.0, RED, "--", _("geometric mean"))
    _mean_line(ax, loss, 2.0, GREEN, "-.", _("arithmetic mean"))
    _mean_line(ax, loss, np.inf, GREY, ":", _("maximum"))
    gain = _mean_line(ax, loss, alpha, PURPLE, (0, (5, 1)), _("chosen mean"))
    ax.set(ylim=(0, 1.75 * np.exp(epsilon)))
    ax.legend(loc="upper right")
    return _("The mean of order {alpha:.4g} is {gain:.5g}: a Rényi divergence of {renyi:.5g}.").format(alpha=alpha, gain=gain, renyi=np.log(gain))


@figure("order-as-a-lens", chapter=5, source="F4.3", move={"sigma": (1.0, 4.0), "epsilon": (0.2, 2.0)},
        caption="Rényi divergence against the order: unbounded and straight for Gaussian noise, leveling off at ε for Laplace noise.",
        alt="Two curves against the order from 1 to 32: a straight line rising to 4 for Gaussian noise of standard deviation 2; a curve for Laplace noise that "
            "rises quickly, then flattens below a dashed line at 1.")
def order_as_a_lens(ax, sigma=2.0, epsilon=1.0):
    alpha = np.linspace(1, 32, 200)
    gaussian, laplace = GaussianLoss(1 / sigma), LaplaceLoss(epsilon)
    ax.plot(alpha, gaussian.renyi(alpha), color=BLUE, label=_("Gaussian, σ = {sigma:.3g}").format(sigma=sigma))
    ax.plot(alpha, laplace.renyi(alpha), color=GREEN, linestyle="-.", label=_("Laplace, ε = {epsilon:.3g}").format(epsilon=epsilon))
    ax.axhline(epsilon, color=GREEN, linestyle=":", linewidth=1.3, label=_("its largest loss, order ∞"))
    ax.set(xlabel=_("order α"), ylabel=_("Rényi divergence"), xlim=(1, 32), ylim=(0, 1.5 * max(epsilon, gaussian.renyi(32))))
    ax.legend(loc="upper left")
    return _("Orders 1, 2, 16: Gaussian {a:.4g}, {b:.4g}, {c:.4g}; Laplace {d:.4g}, {e:.4g}, {f:.4g}.").format(
        a=gaussian.renyi(1), b=gaussian.renyi(2), c=gaussian.renyi(16), d=laplace.renyi(1), e=laplace.renyi(2), f=laplace.renyi(16))


@figure("ledger-by-order", chapter=5, source="F4.4", move={"k": (1, 20), "delta": (1e-9, 1e-3, "log")},
        caption="A Rényi ledger of Gaussian queries (σ = 2): an entry for each order, and on top of it what the conversion to ε adds.",
        alt="Five stacked bars for the orders 2, 4, 8, 16 and 32. The lower parts, the ledger's entries, double from bar to bar; the upper parts, the "
            "conversion, halve. The second bar is the shortest as a whole and is marked.")
def ledger_by_order(ax, k=20, delta=1e-6):
    entries = np.array([k * alpha / 8 for alpha in ORDERS])
    totals = conversions.rdp_to_epsilon_mironov(ORDERS, entries, delta)
    best, place = int(np.argmin(totals)), np.arange(len(ORDERS))
    ax.bar(place, entries, 0.6, color=BLUE, label=_("ledger: sum of divergences"))
    ax.bar(place, totals - entries, 0.6, bottom=entries, color="white", edgecolor=ORANGE, hatch="//", label=_("conversion: log(1/δ) / (α-1)"))
    for i, total in enumerate(totals):
        ax.text(i, total + 0.02 * totals.max(), f"{total:.3f}", ha="center", weight="bold" if i == best else "normal", color=RED if i == best else INK)
    ax.set(xticks=place, xticklabels=[str(a) for a in ORDERS], xlabel=_("order α"), ylabel=_("ε"), ylim=(0, 1.4 * totals.max()))
    ax.legend(loc="upper center")
    return _("After {k} queries the best of these orders is {order}: ε = {best:.5g}. The best of all orders gives {free:.5g}.").format(
        k=k, order=ORDERS[best], best=totals[best], free=conversions.zcdp_to_epsilon_bun_steinke(k / 8, delta))


@figure("best-order", chapter=5, source="F4.6", move={"k": (1, 100), "delta": (1e-9, 1e-2, "log")},
        caption="ε against the order for k Gaussian queries (σ = 2): the grid 2, 4, 8, ... misses the best order, and a better conversion lowers the whole curve.",
        alt="Two U-shaped curves over the order, on a logarithmic axis; five dots on the upper one at the orders 2, 4, 8, 16 and 32, none at its lowest point, "
            "which is marked between 2 and 4. A dashed line below both is the exact value.")
def best_order(ax, k=20, delta=1e-6):
    alpha, rho = 1 + np.geomspace(0.15, 40, 400), k / 8
    exact = conversions.gdp_to_epsilon(np.sqrt(2 * rho), delta)
    grid = conversions.rdp_to_epsilon_mironov(ORDERS, rho * np.array(ORDERS), delta)
    curves = [conversions.rdp_to_epsilon_mironov(alpha, rho * alpha, delta), conversions.rdp_to_epsilon_cks(alpha, rho * alpha, delta)]
    ax.plot(alpha, curves[0], color=BLUE, label=_("Mironov"))
    ax.plot(alpha, curves[1], color=PURPLE, linestyle="-.", label=_("Canonne, Kamath, Steinke"))
    ax.plot(ORDERS, grid, "o", color=RED, label=_("grid of orders"))
    order = 1 + np.sqrt(np.log(1 / delta) / rho)
    ax.plot([order], [conversions.zcdp_to_epsilon_bun_steinke(rho, delta)], "v", color=BLUE, markersize=8, label=_("best order"))
    ax.axhline(exact, color=GREEN, linestyle="--", linewidth=1.3, label=_("exact"))
    ax.set(xscale="log", xlabel=_("order α"), ylabel=_("ε"), ylim=(0, 4.5 * exact), xlim=(alpha[0], alpha[-1]),
           xticks=[2, 4, 8, 16, 32], xticklabels=["2", "4", "8", "16", "32"])
    ax.minorticks_off()
    ax.legend(loc="best")
    return _("Best order {order:.5g}: ε = {best:.6g}; the grid gives {grid:.6g}; the better conversion {cks:.6g}; exact {exact:.6g}.").format(
        order=order, best=conversions.zcdp_to_epsilon_bun_steinke(rho, delta), grid=grid.min(), cks=curves[1].min(), exact=exact)


@figure("three-conversions", chapter=5, source="new", move={"alpha": (1.2, 20.0, "log"), "epsilon": (0.1, 2.0)},
        caption="What one Rényi bound, (α, ε)-RDP, is worth in δ: Mironov's conversion, the better closed form, and the best possible.",
        alt="Three falling curves of delta on a logarithmic axis against epsilon. Mironov's starts at 1 and lies highest; the closed form is a fixed factor "
            "below; the optimal one starts lowest and approaches the closed form on the right.")
def three_conversions(ax, alpha=2.0, epsilon=0.5):
    at = np.linspace(0, 4 + epsilon, 60)
    for convert, color, style, name in ((conversions.rdp_to_delta_mironov, RED, "--", _("Mironov")),
                                        (conversions.rdp_to_delta_cks, PURPLE, "-.", _("Canonne, Kamath, Steinke")),
                                        (conversions.rdp_to_delta, BLUE, "-", _("optimal"))):
        ax.plot(at, convert(alpha, epsilon, at), color=color, linestyle=style, label=name)
    ax.set(yscale="log", xlabel=_("ε of approximate DP"), ylabel=_("δ"), xlim=(0, at[-1]))
    ax.legend(loc="lower left")
    return _("At ε = 2, order {alpha:.3g} with divergence {rdp:.3g} gives δ = {m:.4g}, {c:.4g} and {o:.4g}.").format(
        alpha=alpha, rdp=epsilon, m=conversions.rdp_to_delta_mironov(alpha, epsilon, 2), c=conversions.rdp_to_delta_cks(alpha, epsilon, 2),
        o=conversions.rdp_to_delta(alpha, epsilon, 2))
