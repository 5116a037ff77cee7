"""Figures of chapter 02: the privacy-loss random variable."""

from __future__ import annotations

import numpy as np

from dpnotes.figures._events import event_axis
from dpnotes.figures._registry import _, figure
from dpnotes.figures._style import BLUE, GREEN, GREY, PURPLE, RED, SHADE
from dpnotes.mechanisms import Gaussian, Laplace

LN3 = float(np.log(3))


@figure("laplace-three-outputs", chapter=2, source="F1.2", move={"output": (997.0, 1004.0), "prior": (0.05, 0.95)},
        caption="One output, two explanations: the heights of the two densities at the output are the evidence.",
        alt="The two tents of Laplace noise around 1000 and 1001, with a vertical line at the observed output. Where the line crosses the "
            "two curves, a dot marks each height; the ratio of the heights is the factor by which the odds change.")
def laplace_three_outputs(ax, output=999.0, prior=0.5):
    y = np.linspace(996, 1005, 901)
    heights = []
    for center, color, line, mark, name in ((1000, BLUE, "-", "o", "D₁: 1000"), (1001, RED, "--", "s", "D₂: 1001")):
        ax.plot(y, LN3 / 2 * np.exp(-LN3 * np.abs(y - center)), color=color, linestyle=line, label=name)
        heights.append(LN3 / 2 * np.exp(-LN3 * abs(output - center)))
        ax.plot([output], heights[-1:], mark, color=color, markersize=8, gid=f"height under {name}")
    ax.axvline(output, color=GREY, linewidth=1)
    ax.set(xlabel=_("published count"), ylabel=_("probability density"), xlim=(996, 1005), ylim=(0, 0.62))
    ax.legend(loc="upper right")
    gain = heights[0] / heights[1]
    posterior = prior * gain / (1 - prior + prior * gain)
    return _("Output {output:g}: the odds of D₁ are multiplied by {gain:.4g} (loss {loss:+.3f}), which takes its probability from "
             "{prior:.0%} to {posterior:.1%}.").format(output=output, gain=gain, loss=np.log(gain), prior=prior, posterior=posterior)


@figure("laplace-loss-by-output", chapter=2, source="F1.3",
        caption="The privacy loss of Laplace noise, output by output: flat, a straight slope, flat.",
        alt="A line that runs level at 1.0986 up to output 1000, falls in a straight slope through zero at 1000.5 to minus 1.0986 at 1001, "
            "and runs level again. A dashed line at epsilon lies on the first level part and nothing rises above it.")
def laplace_loss_by_output(ax, epsilon=LN3):
    y = np.array([996, 1000, 1001, 1005.0])
    ax.plot(y, np.array([1, 1, -1, -1]) * epsilon, color=BLUE, label=_("privacy loss L"))
    ax.axhline(epsilon, color=RED, linestyle="--", linewidth=1.5, label=_("ε = {epsilon:.4g}").format(epsilon=epsilon))
    ax.axhline(0, color=GREY, linewidth=0.8)
    for output, name, lift in ((999, "O₁", -0.32), (1000.5, "O₂", 0.0), (1002, "O₃", 0.2)):
        value = epsilon * np.clip(1 - 2 * (output - 1000), -1, 1)
        ax.plot([output], [value], "o", color=PURPLE, gid=name)
        ax.annotate(name, (output, value), xytext=(output + 0.15, value + lift))
    ax.set(xlabel=_("published count"), ylabel=_("privacy loss L (nats)"), xlim=(996, 1005), ylim=(-1.45, 1.45))
    ax.legend(loc="lower left")


@figure("laplace-gain-by-event", chapter=2, source="F1.4", move={"epsilon": (0.3, 2.5)},
        caption="The gain exp(L) of Laplace noise with every output given its probability as width: half of all outputs are the worst ones.",
        alt="A curve over the probability axis from 0 to 1: level at 3 up to one half, then falling in a curve, crossing 1 near 0.71, to one "
            "third at five sixths, and level from there. A dashed line at e to the epsilon touches the first level part from above.")
def laplace_gain_by_event(ax, epsilon=LN3):
    loss = Laplace(scale=1 / epsilon).privacy_loss()
    events = event_axis(loss)
    ax.plot(events.x, events.gain, color=BLUE, label=_("gain exp(L)"))
    ax.fill_between(events.x, events.gain, color=BLUE, **SHADE)
    ax.axhline(np.exp(epsilon), color=RED, linestyle="--", linewidth=1.5, label=_("exp(ε)"))
    ax.axhline(1, color=GREY, linewidth=0.8)
    ax.set(xlabel=_("outputs by probability, the most telling first"), ylabel=_("gain exp(L)"), xlim=(0, 1), ylim=(0, 1.4 * np.exp(epsilon)))
    ax.legend(loc="upper right")
    return _("Worst gain {worst:.4g} with probability one half; mean gain {mean:.4f}; mean loss {loss:.4f} nats; the gain is below 1 for "
             "{misled:.1%} of the outputs.").format(worst=np.exp(epsilon), mean=np.exp(loss.renyi(2)), loss=loss.mean(), misled=loss.cdf(0))


