"""Figures of chapter 05: Rényi DP, averaging risk."""

from __future__ import annotations

import numpy as np
from matplotlib.ticker import MaxNLocator

from dpnotes import conversions
from dpnotes.figures._events import event_axis
from dpnotes.figures._registry import _, figure
from dpnotes.figures._style import BLUE, GREEN, GREY, INK, ORANGE, PURPLE, RED, SHADE
from dpnotes.privacy_loss import GaussianLoss, LaplaceLoss

FICTION = 4.387569089  # the Laplace epsilon whose mean loss is 3.4, a mean gain of about 30
EVENTS = _("outputs by probability, the most telling first")
ORDERS = (2, 4, 8, 16, 32)
NAMED_MEANS = {1: _("geometric mean"), 2: _("arithmetic mean"), 3: _("quadratic mean"), 4: _("cubic mean"), np.inf: _("maximum")}


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
    gain = _mean_line(ax, loss, 1.0, RED, "--", NAMED_MEANS[1])
    ax.legend(loc="upper right")
    return _("E[L] = {mean:.5g}, a gain of exp(E[L]) = {gain:.5g}.").format(mean=loss.mean(), gain=gain)


@figure("gain-arithmetic-mean", chapter=5, source="F0.3", move={"epsilon": (0.5, 5.0)},
        caption="Averaging the gain itself: the arithmetic mean, order 2, lies above the geometric one.",
        alt="The gain curve with two horizontal lines: dashed at 30 the geometric mean, dash-dotted at 54 the arithmetic mean.")
def gain_arithmetic_mean(ax, epsilon=FICTION):
    loss = _gain(ax, epsilon)
    low = _mean_line(ax, loss, 1.0, RED, "--", NAMED_MEANS[1])
    high = _mean_line(ax, loss, 2.0, GREEN, "-.", NAMED_MEANS[2])
    ax.legend(loc="upper right")
    return _("Geometric mean {low:.5g}, arithmetic mean {high:.5g}.").format(low=low, high=high)


@figure("gain-quadratic-mean", chapter=5, source="F0.4", move={"epsilon": (0.5, 5.0)},
        caption="The quadratic mean of the gain, order 3, weighs large gains more.",
        alt="The gain curve with three horizontal lines from below: geometric mean at 30, arithmetic mean at 54, quadratic mean at 62.")
def gain_quadratic_mean(ax, epsilon=FICTION):
    loss = _gain(ax, epsilon)
    _mean_line(ax, loss, 1.0, RED, "--", NAMED_MEANS[1])
    middle = _mean_line(ax, loss, 2.0, GREEN, "-.", NAMED_MEANS[2])
    high = _mean_line(ax, loss, 3.0, PURPLE, ":", NAMED_MEANS[3])
    ax.legend(loc="upper right")
    return _("Arithmetic mean {middle:.5g}, quadratic mean {high:.5g}.").format(middle=middle, high=high)


@figure("gain-all-means", chapter=5, source="F0.5", move={"focus": (0, 12), "epsilon": (0.5, 5.0)},
        caption="Power means of the gain, from the geometric (order 1) to the maximum (order ∞): Rényi DP bounds one of them.",
        alt="The gain curve with horizontal lines at 30, 54 and 80, the geometric mean, the arithmetic mean and the maximum; a thicker line for the chosen "
            "order, at first 4, lies between the last two.")
def gain_all_means(ax, focus=9, epsilon=FICTION):
    alpha = np.inf if focus == 12 else 12 / (12 - focus)  # so that orders 1, 2, 3, 4 and ∞ are all among the thirteen
    name = NAMED_MEANS.get(alpha, _("power mean of order {t:.3g}").format(t=alpha - 1))
    loss = _gain(ax, epsilon)
    _mean_line(ax, loss, 1.0, RED, "--", NAMED_MEANS[1])
    _mean_line(ax, loss, 2.0, GREEN, "-.", NAMED_MEANS[2])
    _mean_line(ax, loss, np.inf, GREY, ":", NAMED_MEANS[np.inf])
    gain = float(np.exp(loss.renyi(alpha)))
    ax.axhline(gain, color=PURPLE, linestyle=(0, (5, 1)), linewidth=2.4, label=_("chosen: {name}").format(name=name))
    ax.set(ylim=(0, 1.75 * np.exp(epsilon)))
    ax.legend(loc="upper right")
    order = "∞" if np.isinf(alpha) else f"{alpha:.4g}"
    return _("Order {order} is the {name} of the gain: {gain:.5g}, a Rényi divergence of {renyi:.5g}.").format(
        order=order, name=name, gain=gain, renyi=np.log(gain))


