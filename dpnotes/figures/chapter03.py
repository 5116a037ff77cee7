"""Figures of chapter 03: what delta means."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from dpnotes.figures._events import event_axis
from dpnotes.figures._registry import _, figure
from dpnotes.figures._style import BLUE, GREY, ORANGE, PURPLE, RED, SHADE
from dpnotes.mechanisms import Gaussian, ThresholdedCount

LN3, ROOT3 = float(np.log(3)), float(3**0.5)
EVENTS = _("outputs by probability, the most telling first")


@figure("gaussian-delta-width", chapter=3, source="F1.7", move={"epsilon": (0.2, 3.0), "sigma": (0.5, 4.0)},
        caption="The bad events of Gaussian noise, laid out by probability: their width is P[L > ε].",
        alt="A curve of the gain falling from left to right over the probability axis; left of 0.053 it lies above the dashed line at 3, and "
            "the strip of that width is shaded from top to bottom.")
def gaussian_delta_width(ax, epsilon=LN3, sigma=ROOT3):
    loss = Gaussian(sigma=sigma).privacy_loss()
    events, width, top = event_axis(loss, points=4000), loss.tail(epsilon), max(10.0, 1.3 * np.exp(epsilon))
    ax.plot(events.x, np.where(events.gain <= top, events.gain, np.nan), color=BLUE, label=_("gain exp(L)"))
    ax.axhline(np.exp(epsilon), color=RED, linestyle="--", linewidth=1.5, label=_("exp(ε)"))
    ax.fill_between([0, width], top, color=RED, label=_("bad events"), **SHADE)
    ax.set(xlabel=EVENTS, ylabel=_("gain exp(L)"), xlim=(0, 1), ylim=(0, top))
    ax.legend(loc="upper right")
    return _("Width of the bad events: P[L > ε] = {width:.6g}. They are the outputs below {output:.3f}.").format(
        width=width, output=1000.5 - sigma**2 * epsilon)


@figure("two-bad-outputs", chapter=3, source="F1.8",
        caption="The bad strip enlarged: two outputs that both count as bad, and are not equally so.",
        alt="The first tenth of the event axis. The gain falls from beyond 8 at the left edge to 2.5. A point at 0.040 lies just above the "
            "dashed line at 3; a point at 0.002 lies at 6.2, far above it.")
def two_bad_outputs(ax):
    loss = Gaussian(sigma=ROOT3).privacy_loss()
    events = event_axis(loss, 0, 0.1, 2000)
    ax.plot(events.x, np.where(events.gain <= 9, events.gain, np.nan), color=BLUE, label=_("gain exp(L)"))
    ax.axhline(3, color=RED, linestyle="--", linewidth=1.5, label=_("exp(ε) = 3"))
    for x, name in ((0.040, "O₁"), (0.002, "O₂")):
        gain = float(np.exp(loss.quantile(1 - x)))
        ax.plot([x], [gain], "o", color=PURPLE, gid=name)
        ax.annotate(_("{name}: gain {gain:.3f}").format(name=name, gain=gain), (x, gain), xytext=(x + 0.002, gain + 0.25))
    ax.fill_between([0, loss.tail(LN3)], 9, color=RED, **SHADE)
    ax.set(xlabel=EVENTS, ylabel=_("gain exp(L)"), xlim=(0, 0.1), ylim=(0, 9))
    ax.legend(loc="upper right")


def _badness(ax, epsilon: float, sigma: float, reach: float, area: bool) -> tuple[float, float]:
    """The curve e**epsilon / e**L over the event axis, and, shaded, what is missing to 1 where it is bad."""
    loss = Gaussian(sigma=sigma).privacy_loss()
    events = event_axis(loss, 0, reach, 2000)
    ratio = np.exp(np.minimum(epsilon - events.loss, 5.0))
    ax.plot(events.x, ratio, color=BLUE, label=_("exp(ε) / exp(L)"))
    ax.axhline(1, color=RED, linestyle="--", linewidth=1.5, label="1")
    if area:
        ax.fill_between(events.x, ratio, 1, where=ratio < 1, color=RED, label=_("missing to 1"), **SHADE)
    ax.set(xlabel=EVENTS, ylabel=_("exp(ε) / exp(L)"), xlim=(0, reach), ylim=(0, 1.6))
    ax.legend(loc="lower right")
    return loss.tail(epsilon), loss.delta(epsilon)


@figure("gain-inverted", chapter=3, source="F1.9",
        caption="The curve turned over: exp(ε) / exp(L) is near 0 for the worst outputs and reaches 1 where badness ends.",
        alt="A curve that rises from zero at the left edge, steeply at first, crosses the dashed line at 1 at 0.053 and goes on rising.")
def gain_inverted(ax):
    _badness(ax, LN3, ROOT3, 0.12, area=False)


@figure("gaussian-delta-area", chapter=3, source="F1.10", move={"epsilon": (0.2, 3.0), "sigma": (0.5, 4.0)},
        caption="δ as an area: each bad output counts by its probability times how bad it is, 1 − exp(ε) / exp(L).",
        alt="The rising curve of e to the epsilon over e to the L, below the dashed line at 1 on the left. The region between the curve and the "
            "line is shaded: tall at the left edge, it thins out to nothing where the curve meets the line at 0.053.")
def gaussian_delta_area(ax, epsilon=LN3, sigma=ROOT3):
    width = Gaussian(sigma=sigma).privacy_loss().tail(epsilon)
    width, area = _badness(ax, epsilon, sigma, min(1.0, max(2.2 * width, 1e-4)), area=True)
    return _("Width P[L > ε] = {width:.6g}; area δ = {area:.6g}, {share:.0%} of the width.").format(
        width=width, area=area, share=area / width)


@figure("distinguishing-events", chapter=3, source="F1.11", move={"threshold": (1.5, 6.0)},
        caption="A thresholded count: all bad events are distinguishing ones, so width and area agree.",
        alt="A curve of e to the epsilon over e to the L: zero over a narrow strip at the left edge, where the whole height up to 1 is shaded, "
            "then a jump to a level far above 1.")
def distinguishing_events(ax, threshold=3.0):
    mechanism = ThresholdedCount(scale=1 / LN3, threshold=threshold)
    loss = mechanism.privacy_losses()["remove the only one"]
    width, level = loss.tail(LN3), 3 / np.exp(loss.minimum)
    ax.plot([0, width], [0, 0], color=BLUE, label=_("exp(ε) / exp(L)"))
    ax.plot([width, 1], [level, level], color=BLUE)
    ax.axhline(1, color=RED, linestyle="--", linewidth=1.5, label="1")
    ax.fill_between([0, width], 0, 1, color=RED, label=_("missing to 1"), **SHADE)
    ax.set(xlabel=EVENTS, ylabel=_("exp(ε) / exp(L)"), xlim=(0, 1), ylim=(-0.08, 5))
    ax.legend(loc="upper right")
    return _("Published with probability {width:.6g}: that is the width P[L > ε], and the area δ = {area:.6g}. Otherwise the gain is "
             "{gain:.4f}.").format(width=width, area=loss.delta(LN3), gain=np.exp(loss.minimum))


@figure("width-and-area", chapter=3, source="new", move={"sigma": (0.5, 4.0)},
        caption="Width and area against ε: the area δ always lies below, and falls away faster.",
        alt="Two curves over epsilon from 0 to 6 on a logarithmic scale, both falling. The solid one, the area delta, starts below the dashed one, "
            "the width, and the gap between them grows.")
def width_and_area(ax, sigma=ROOT3):
    loss = Gaussian(sigma=sigma).privacy_loss()
    epsilon = np.linspace(0, 6, 241)
    ax.plot(epsilon, loss.tail(epsilon), color=RED, linestyle="--", label=_("width P[L > ε]"))
    ax.plot(epsilon, loss.delta(epsilon), color=BLUE, label=_("area δ"))
    ax.set(xlabel="ε", ylabel=_("probability"), yscale="log", xlim=(0, 6), ylim=(1e-12, 1))
    ax.legend(loc="lower left" if sigma < 1.3 else "upper right")
    return _("At δ = 10⁻⁵ the area allows ε = {area:.4f}; the width would charge {width:.4f}.").format(
        area=loss.epsilon(1e-5), width=loss.quantile(1 - 1e-5))


@figure("best-set", chapter=3, source="after 001", move={"epsilon": (0.0, 3.0)},
        caption="Which set of outputs tells most? P[S] − exp(ε) Q[S] for the sets S of all outputs below t; the top of the curve is δ.",
        alt="A curve over the threshold t that rises from 0, has one maximum, marked with a dot at about 997.2 and height 0.0106, then falls "
            "far below zero.")
def best_set(ax, epsilon=LN3, sigma=ROOT3):
    t = np.linspace(992, 1006, 561)
    excess = ndtr((t - 1000) / sigma) - np.exp(epsilon) * ndtr((t - 1001) / sigma)
    delta, best = Gaussian(sigma=sigma).privacy_loss().delta(epsilon), 1000.5 - sigma**2 * epsilon
    ax.plot(t, excess, color=BLUE, label=_("P[S] − exp(ε) Q[S], S = outputs below t"))
    ax.axhline(0, color=GREY, linewidth=0.8)
    ax.plot([best], [delta], "o", color=RED, label=_("the best set"))
    ax.set(xlabel=_("t"), ylabel=_("excess"), xlim=(992, 1006), ylim=(-2.2 * max(delta, 0.01), 1.4 * max(delta, 0.01)))
    ax.legend(loc="upper right")
    return _("The best set is all outputs below {best:.3f}; its excess is δ = {delta:.6g}.").format(best=best, delta=delta)


@figure("merge-breaks-width", chapter=3, source="F2.6", move={"common": (0.05, 0.9)},
        caption="Merging two outputs: the width P[L > ln 2] jumps from 0.05 to 0.45, the area δ does not move.",
        alt="Two groups of bars for P and Q. Before merging, output a has probability 0.05 under P and none under Q, b has 0.40 against 0.20, c 0.55 "
            "against 0.80. After merging a and b the bars read 0.45 against 0.20 and 0.55 against 0.80.", panels=(1, 2))
def merge_breaks_width(axes, common=0.40):
    before = np.array([[0.05, common, 0.95 - common], [0.0, common / 2, 1 - common / 2]])
    after = np.array([[0.05 + common, 0.95 - common], [common / 2, 1 - common / 2]])
    for ax, table, names in ((axes[0], before, ["a", "b", "c"]), (axes[1], after, [_("a or b"), "c"])):
        place = np.arange(len(names))
        ax.bar(place - 0.2, table[0], 0.38, color=BLUE, label="P")
        ax.bar(place + 0.2, table[1], 0.38, color=ORANGE, hatch="//", edgecolor="white", label="Q")
        ax.set(xticks=place, ylim=(0, 1.05))
        ax.set_xticklabels(names)
    axes[0].set(ylabel=_("probability"), xlabel=_("before"))
    axes[1].set(xlabel=_("after merging a and b"))
    axes[0].legend(loc="upper left")
    return _("Before, only a is worse than 2 to 1, so the width at ε = ln 2 is 0.05. After, a or b stands at {ratio:.3f} to 1 and the width is "
             "{width:.2f}. The area is 0.05 both times.").format(ratio=after[0, 0] / after[1, 0], width=after[0, 0])
