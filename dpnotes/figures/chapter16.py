"""Chapter 16: leakage and cost. Two adversaries, one density."""

from __future__ import annotations

import numpy as np

from dpnotes.figures import _style
from dpnotes.figures._registry import _, figure
from dpnotes.figures._simplex import PRIOR_MOVES, SYMBOLS, place, prior3, triangle, words
from dpnotes.figures._style import BLUE, GREEN, GREY, INK, ORANGE, PURPLE, RED
from dpnotes.information_density import (
    JointLaw,
    bettor,
    burglar,
    doubter,
    guesser,
    ldp_to_pmc,
    ldp_to_pml,
    pmc_to_pml,
    pml_to_pmc,
    randomized_response,
    randomized_response_pmc,
    randomized_response_pml,
)
from dpnotes.information_density._design import posterior_corners

# A channel without symmetry, so that every output has its own story.
CHANNEL = np.array([[0.60, 0.25, 0.15], [0.30, 0.60, 0.10], [0.05, 0.35, 0.60]])


@figure("bettor-and-burglar", chapter=16, source="003", panels=(1, 2), move=PRIOR_MOVES | {"output": (0, 2)},
        caption="One output, two adversaries: the bettor takes the secret that the output lifts most, the burglar the one it "
                "lowers most. B gets the given share of what A leaves.",
        alt="Left, for the secrets A, B and C, a hollow bar for the prior beside a filled bar for the belief after the output. "
            "Right, what a fair bet of 1 on each secret is worth now: a dashed line at 1 is its worth before. An upward mark "
            "stands on the tallest bar, the bettor's, a downward mark on the shortest, the burglar's.")
def bettor_and_burglar(axes, prior_of_A=0.2, share_of_B=0.375, output=2):
    law = JointLaw(prior3(prior_of_A, share_of_B), CHANNEL)
    lift, x = np.exp(law.density[:, output]), np.arange(3)
    axes[0].bar(x - 0.2, law.prior, 0.36, facecolor="white", edgecolor=INK, linewidth=1.4, label=_("before"))
    axes[0].bar(x + 0.2, law.posterior[:, output], 0.36, color=GREY, label=_("after"))
    axes[0].set(ylim=(0, 1.18), ylabel=_("belief"), yticks=[0, 0.5, 1])
    axes[0].legend(loc="upper left", ncols=2, columnspacing=1.0, handlelength=1.2)
    best, worst = bettor(law).choice(law, output), burglar(law).choice(law, output)
    axes[1].bar(x, lift, 0.5, color=[BLUE if i == best else RED if i == worst else GREY for i in x], label=_("worth of a fair bet"))
    axes[1].axhline(1, color=INK, linestyle="--", linewidth=1.2)
    top = max(1.35 * lift.max(), 2.6)
    for i, mark, name, color in ((best, "▲", _("bettor"), BLUE), (worst, "▼", _("burglar"), RED)):
        axes[1].text(i, lift[i] + 0.02 * top, f"{mark} {name}\n{lift[i]:.2f}", ha="center", va="bottom", color=color,
                     bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5})
    axes[1].set(xlim=(-0.75, 2.75), ylim=(0, top), ylabel=_("lift: after / before"))
    for ax in axes:
        ax.set_xticks(x, SYMBOLS)
    return (f"Prior {words(law.prior)}, output {SYMBOLS[output]}: the bettor's lift is {lift[best]:.3f}, so PML = {law.pml(output):.3f}; "
            f"the burglar's is {lift[worst]:.3f}, so PMC = {law.pmc(output):.3f}; together {law.ldp(output):.3f}, the LDP of this output.")


@figure("density-ladder", chapter=16, source="003", move=PRIOR_MOVES,
        caption="The information density of every secret at every output. Moving the prior slides each ladder up or down; "
                "its length, the LDP of the output, stays.",
        alt="Three vertical ladders, one for each output. Each has three rungs marked A, B and C at the height of the information "
            "density; a blue stretch reaches from 0 up to the top rung, a red stretch from 0 down to the bottom rung.")
