"""Figures of chapter 04: adding up losses."""

from __future__ import annotations

import numpy as np

from dpnotes import conversions
from dpnotes.figures._registry import _, figure
from dpnotes.figures._style import BLUE, GREEN, GREY, ORANGE, PURPLE, RED, SHADE
from dpnotes.mechanisms import Laplace
from dpnotes.privacy_loss import GaussianLoss


@figure("one-morning", chapter=4, source="new", move={"seed": (1, 17)},
        caption="Six answers, charged in three ways: all at the top price, each at its own price, and what each output really tells of one person.",
        alt="Three step lines over the questions one to six. The top price climbs steeply to 6, the own prices climb to 2.1, and below them the loss that "
            "really happened goes up and down.")
def one_morning(ax, seed=5):
    rng, prices = np.random.default_rng(seed), np.array([0.1, 0.1, 0.2, 0.2, 0.5, 1.0])
    noise = np.array([Laplace(scale=1 / price).release(0, rng=rng) for price in prices])
    losses = prices * (np.abs(noise + 1) - np.abs(noise))
    asked = np.append(np.arange(7), 6.4)
    for values, color, style, label in ((np.full(6, prices.max()), RED, "--", _("all at the top price")),
                                        (prices, ORANGE, "-.", _("each at its own price")),
                                        (losses, BLUE, "-", _("the losses of the outputs"))):
        total = np.cumsum(values)
        ax.step(asked, [0, *total, total[-1]], where="post", color=color, linestyle=style, label=label)
    ax.axhline(0, color=GREY, linewidth=0.8)
    ax.set(xlabel=_("questions answered"), ylabel=_("total"), xlim=(0, 6.4), ylim=(-2.2, 6.4), xticks=asked[:-1])
    ax.legend(loc="upper left")
    return _("Top price {top:.4g}, own prices {own:.4g}; the outputs of this run add up to a loss of {loss:.4g}.").format(
        top=6 * prices.max(), own=prices.sum(), loss=losses.sum())


@figure("fixed-price", chapter=4, source="F4.2", move={"sigma": (1.0, 5.0), "epsilon": (0.5, 4.0)},
        caption="Charging every Gaussian query the fixed price ε, and what its privacy loss really is: a normal variable, rarely that large.",
        alt="A bell curve of the privacy loss around one eighth with standard deviation one half; the fixed price, a dashed vertical line at 2, stands "
            "far out in its right tail, where what is left of the curve is too thin to see.")
def fixed_price(ax, sigma=2.0, epsilon=2.0):
    loss = GaussianLoss(1 / sigma)
    x = np.linspace(min(loss.mean() - 4 / sigma, -0.65 * epsilon), max(loss.mean() + 4.5 / sigma, 1.15 * epsilon), 500)
    density = np.exp(-((x - loss.mean()) * sigma) ** 2 / 2) * sigma / np.sqrt(2 * np.pi)
    ax.plot(x, density, color=BLUE, label=_("density of the loss L"))
    ax.fill_between(x, density, where=x > epsilon, color=RED, label=_("L above the price"), **SHADE)
    ax.axvline(epsilon, color=RED, linestyle="--", linewidth=1.5, label=_("fixed price ε"))
    ax.axvline(loss.mean(), color=GREY, linestyle=":", linewidth=1.5, label=_("mean loss"))
    ax.set(xlabel=_("privacy loss L"), ylabel=_("density"), ylim=(0, 1.75 * density.max()), xlim=(x[0], x[-1]))
    ax.legend(loc="upper left")
    return _("The mean loss is {mean:.4g} and P[L > ε] = {tail:.4g}. No price covers every output: at ε = {epsilon:.3g}, δ = {delta:.4g}.").format(
        mean=loss.mean(), tail=loss.tail(epsilon), epsilon=epsilon, delta=loss.delta(epsilon))


@figure("composition-routes", chapter=4, source="new", move={"epsilon": (0.02, 1.0, "log"), "k": (10, 200)},
        caption="What k runs of an ε-DP mechanism cost together at δ = 10⁻⁶: the plain sum, two closed forms, and the exact worst case.",
        alt="Four curves against the number of runs. The plain sum is a straight line; the two closed forms start far above it and cross below it after "
            "thirty and thirty-five runs; the optimal curve starts on the plain sum and lies below all of them from there on.")
def composition_routes(ax, epsilon=0.1, k=100):
    runs, delta = np.unique(np.linspace(1, k, 40).astype(int)), 1e-6
    drv = [conversions.advanced_composition(epsilon, int(n), delta)[0] for n in runs]
    shorter = np.minimum(np.log(1 / delta), np.log(np.e + epsilon * np.sqrt(runs) / delta))  # the two logarithms of the theorem
    third = runs * epsilon * np.tanh(epsilon / 2) + epsilon * np.sqrt(2 * runs * shorter)
    best = [conversions.optimal_composition([(epsilon, 0.0, int(n))]).epsilon(delta) for n in runs]
    ax.plot(runs, drv, color=PURPLE, linestyle=":", label=_("Dwork, Rothblum, Vadhan"))
    ax.plot(runs, third, color=ORANGE, linestyle="-.", label=_("Kairouz, Oh, Viswanath"))
    ax.plot(runs, runs * epsilon, color=RED, linestyle="--", label=_("plain sum kε"))
    ax.plot(runs, best, color=BLUE, label=_("optimal"))
    ax.set(xlabel=_("number of runs k"), ylabel=_("total ε at δ = 10⁻⁶"), xlim=(0, k), ylim=(0, None))
    ax.legend(loc="upper left")
    return _("After {k} runs: plain sum {plain:.4g}, the closed forms {drv:.4g} and {kov:.4g}, optimal {best:.5g}.").format(
        k=k, plain=k * epsilon, drv=drv[-1], kov=third[-1], best=best[-1])


