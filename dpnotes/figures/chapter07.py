"""Figures of chapter 07: the exchange table."""

from __future__ import annotations

import numpy as np

from dpnotes import conversions
from dpnotes.figures._registry import _, figure
from dpnotes.figures._style import BLUE, GREEN, GREY, INK, ORANGE, PURPLE, RED, SHADE
from dpnotes.privacy_loss import GaussianLoss


@figure("rounds-compared", chapter=7, source="F4.7", move={"delta": (1e-9, 1e-3, "log"), "sigma": (1.0, 5.0)},
        caption="Twenty rounds of Gaussian queries, read by five accountants at one and the same δ.",
        alt="Five rising curves over rounds 1 to 20. The plain sum is the steepest and ends near 51; the Rényi grid, Bun and Steinke, and Canonne, Kamath and "
            "Steinke lie close together below, ending near 14; the exact curve is the lowest, at 12.6.")
def rounds_compared(ax, delta=1e-6, sigma=2.0):
    k, rho = np.arange(1, 21), np.arange(1, 21) / (2 * sigma**2)
    orders = np.array([2, 4, 8, 16, 32])
    exact = conversions.gdp_to_epsilon(np.sqrt(2 * rho), delta)
    rows = [(_("plain sum"), k * conversions.gdp_to_epsilon(1 / sigma, delta / k), RED, "--"),
            (_("Rényi, grid"), conversions.rdp_to_epsilon_mironov(orders[:, None], orders[:, None] * rho, delta).min(axis=0), ORANGE, ":"),
            (_("zCDP, Bun-Steinke"), conversions.zcdp_to_epsilon_bun_steinke(rho, delta), PURPLE, "-."),
            (_("zCDP, by the area"), conversions.zcdp_to_epsilon(rho, delta, "cks"), GREEN, (0, (5, 1))),
            (_("exact"), exact, BLUE, "-")]
    for name, values, color, style in rows:
        ax.plot(k, values, color=color, linestyle=style, label=name)
    ax.set(xlabel=_("rounds"), ylabel=_("ε"), xlim=(1, 20), ylim=(0, 1.05 * rows[0][1][-1]), xticks=[1, 5, 10, 15, 20])
    ax.legend(loc="upper left")
    return _("After 20 rounds: {0:.5g}, {1:.5g}, {2:.5g}, {3:.5g}, exact {4:.5g} (top to bottom in the legend).").format(*(row[1][-1] for row in rows))


@figure("four-stations", chapter=7, source="F4.1", panels=(2, 2), size=(6.4, 5.2),
        move={"sigma": (0.8, 5.0), "k": (1, 40), "sensitivity": (0.5, 3.0), "delta": (1e-9, 1e-2, "log")},
        caption="Accounting in four stations: the answers with noise, the loss of one answer, the ledger over all of them, and the statement.",
        alt="Four small panels. Top left, two overlapping bell curves of answers one apart. Top right, the bell curve of the privacy loss. Bottom left, the "
            "ledger, a straight line of Rényi divergence over the order, steeper than the dashed line of one answer. Bottom right, epsilon falling as delta "
            "grows, with one point marked.")