def density_ladder(ax, prior_of_A=0.2, share_of_B=0.375):
    law = JointLaw(prior3(prior_of_A, share_of_B), CHANNEL)
    for y in range(3):
        ax.plot([y, y], [0, law.pml(y)], color=BLUE, linewidth=7, alpha=0.75, solid_capstyle="butt", gid=f"leakage of {SYMBOLS[y]}")
        ax.plot([y, y], [-law.pmc(y), 0], color=RED, linewidth=7, alpha=0.75, solid_capstyle="butt", gid=f"cost of {SYMBOLS[y]}")
        for x in range(3):
            ax.plot([y - 0.13, y + 0.13], [law.density[x, y]] * 2, color=INK, linewidth=1.6, gid=f"i({SYMBOLS[x]}; {SYMBOLS[y]})")
            # each name has a place of its own, so that rungs that meet stay readable
            ax.text(y + (-0.18, -0.27, 0.18)[x], law.density[x, y], SYMBOLS[x], va="center", ha="center")
        ax.text(y + 0.30, law.pml(y) / 2, f"{law.pml(y):.2f}", color=BLUE, va="center")
        ax.text(y + 0.30, -law.pmc(y) / 2, f"{law.pmc(y):.2f}", color=RED, va="center")
    ax.axhline(0, color=INK, linestyle="--", linewidth=1)
    ax.set(xlim=(-0.5, 2.75), ylim=(-2.55, 2.55), xticks=range(3), ylabel=_("information density, nats"))
    ax.set_xticklabels([_("output ") + s for s in SYMBOLS])
    ax.text(2.72, 2.3, _("leakage"), color=BLUE, ha="right")
    ax.text(2.72, -2.4, _("cost"), color=RED, ha="right")
    return f"Prior {words(law.prior)}: " + "; ".join(
        f"output {SYMBOLS[y]} PML {law.pml(y):.3f} + PMC {law.pmc(y):.3f} = LDP {law.ldp(y):.3f}" for y in range(3)) + "."


@figure("rr-leakage-and-cost", chapter=16, source="F3.2", move=PRIOR_MOVES,
        caption="Randomized response on three symbols: leakage and cost of each output against the LDP parameter.",
        alt="Three rising lines for cost, lowest for the rarest symbol and highest for the commonest, and three dashed lines for "
            "leakage in the opposite order that level off at the logarithm of one over the prior.")
def rr_leakage_and_cost(ax, prior_of_A=0.2, share_of_B=0.375, epsilon=1.0):
    prior, grid = prior3(prior_of_A, share_of_B), np.linspace(0, 4, 81)
    for p, name, color in zip(prior, SYMBOLS, (GREEN, PURPLE, ORANGE), strict=True):
        ax.plot(grid, randomized_response_pmc(grid, p), color=color, label=_("cost of ") + name)
        ax.plot(grid, randomized_response_pml(grid, p), color=color, linestyle="--", label=_("leakage of ") + name)
    ax.axvline(epsilon, color=GREY, linewidth=1, linestyle=":")
    ax.set(xlim=(0, 4), ylim=(0, 4), xlabel=_("ε of randomized response"), ylabel=_("nats"))
    ax.legend(loc="upper left")
    law = randomized_response(prior, epsilon)
    return (f"Prior {words(prior)}, ε = {epsilon:.3g}: worst PMC {law.pmc_epsilon():.4f} (the commonest symbol), worst PML "
            f"{law.pml_epsilon():.4f} (the rarest); at each output they add up to {law.ldp_epsilon():.4g}.")


@figure("leakage-to-cost", chapter=16, source="F3.1", move={"smallest_prior": (0.02, 0.5)}, size=(6.4, 4.0),
        caption="What a bound on leakage says about cost, and back. Beyond the vertical line a bound on leakage says nothing.",
        alt="Solid curves, one for each smallest prior 0.1, 0.2, 0.5 and the chosen one, rise from the origin and shoot up at a "
            "dotted vertical line each. A dashed curve for the way back leaves the solid one, rises and stays below the logarithm "
            "of one over the smallest prior.")
def leakage_to_cost(ax, smallest_prior=0.2):
    cost = np.linspace(0, 4.8, 160)
    for p in (0.1, 0.2, 0.5):
        u = np.log1p(-p * np.exp(-cost)) - np.log1p(-p)  # the leakage at which the map gives this cost
        ax.plot(u, pml_to_pmc(u, p), color=GREY, linewidth=1.2, gid=f"smallest prior {p}")
        ax.text(u[-1], 4.9, f"{p}", color=GREY, ha="center")
    edge = -np.log1p(-smallest_prior)
    u = edge + np.log1p(-smallest_prior * np.exp(-cost))
    ax.plot(u, pml_to_pmc(u, smallest_prior), color=RED, label=_("PML at most x: cost at most"))
    ax.plot([edge, edge], [0, 4.8], color=RED, linestyle=":", linewidth=1.3, gid="where the bound ends")
    ax.plot(pmc_to_pml(cost, smallest_prior), cost, color=BLUE, linestyle="--", label=_("PMC at most y: leakage at most"))
    ax.set(xlim=(0, 1.7), ylim=(0, 6.4), xlabel=_("leakage, nats"), ylabel=_("cost, nats"))
    ax.legend(loc="upper right")
    near, far = 0.8 * edge, pml_to_pmc(0.8 * edge, smallest_prior)
    return (f"Smallest prior {smallest_prior:.3g}: only leakage below {edge:.4f} bounds the cost; leakage {near:.4f} means cost at most "
            f"{far:.4f}, and that cost allows leakage up to {pmc_to_pml(far, smallest_prior):.4f}.")