@figure("where-the-order-looks", chapter=5, source="F4.3", move={"alpha": (1.0, 6.0), "sigma": (1.0, 4.0)},
        caption="What one order sees of Gaussian noise: outputs weighed by P^α Q^(1-α), a bell that moves out as the order grows.",
        alt="Three bells over the output. Those of P and Q are centered at 1000 and 1001; a third of the same shape, shaded, is centered at 997, on the side of "
            "P that lies away from Q.")
def where_the_order_looks(ax, alpha=4.0, sigma=2.0):
    y, center = np.linspace(995.5 - 4 * sigma, 1000.5 + 3.3 * sigma, 400), 1001 - alpha
    bells = [np.exp(-0.5 * ((y - middle) / sigma) ** 2) for middle in (1000, 1001, center)]
    ax.plot(y, bells[0], color=BLUE, label=_("P, the true database"))
    ax.plot(y, bells[1], color=ORANGE, linestyle="--", label=_("Q, its neighbor"))
    ax.plot(y, bells[2], color=PURPLE, linestyle="-.", label=_("what order {alpha:.3g} weighs").format(alpha=alpha))
    ax.fill_between(y, bells[2], color=PURPLE, **SHADE)
    ax.set(xlabel=_("published count"), ylabel=_("density, top at 1"), xlim=(y[0], y[-1]), ylim=(0, 1.55), yticks=[0, 0.5, 1])
    ax.xaxis.set_major_locator(MaxNLocator(7, integer=True))
    ax.legend(loc="upper left", ncols=2)
    loss = GaussianLoss(1 / sigma)
    return _("Order {alpha:.4g} looks at outputs around {center:.5g}, where the loss is {at:.4g}; the divergence is {renyi:.4g}.").format(
        alpha=alpha, center=center, at=(2 * alpha - 1) / (2 * sigma**2), renyi=loss.renyi(alpha))


@figure("order-as-a-lens", chapter=5, source="F4.3", move={"sigma": (1.0, 4.0), "epsilon": (0.2, 2.0)},
        caption="Rényi divergence against the order: unbounded and straight for Gaussian noise, leveling off at ε for ε-DP mechanisms.",
        alt="Curves against the order from 1 to 20: a straight line rising to 2.5 for Gaussian noise of standard deviation 2, with dots at the orders 2 and 16; "
            "curves for Laplace noise and, a little higher, randomized response, which rise quickly and flatten below a dotted line at 1.")
def order_as_a_lens(ax, sigma=2.0, epsilon=1.0):
    alpha = np.linspace(1, 20, 200)
    gaussian, laplace = GaussianLoss(1 / sigma), LaplaceLoss(epsilon)
    ax.plot(alpha, gaussian.renyi(alpha), color=BLUE, label=_("Gaussian, σ = {sigma:.3g}").format(sigma=sigma))
    ax.plot([2, 16], gaussian.renyi([2, 16]), "o", color=BLUE, label=_("its orders 2 and 16"))
    ax.plot(alpha, conversions.pure_to_rdp(epsilon, alpha), color=RED, linestyle="--", label=_("randomized response: the most that ε-DP allows"))
    ax.plot(alpha, laplace.renyi(alpha), color=GREEN, linestyle="-.", label=_("Laplace, ε = {epsilon:.3g}").format(epsilon=epsilon))
    ax.axhline(epsilon, color=GREY, linestyle=":", linewidth=1.3, label=_("their largest loss, order ∞"))
    ax.set(xlabel=_("order α"), ylabel=_("Rényi divergence"), xlim=(1, 20), xticks=[1, 2, 4, 8, 12, 16, 20], ylim=(0, 1.7 * max(epsilon, gaussian.renyi(20))))
    ax.legend(loc="upper left")
    return _("Orders 1, 2, 16: Gaussian {a:.4g}, {b:.4g}, {c:.4g}; Laplace {d:.4g}, {e:.4g}, {f:.4g}.").format(
        a=gaussian.renyi(1), b=gaussian.renyi(2), c=gaussian.renyi(16), d=laplace.renyi(1), e=laplace.renyi(2), f=laplace.renyi(16))


@figure("tail-by-order", chapter=5, source="new", move={"alpha": (1.2, 25.0, "log"), "sigma": (1.0, 4.0)},
        caption="A bound on one power mean bounds the tail: a straight line on this scale, steeper and later for larger orders.",
        alt="Probabilities on a logarithmic axis against the loss. The true tail of a Gaussian's loss bends down; the bound of order 8, a thick straight line, "
            "starts at 1, falls and comes closest to the tail far out; thin lines show the orders 2, 4 and 16.")