@figure("gaussian-densities", chapter=2, source="F1.5", move={"sigma": (0.7, 4.0)},
        caption="The count 1000 and its neighbor 1001 after Gaussian noise.",
        alt="Two bell-shaped densities of the same width, one centered at 1000, the other, dashed, at 1001; they overlap almost everywhere.")
def gaussian_densities(ax, sigma=3**0.5):
    y = np.linspace(994, 1007, 651)
    for center, color, line, name in ((1000, BLUE, "-", "D₁: 1000"), (1001, RED, "--", "D₂: 1001")):
        density = np.exp(-(((y - center) / sigma) ** 2) / 2) / (sigma * np.sqrt(2 * np.pi))
        ax.plot(y, density, color=color, linestyle=line, label=name)
        ax.fill_between(y, density, color=color, **SHADE)
    ax.set(xlabel=_("published count"), ylabel=_("probability density"), xlim=(994, 1007), ylim=(0, 0.6 if sigma < 1.3 else 0.32))
    ax.legend(loc="upper right")
    return _("Standard deviation {sigma:.4g}, variance {variance:.4g}; peak height {peak:.6f}.").format(
        sigma=sigma, variance=sigma**2, peak=1 / (sigma * np.sqrt(2 * np.pi)))


@figure("gaussian-gain-by-event", chapter=2, source="F1.6", move={"sigma": (0.7, 4.0)},
        caption="The gain exp(L) of Gaussian noise over the event axis: it has no largest value.",
        alt="A curve over the probability axis that shoots up without bound at the left edge, falls steeply through the dashed line at 3 near "
            "0.05, crosses 1 near 0.61 and goes to zero at the right edge.")
def gaussian_gain_by_event(ax, sigma=3**0.5):
    loss = Gaussian(sigma=sigma).privacy_loss()
    events = event_axis(loss, points=4000)
    ax.plot(events.x, np.where(events.gain <= 10, events.gain, np.nan), color=BLUE, label=_("gain exp(L)"))
    ax.axhline(3, color=RED, linestyle="--", linewidth=1.5, label=_("exp(ε) = 3"))
    ax.axhline(1, color=GREY, linewidth=0.8)
    ax.set(xlabel=_("outputs by probability, the most telling first"), ylabel=_("gain exp(L)"), xlim=(0, 1), ylim=(0, 10))
    ax.legend(loc="upper right")
    return _("The gain exceeds 3 for {over:.2%} of the outputs and 10 for {ten:.3%}; it is above 1 for {up:.1%} of them.").format(
        over=loss.tail(LN3), ten=loss.tail(np.log(10)), up=loss.tail(0))


@figure("loss-laws", chapter=2, source="new", move={"epsilon": (0.3, 2.5)},
        caption="Three mechanisms with the same pure or mean loss in view: how P[L ≤ l] climbs for randomized response, Laplace and Gaussian noise.",
        alt="Three distribution functions of the privacy loss. Randomized response makes two steps, at minus epsilon and plus epsilon. Laplace "
            "noise steps at both ends and curves between. Gaussian noise with the same mean loss as Laplace is a smooth S that passes both ends.")
def loss_laws(ax, epsilon=LN3):
    from dpnotes.mechanisms import RandomizedResponse

    laplace = Laplace(scale=1 / epsilon).privacy_loss()
    gaussian = Gaussian(sigma=1 / np.sqrt(2 * laplace.mean())).privacy_loss()
    response = RandomizedResponse(epsilon).privacy_loss()
    x = np.linspace(-1.9 * epsilon, 1.9 * epsilon, 761)
    for loss, color, line, name in ((response, GREEN, ":", _("randomized response")), (laplace, BLUE, "-", _("Laplace")),
                                    (gaussian, RED, "--", _("Gaussian"))):
        ax.plot(x, loss.cdf(x), color=color, linestyle=line, label=name)
    ax.axvline(epsilon, color=GREY, linewidth=0.8)
    ax.axvline(-epsilon, color=GREY, linewidth=0.8)
    ax.set(xlabel=_("loss l (nats)"), ylabel=_("P[L ≤ l]"), xlim=(x[0], x[-1]), ylim=(-0.02, 1.02))
    ax.legend(loc="upper left")
    return _("Mean losses: randomized response {response:.4f}, Laplace {laplace:.4f}, Gaussian {gaussian:.4f}; the Gaussian one exceeds ε "
             "with probability {over:.4f}.").format(response=response.mean(), laplace=laplace.mean(), gaussian=gaussian.mean(),
                                                    over=gaussian.tail(epsilon))