def four_stations(axes, sigma=2.0, k=20, sensitivity=1.0, delta=1e-6):
    (first, second), (third, fourth) = axes
    loss, total = (GaussianLoss(np.sqrt(n) * sensitivity / sigma) for n in (1, k))
    y = np.linspace(-3 * sigma, 3 * sigma + sensitivity, 200)
    for center, color, style in ((0, BLUE, "-"), (sensitivity, RED, "--")):
        first.plot(y, np.exp(-((y - center) / sigma) ** 2 / 2) / (sigma * np.sqrt(2 * np.pi)), color=color, linestyle=style, gid=f"center {center:.4g}")
    x = loss.mean() + loss.mu * np.linspace(-3.5, 3.5, 200)
    second.plot(x, np.exp(-((x - loss.mean()) / loss.mu) ** 2 / 2) / (loss.mu * np.sqrt(2 * np.pi)), color=GREEN, gid="loss")
    second.axvline(loss.mean(), color=INK, linestyle=":", linewidth=1.2)
    alpha, deltas = np.linspace(1, 16, 50), np.geomspace(1e-10, 0.1, 60)
    third.plot(alpha, loss.renyi(alpha), color=GREEN, linestyle="--", gid="one answer")
    third.plot(alpha, total.renyi(alpha), color=PURPLE, gid="ledger")
    fourth.plot(deltas, total.epsilon(deltas), color=BLUE, gid="epsilon")
    fourth.plot([delta], [total.epsilon(delta)], "o", color=RED, gid="statement")
    first.set(xlabel=_("answer"), yticks=[], title=_("1 input: answer + noise"))
    second.set(xlabel=_("privacy loss"), yticks=[], title=_("2 process: one loss"))
    third.set(xlabel=_("order α"), ylim=(0, None), title=_("3 store: ledger of {k}").format(k=k))
    fourth.set(xlabel=_("δ"), xscale="log", ylim=(0, None), title=_("4 output: ε"))
    for ax in (first, second, third, fourth):
        ax.title.set_fontsize("medium")
    return _("k = {k}, σ = {sigma:.3g}, each answer with D_α = {one:.4g} α: ρ = {rho:.4g}, and ε = {epsilon:.6g} at δ = {delta:.3g}, exactly.").format(
        k=k, sigma=sigma, one=loss.mean(), rho=total.mean(), epsilon=total.epsilon(delta), delta=delta)


@figure("worth-of-epsilon", chapter=7, source="new", move={"epsilon": (0.1, 5.0)},
        caption="What ε-DP is worth elsewhere: the tight ρ of zCDP, the tight μ of Gaussian DP, and the advantage of a membership test.",
        alt="Three curves against epsilon from 0 to 5. Rho starts flat and approaches epsilon minus a little; mu rises almost straight, then bends down; the "
            "advantage rises and levels off at 1. Three dots mark the chosen epsilon.")
def worth_of_epsilon(ax, epsilon=1.0):
    x = np.linspace(0, 5, 200)
    ax.plot(x, conversions.pure_to_zcdp(x), color=BLUE, label=_("zCDP, ρ"))
    ax.plot(x, conversions.pure_to_gdp(x), color=PURPLE, linestyle="-.", label=_("Gaussian DP, μ"))
    ax.plot(x, conversions.membership_advantage(x), color=GREEN, linestyle="--", label=_("membership advantage"))
    worth = [float(convert(epsilon)) for convert in (conversions.pure_to_zcdp, conversions.pure_to_gdp, conversions.membership_advantage)]
    ax.plot([epsilon] * 3, worth, "o", color=RED, label=_("at the chosen ε"))
    ax.set(xlabel=_("ε of pure DP"), ylabel=_("value in the other currency"), xlim=(0, 5), ylim=(0, 5))
    ax.legend(loc="upper left")
    return _("ε = {epsilon:.4g}: ρ = {rho:.6g}, μ = {mu:.6g}, advantage {advantage:.6g}.").format(
        epsilon=epsilon, rho=worth[0], mu=worth[1], advantage=worth[2])


@figure("deltas-of-a-ledger", chapter=7, source="new", move={"sigma": (1.0, 5.0), "k": (1, 50)},
        caption="The whole privacy curve δ(ε) of k Gaussian queries, exact and as their Rényi ledger gives it.",
        alt="Two falling curves of delta on a logarithmic axis over epsilon. The exact one is lower everywhere; the band between it and the Rényi curve is "
            "shaded and widens in the tail.")
def deltas_of_a_ledger(ax, sigma=2.0, k=20):
    total = GaussianLoss(np.sqrt(k) / sigma)
    epsilon = np.linspace(0, total.epsilon(1e-9), 40)
    exact = total.delta(epsilon)
    renyi = conversions.zcdp_to_delta(total.mean(), epsilon, "cks")
    ax.plot(epsilon, renyi, color=PURPLE, linestyle="-.", label=_("Rényi ledger"))
    ax.plot(epsilon, exact, color=BLUE, label=_("exact"))
    ax.fill_between(epsilon, exact, renyi, color=PURPLE, label=_("lost in the conversion"), **SHADE)
    ax.set(yscale="log", xlabel=_("ε"), ylabel=_("δ"), xlim=(0, epsilon[-1]), ylim=(1e-9, 1.5))
    ax.legend(loc="lower left")
    return _("At ε = {at:.4g} the exact δ is {exact:.4g}; the ledger says {renyi:.4g}.").format(at=epsilon[20], exact=exact[20], renyi=renyi[20])