def tail_by_order(ax, alpha=8.0, sigma=2.0):
    loss = GaussianLoss(1 / sigma)
    at = np.linspace(0, 8 / sigma, 200)
    ax.plot(at, loss.tail(at), color=BLUE, label=_("P[L > l], exactly"))
    for order, style in ((2, ":"), (4, "--"), (16, "-.")):
        ax.plot(at, conversions.rdp_to_delta_mironov(order, loss.renyi(order), at), color=GREY, linestyle=style, linewidth=1.2,
                label=_("order {order}").format(order=order))
    ax.plot(at, conversions.rdp_to_delta_mironov(alpha, loss.renyi(alpha), at), color=PURPLE, linewidth=2.4,
            label=_("chosen: order {alpha:.3g}").format(alpha=alpha))
    ax.set(yscale="log", xlabel=_("loss l"), ylabel=_("probability"), xlim=(0, at[-1]), ylim=(1e-14, 20))
    ax.legend(loc="lower left")
    l = 4 / sigma
    return _("At l = {l:.4g}: the tail is {tail:.4g}, order {alpha:.4g} bounds it by {bound:.4g}.").format(
        l=l, tail=loss.tail(l), alpha=alpha, bound=conversions.rdp_to_delta_mironov(alpha, loss.renyi(alpha), l))


@figure("ledger-by-order", chapter=5, source="F4.4", move={"k": (1, 20), "delta": (1e-9, 1e-3, "log")},
        caption="A Rényi ledger of Gaussian queries (σ = 2): an entry for each order, and on top of it what the conversion to ε adds.",
        alt="Five stacked bars for the orders 2, 4, 8, 16 and 32. The lower parts, the ledger's entries, double from bar to bar; the upper parts, the "
            "conversion, shrink. The second bar is the shortest as a whole and is marked.")
def ledger_by_order(ax, k=20, delta=1e-6):
    full = conversions.rdp_to_epsilon_mironov(ORDERS, 2.5 * np.array(ORDERS), delta).max()  # one scale for all rounds: the ledger fills
    entries = np.array([k * alpha / 8 for alpha in ORDERS])
    totals = conversions.rdp_to_epsilon_mironov(ORDERS, entries, delta)
    best, place = int(np.argmin(totals)), np.arange(len(ORDERS))
    ax.bar(place, entries, 0.6, color=BLUE, label=_("ledger: sum of divergences"))
    ax.bar(place, totals - entries, 0.6, bottom=entries, color="white", edgecolor=ORANGE, hatch="//", label=_("conversion: log(1/δ) / (α-1)"))
    for i, total in enumerate(totals):
        ax.text(i, total + 0.02 * full, f"{total:.3f}", ha="center", weight="bold" if i == best else "normal", color=RED if i == best else INK)
    ax.set(xticks=place, xticklabels=[str(a) for a in ORDERS], xlabel=_("order α"), ylabel=_("ε"), ylim=(0, 1.4 * full))
    ax.legend(loc="upper center")
    return _("Queries so far: {k}. The best of these orders is {order}, ε = {best:.5g}; the best of all orders gives {free:.5g}.").format(
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
    ax.set(xscale="log", xlabel=_("order α"), ylabel=_("ε"), ylim=(0, 5 * exact), xlim=(alpha[0], alpha[-1]),
           xticks=[2, 4, 8, 16, 32], xticklabels=["2", "4", "8", "16", "32"])
    ax.minorticks_off()
    ax.legend(loc="upper center")
    return _("Best order {order:.5g}: ε = {best:.6g}; the grid gives {grid:.6g}; the better conversion {cks:.6g}; exact {exact:.6g}.").format(
        order=order, best=conversions.zcdp_to_epsilon_bun_steinke(rho, delta), grid=grid.min(), cks=conversions.zcdp_to_epsilon(rho, delta, "cks"),
        exact=exact)


@figure("three-conversions", chapter=5, source="new", move={"alpha": (1.2, 20.0, "log"), "epsilon": (0.1, 2.0)},
        caption="What one Rényi bound, (α, ε)-RDP, is worth in δ: Mironov's conversion, the better closed form, and the smallest that a bound on one ordered pair allows.",
        alt="Three falling curves of delta on a logarithmic axis against epsilon. Mironov's stays at 1 up to 0.5 and lies highest; from there on the closed form is a "
            "quarter of it; the optimal one starts beside the closed form, at 0.4, and drops to less than half of it.")
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