@figure("worst-case-loss", chapter=4, source="new", move={"k": (1, 100), "epsilon": (0.05, 1.0)},
        caption="The privacy loss of k randomized responses: a binomial ladder. The plain sum is its last rung, which hardly ever happens.",
        alt="Bars of a bell-shaped distribution on evenly spaced losses, centered right of zero. A dashed line marks the epsilon that 10⁻⁶ allows; the "
            "plain sum, a dotted line, stands far to the right, where no bar can be seen.")
def worst_case_loss(ax, k=50, epsilon=0.2):
    loss = conversions.optimal_composition([(epsilon, 0.0, k)])
    total, allowed = k * epsilon, loss.epsilon(1e-6)
    ax.bar(loss.losses, np.exp(loss.log_masses), width=1.5 * epsilon, color=BLUE, alpha=0.8, label=_("probability of the loss"))
    ax.axvline(allowed, color=GREEN, linestyle="--", label=_("ε at δ = 10⁻⁶"))
    ax.axvline(total, color=RED, linestyle=":", label=_("plain sum kε"))
    ax.set(xlabel=_("total privacy loss"), ylabel=_("probability"), xlim=(-1.05 * total - epsilon, 1.05 * total + epsilon),
           ylim=(0, 1.4 * np.exp(loss.log_masses.max())))
    ax.legend(loc="upper left")
    return _("The last rung, {total:.4g}, has probability {top:.3g}. The mean loss is {mean:.4g}; δ = 10⁻⁶ allows ε = {allowed:.5g}.").format(
        total=total, top=float(np.exp(loss.log_masses[-1])), mean=loss.mean(), allowed=allowed)


@figure("mixed-deltas", chapter=4, source="S4.28", move={"k": (2, 100), "sigma": (1.0, 6.0)},
        caption="The plain sum for Gaussian queries needs a δ for each of them: keeping 'ε = 2 a query' lets the total δ grow k-fold.",
        alt="Two curves against the number of queries: the epsilon that plain sums give when the total delta is held at one in a million bends upward; the "
            "straight line through two per query lies below it, and its total delta is written at the end.")
def mixed_deltas(ax, k=20, sigma=2.0):
    loss, runs = GaussianLoss(1 / sigma), np.arange(1, k + 1)
    honest = runs * np.array([loss.epsilon(1e-6 / n) for n in runs])
    exact = np.array([GaussianLoss(np.sqrt(n) / sigma).epsilon(1e-6) for n in runs])
    ax.plot(runs, honest, color=RED, label=_("plain sum, total δ = 10⁻⁶"))
    ax.plot(runs, 2.0 * runs, color=ORANGE, linestyle="--", label=_("2 a query, total δ = k times one query's"))
    ax.plot(runs, exact, color=BLUE, linestyle="-.", label=_("exact, total δ = 10⁻⁶"))
    ax.set(xlabel=_("number of queries k"), ylabel=_("total ε"), xlim=(0, k + 0.5), ylim=(0, 1.25 * max(honest[-1], 2 * k)),
           xticks=np.unique(np.linspace(1, k, 5).astype(int)))
    ax.legend(loc="upper left")
    return _("After {k} queries the plain sum costs {honest:.4g} at δ = 10⁻⁶; {cheap:.4g} belongs to δ = {delta:.3g}; exact: {exact:.5g}.").format(
        k=k, honest=honest[-1], cheap=2.0 * k, delta=min(1.0, k * loss.delta(2.0)), exact=exact[-1])


@figure("ever-exceeded", chapter=4, source="new",
        caption="A bound for a number of runs that is fixed beforehand, read after every run, against an odometer: how often the loss has ever been above it.",
        alt="Two rising curves of probability over the number of runs, on a logarithmic axis, and a dashed line at 0.05. The first curve, of the bound that was made "
            "for one moment, crosses the dashed line and goes on rising; the second levels off below the line.")
def ever_exceeded(ax, epsilon=0.1, delta=0.05, k=3000):
    runs, drift = np.arange(1, k + 1), np.tanh(epsilon / 2)
    fixed = np.minimum(runs, runs * drift + np.sqrt(-2 * runs * np.log(delta)))  # in units of epsilon
    slope = np.sqrt(-np.log(delta) / (epsilon * drift * 100))  # the odometer's, at its best after 100 runs
    meter = ((1 + slope) * epsilon * drift * runs - np.log(delta) / slope) / epsilon
    for bound, color, style, label in ((fixed, RED, "-", _("bound for a fixed number of runs")), (meter, BLUE, "-.", _("odometer"))):
        ax.plot(runs, _ever(bound, (1 + drift) / 2), color=color, linestyle=style, label=label)
    ax.axhline(delta, color=GREY, linestyle="--", label=_("what was promised"))
    ax.set(xlabel=_("runs so far"), ylabel=_("probability of ever exceeding"), xscale="log", xlim=(1, k), ylim=(0, 4 * delta))
    ax.legend(loc="upper left")
    first, second = (line.get_ydata()[-1] for line in ax.lines[:2])
    return _("After {k} runs the loss has ever been above the fixed-number bound with probability {first:.4g}, above the odometer with {second:.4g}.").format(
        k=k, first=first, second=second)


def _ever(bound, up):
    """Exact probabilities that a walk of steps +1 (probability `up`) and -1 has been above the bound by each step."""
    size = len(bound)
    law, found = np.zeros(2 * size + 3), []
    law[size + 1] = 1.0  # place i is the sum i - size - 1
    for most in bound:
        law[1:-1] = up * law[:-2] + (1 - up) * law[2:]
        law[size + 2 + int(np.floor(most + 1e-9)):] = 0.0
        found.append(1 - law.sum())
    return np.array(found)