@figure("two-point-budget", chapter=7, source="new", size=(5.6, 4.2), move={"epsilon": (0.5, 4.0), "alpha": (1.5, 4.0, "log")},
        caption="All that one Rényi bound (order α, at most 0.5) says of a test: its point lies below the curve. The highest line of slope exp(ε) that meets "
                "the region starts at the smallest δ.",
        alt="Over the false positive rate q a curve of the largest true positive rate p that the Rényi budget allows, with the region below shaded. A steep straight "
            "line touches the curve in one marked point; where it leaves the vertical axis, a second mark shows delta.")
def two_point_budget(ax, epsilon=2.0, alpha=2.0):
    delta = conversions.rdp_to_delta(alpha, 0.5, epsilon)
    q = np.geomspace(1e-10, 1, 1500)[:-1]
    low, high = q.copy(), np.ones_like(q)
    for _step in range(60):  # bisection: the divergence grows with p from q on
        p = np.sqrt(low * high)
        moment = (alpha - 1) * 0.5 > np.log(p**alpha * q ** (1 - alpha) + (1 - p) ** alpha * (1 - q) ** (1 - alpha))
        low, high = np.where(moment, p, low), np.where(moment, high, p)
    q, p = np.append(0, q), np.append(0, low)
    best = int(np.argmax(p - np.exp(epsilon) * q))
    ax.plot(q, p, color=PURPLE, label=_("largest p that the budget allows"))
    ax.fill_between(q, p, color=PURPLE, **SHADE)
    ax.plot(q, delta + np.exp(epsilon) * q, color=RED, linestyle="--", label=_("p = δ + exp(ε) q"))
    ax.plot([q[best]], [p[best]], "o", color=BLUE, label=_("the worst pair of laws"))
    ax.plot([0], [delta], "s", color=RED, clip_on=False, label=_("δ"))
    right = min(1.0, 6 * q[best])
    ax.set(xlabel=_("q, probability of the test's event on the neighbor"), ylabel=_("p, on the true data"), xlim=(0, right),
           ylim=(0, 1.4 * np.interp(right, q, p)))
    ax.legend(loc="upper left")
    return _("({alpha:.3g}, 0.5)-RDP at ε = {epsilon:.3g}: δ = {delta:.6g}, attained near p = {p:.3g}, q = {q:.3g}.").format(
        alpha=alpha, epsilon=epsilon, delta=delta, p=p[best], q=q[best])


@figure("saving-by-rounds", chapter=7, source="S4.15", move={"sigma": (1.0, 5.0)},
        caption="How many times less than the plain sum: as the demo computes it, and with the same δ on both sides.",
        alt="Two rising curves over the number of rounds, both axes logarithmic. The demo's starts below 1 and levels off under a dashed line at 16; the other starts "
            "at 1, lies above it, and goes on rising slowly.")
def saving_by_rounds(ax, sigma=2.0):
    k, delta, rho = np.unique(np.geomspace(1, 1e7, 60).astype(int)).astype(float), 1e-6, 1 / (2 * sigma**2)
    demo = 2 * k / conversions.zcdp_to_epsilon_bun_steinke(k * rho, delta)
    same = k * conversions.gdp_to_epsilon(1 / sigma, delta / k) / conversions.gdp_to_epsilon(np.sqrt(k) / sigma, delta)
    ax.plot(k, same, color=BLUE, label=_("plain sum over exact, same δ"))
    ax.plot(k, demo, color=ORANGE, linestyle="-.", label=_("2k over zCDP, as in the demo"))
    ax.axhline(2 / rho, color=GREY, linestyle="--", label=_("2/ρ"))
    ax.set(xscale="log", yscale="log", xlabel=_("rounds k"), ylabel=_("ratio"), xlim=(1, 1e7), ylim=(min(0.5, 0.8 * demo[0]), max(60, 5 / rho)))
    ax.legend(loc="lower right")
    return _("After 10⁷ rounds the demo's ratio is {demo:.4g}, below {limit:.4g}; with the same δ on both sides it is {same:.4g}.").format(
        demo=demo[-1], limit=2 / rho, same=same[-1])