# Boxes by their middle; arrows by start, end, place of the label and its alignment.
_BOXES = {"LDP": (0.5, 0.92), "PMC": (0.08, 0.5), "PML": (0.92, 0.5), "LIP": (0.5, 0.08)}
_ARROWS = {
    "LDP to PMC": ((0.37, 0.88), (0.07, 0.60), (0.19, 0.78), "right"), "PMC to LDP": ((0.13, 0.60), (0.41, 0.84), (0.30, 0.68), "left"),
    "LDP to PML": ((0.63, 0.88), (0.93, 0.60), (0.81, 0.78), "left"), "PML to LDP": ((0.87, 0.60), (0.59, 0.84), (0.70, 0.68), "right"),
    "PMC to PML": ((0.24, 0.53), (0.76, 0.53), (0.50, 0.555), "center"), "PML to PMC": ((0.76, 0.47), (0.24, 0.47), (0.50, 0.405), "center"),
    "LIP to PMC": ((0.38, 0.13), (0.09, 0.40), (0.20, 0.24), "right"), "LIP to PML": ((0.62, 0.13), (0.91, 0.40), (0.80, 0.24), "left"),
}


@figure("implications", chapter=16, source="F3.5", move={"epsilon": (0.05, 3.0), "smallest_prior": (0.05, 0.5)}, size=(6.4, 4.4),
        caption="What a bound ε on one measure implies for another, on a finite alphabet whose every secret has positive prior.",
        alt="Four boxes: LDP above, PMC left, PML right, LIP below, joined by arrows. At each arrow stands the bound it implies. The "
            "two arrows that leave PML for PMC and LDP turn red and dashed, with the mark of infinity, once ε is too large.")
def implications(ax, epsilon=1.0, smallest_prior=0.2):
    e, p = epsilon, smallest_prior
    cost, leakage = pml_to_pmc(e, p), pmc_to_pml(e, p)
    implied = {"LDP to PMC": ldp_to_pmc(e, p), "PMC to LDP": e + leakage, "LDP to PML": ldp_to_pml(e, p), "PML to LDP": e + cost,
               "PMC to PML": leakage, "PML to PMC": cost, "LIP to PMC": e, "LIP to PML": e}
    for name, (start, end, label, align) in _ARROWS.items():
        holds = np.isfinite(implied[name])
        color, line = (INK, "-") if holds else (RED, "--")
        ax.plot(*zip(start, end, strict=True), color=color, linestyle=line, linewidth=1.4, gid=name)
        ax.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "color": color, "linewidth": 0, "shrinkA": 0, "shrinkB": 0})
        ax.text(*label, f"{name[-3:]} ≤ {implied[name]:.2f}" if holds else f"{name[-3:]}: ∞", color=color, ha=align, va="bottom")
    for name, place_of in _BOXES.items():
        ax.text(*place_of, f"{name} ≤ {e:.2f}", ha="center", va="center", fontweight="bold",
                bbox={"boxstyle": "round,pad=0.5", "facecolor": "white", "edgecolor": BLUE, "linewidth": 1.6})
    ax.set(xlim=(-0.1, 1.1), ylim=(0, 1))
    ax.axis("off")
    return (f"ε = {e:.3g}, smallest prior {p:.3g}: LDP gives PMC ≤ {implied['LDP to PMC']:.4f} and PML ≤ {implied['LDP to PML']:.4f}; PMC gives "
            f"PML ≤ {leakage:.4f}; PML gives " + (f"PMC ≤ {cost:.4f}." if np.isfinite(cost) else f"nothing, since ε ≥ {-np.log1p(-p):.4f}."))


@figure("belief-triangle", chapter=16, source="003", size=(6.4, 4.0),
        move=PRIOR_MOVES | {"pmc_budget": (0.05, 2.0), "pml_budget": (0.05, 2.0), "epsilon": (0.0, 4.0)},
        caption="Beliefs as points of a triangle: the prior, the beliefs after each output of randomized response, and the region "
                "that a budget for cost and a budget for leakage leave.",
        alt="A triangle with corners A, B, C. A dot marks the prior; around it a shaded polygon holds the beliefs within both budgets. "
            "Three squares, the beliefs after the outputs of randomized response, stand on lines from the prior to the corners.")
def belief_triangle(ax, prior_of_A=0.2, share_of_B=0.375, pmc_budget=0.5, pml_budget=0.4, epsilon=1.0):
    law = randomized_response(prior3(prior_of_A, share_of_B), epsilon)
    triangle(ax)
    corners = place(posterior_corners(law.prior, pmc_budget, pml_budget))
    around = corners - place(law.prior)
    corners = corners[np.argsort(np.arctan2(around[:, 1], around[:, 0]))]
    ax.fill(*corners.T, color=GREEN, **_style.SHADE)
    ax.plot(*np.vstack([corners, corners[:1]]).T, color=GREEN, linewidth=1.4, label=_("within both budgets"))
    for y, name in enumerate(SYMBOLS):
        ax.plot(*place(np.stack([law.prior, law.posterior[:, y]])).T, color=GREY, linewidth=1, linestyle=":", gid=f"to {name}")
        ax.plot(*place(law.posterior[:, y]), "s", color=RED, markersize=7, label=_("after an output") if y == 0 else None, gid=f"after {name}")
    ax.plot(*place(law.prior), "o", color=INK, markersize=8, label=_("prior"))
    ax.set_xlim(-0.15, 1.6)  # room for the legend
    ax.legend(loc="upper right")
    inside = (law.pmc() <= pmc_budget + 1e-12) & (law.pml() <= pml_budget + 1e-12)
    return (f"Prior {words(law.prior)}, budgets PMC ≤ {pmc_budget:.3g} and PML ≤ {pml_budget:.3g}: of the three outputs of randomized response "
            f"at ε = {epsilon:.3g}, {int(inside.sum())} keep to both; its worst PMC is {law.pmc_epsilon():.3f}, its worst PML {law.pml_epsilon():.3f}.")


@figure("nearly-ruled-out", chapter=16, source="S3.13", move={"prior_of_A": (0.05, 0.95)},
        caption="Two secrets. B gives output 1 half of the time, A with the probability on the axis. As it falls to 0 the cost of "
                "output 1 grows without bound, its leakage does not: the asymmetry needs no infinite alphabet.",
        alt="Against a logarithmic axis, a red line for cost falls from upper left to 0 at one half; a blue dashed line for "
            "leakage stays below a dotted level, the logarithm of one over B's prior.")
def nearly_ruled_out(ax, prior_of_A=0.5):
    slips = np.geomspace(1e-6, 0.5, 80)
    laws = [JointLaw([prior_of_A, 1 - prior_of_A], [[1 - slip, slip], [0.5, 0.5]]) for slip in slips]
    ax.plot(slips, [law.pmc(1) for law in laws], color=RED, label=_("cost"))
    ax.plot(slips, [law.pml(1) for law in laws], color=BLUE, linestyle="--", label=_("leakage"))
    cap = -np.log(1 - prior_of_A)
    ax.axhline(cap, color=BLUE, linestyle=":", linewidth=1.2)
    ax.set(xscale="log", xlim=(1e-6, 0.5), ylim=(0, 14), xlabel=_("probability that A gives output 1"), ylabel=_("nats, at output 1"))
    ax.legend(loc="upper right")
    return (f"Prior of A {prior_of_A:.3g}: at one in a million the cost is {laws[0].pmc(1):.3f} and the leakage {laws[0].pml(1):.3f}; in the limit, "
            f"a Z-channel, the cost is infinite and the leakage log(1 / P(B)) = {cap:.4f}.")


@figure("guesser-and-doubter", chapter=16, source="S3.17", panels=(1, 2), move=PRIOR_MOVES | {"output": (0, 2)},
        caption="The same two numbers from guesses of a randomized function of the secret: how often the guesser is right, how often the "
                "doubter is wrong, before and after the output.",
        alt="Two panels with two bars each, before and after the output: left, the guesser's chance to be right, which rises; right, "
            "the doubter's chance to be wrong, which falls.")
def guesser_and_doubter(axes, prior_of_A=0.2, share_of_B=0.375, output=2):
    law = JointLaw(prior3(prior_of_A, share_of_B), CHANNEL)
    told = []
    for ax, make, color, label in ((axes[0], guesser, BLUE, _("guesser is right")), (axes[1], doubter, RED, _("doubter is wrong"))):
        adversary = make(law, output)
        values = [adversary.before(law), adversary.after(law)[output]]
        ax.bar([0, 1], values, 0.55, color=[GREY, color], label=label)
        for x, value in enumerate(values):
            ax.text(x, value + 0.015, f"{value:.3f}", ha="center")
        ax.set(ylim=(0, 1), xlim=(-0.6, 1.6), ylabel=label)
        ax.set_xticks([0, 1], [_("before"), _("after")])
        told.append(f"the {adversary.name}'s chance goes from {values[0]:.3f} to {values[1]:.3f}, {adversary.advantage(law)[output]:.3f} nats")
    return f"Prior {words(law.prior)}, output {SYMBOLS[output]}: {told[0]} (PML); {told[1]} (PMC)."
