"""Chapter 17: from density to LDP. Mechanisms, composition, general spaces, design."""

from __future__ import annotations

import numpy as np
from matplotlib.colors import BoundaryNorm

from dpnotes.figures._registry import _, figure
from dpnotes.figures._simplex import PRIOR_MOVES, SYMBOLS, prior3, words
from dpnotes.figures._style import BLUE, GREEN, GREY, INK, ORANGE, PURPLE, RED
from dpnotes.information_density import (
    ClaytonMixture,
    GaussianNoise,
    LaplaceNoise,
    PointPrior,
    UniformPrior,
    best_channel,
    ldp_to_pmc,
    mean_cost,
    randomized_response,
    randomized_response_pmc,
    rarest_or_not,
)


@figure("laplace-leakage-and-cost", chapter=17, source="F3.3", move={"scale": (0.2, 3.0)},
        caption="Laplace noise on a secret uniform on [0, 1]: leakage and cost of each output.",
        alt="A solid curve for cost with its valley at 0.5 and flat stretches outside [0, 1], a dashed curve for leakage of the same shape "
            "below it, and above both a dotted line, the LDP parameter, which the two flat stretches add up to.")
def laplace_leakage_and_cost(ax, scale=0.5):
    noise, y = LaplaceNoise(UniformPrior(0, 1), scale=scale), np.linspace(-0.6, 1.6, 221)
    ax.axvspan(0, 1, color=GREY, alpha=0.10, linewidth=0)
    ax.plot(y, noise.pmc(y), color=RED, label=_("cost"))
    ax.plot(y, noise.pml(y), color=BLUE, linestyle="--", label=_("leakage"))
    ax.axhline(noise.ldp_epsilon(), color=INK, linestyle=":", linewidth=1.4, label=_("LDP: 1/b"))
    ax.set(xlim=(-0.6, 1.6), ylim=(0, 1.35 * noise.ldp_epsilon()), xlabel=_("output"), ylabel=_("nats"))
    ax.legend(loc="upper center", ncols=3)
    return (f"b = {scale:.3g}: cost at most {noise.pmc_epsilon():.4f} and leakage at most {noise.pml_epsilon():.4f}, both for every output outside "
            f"[0, 1], where they add up to 1/b = {noise.ldp_epsilon():.4g}; at 0.5 they are {noise.pmc(0.5):.4f} and {noise.pml(0.5):.4f}.")


@figure("gaussian-leakage-and-cost", chapter=17, source="003", move={"sigma": (0.4, 3.0), "prior_of_1": (0.05, 0.95)},
        caption="Gaussian noise on one bit: the leakage of an output never exceeds log(1 / p_min), its cost has no bound.",
        alt="A solid curve for cost that falls and then rises without bound to both sides, a dashed curve for leakage that levels off on "
            "both sides, and a light hump for how likely each output is.")
def gaussian_leakage_and_cost(ax, sigma=1.0, prior_of_1=0.5):
    noise = GaussianNoise(PointPrior([0, 1], [1 - prior_of_1, prior_of_1]), sigma=sigma)
    y = np.linspace(-5, 6, 331)
    hump = np.exp(noise._log_mean(y))
    ax.fill_between(y, 2.5 * hump / hump.max(), color=GREY, alpha=0.18, linewidth=0, label=_("how likely (no scale)"))
    cost = noise.pmc(y)
    ax.plot(y[cost < 6], cost[cost < 6], color=RED, label=_("cost"))  # PMC is convex: one piece
    ax.plot(y, noise.pml(y), color=BLUE, linestyle="--", label=_("leakage"))
    ax.set(xlim=(-5, 6), ylim=(0, 7.2), xlabel=_("output"), ylabel=_("nats"))
    ax.legend(loc="upper center", ncols=3)
    return (f"σ = {sigma:.3g}, P(1) = {prior_of_1:.3g}: at output 5 the cost is {noise.pmc(5.0):.4f}, at 10 {noise.pmc(10.0):.4f}; leakage never exceeds "
            f"{-np.log(min(prior_of_1, 1 - prior_of_1)):.4f}. The cost exceeds 1 nat with probability {noise.pmc_delta(1.0):.4g}.")


@figure("mean-of-n", chapter=17, source="S3.11", move={"scale": (0.02, 0.5, "log")},
        caption="The mean of n uniform entries with Laplace noise: what is the secret? One entry, the whole database, or entries that are "
                "all equal. The bound 1/(n b) holds for one entry among independent ones, and for nothing else here.",
        alt="Against the number of entries on a logarithmic axis: a solid falling line for one entry, a dotted falling line above it for "
            "its bound, a dashed line for the whole database that levels off far above, and a dash-dotted level line at the top.")
def mean_of_n(ax, scale=0.2):
    entry, n = UniformPrior(0, 1), np.unique(np.rint(np.geomspace(1, 100, 40)).astype(int))
    for secret, color, line, label in (("copies", PURPLE, "-.", _("any entry, all equal")), ("database", RED, "--", _("whole database")),
                                       ("entry", BLUE, "-", _("one entry"))):
        ax.plot(n, [mean_cost(entry, scale, int(i), secret) for i in n], color=color, linestyle=line, label=label)
    ax.plot(n, 1 / (n * scale), color=BLUE, linestyle=":", label=_("1/(n b)"))
    ax.set(xscale="log", yscale="log", xlim=(1, 100), xlabel=_("n, entries in the mean"), ylabel=_("worst cost, nats"))
    ax.set_ylim(0.3 * mean_cost(entry, scale, 100), 8 / scale)
    ax.legend(loc="lower left")
    values = {secret: mean_cost(entry, scale, 5, secret) for secret in ("entry", "database", "copies")}
    return (f"b = {scale:.3g}, five entries: worst cost for one entry {values['entry']:.4f} (bound {1 / (5 * scale):.4g}), for the whole database "
            f"{values['database']:.4f}, for equal entries {values['copies']:.4f}.")


@figure("any-ldp-mechanism", chapter=17, source="S3.10", move=PRIOR_MOVES,
        caption="Worst cost at a given LDP parameter: the formula of randomized response is no bound for other mechanisms.",
        alt="Two rising curves. The lower one is the worst cost of randomized response on three symbols, the upper one the tight bound for "
            "all mechanisms; dots on the upper one are a mechanism that asks only whether the secret is the rarest symbol.")
def any_ldp_mechanism(ax, prior_of_A=0.2, share_of_B=0.375, epsilon=1.0):
    prior, grid = prior3(prior_of_A, share_of_B), np.linspace(0, 3, 61)
    ax.plot(grid, ldp_to_pmc(grid, prior.min()), color=RED, label=_("every mechanism: at most this"))
    ax.plot(grid[::6], [rarest_or_not(prior, e).pmc_epsilon() for e in grid[::6]], "o", color=RED, label=_("“is it the rarest?”"))
    ax.plot(grid, randomized_response_pmc(grid, prior.max()), color=BLUE, linestyle="--", label=_("randomized response"))
    ax.plot(grid, grid, color=GREY, linestyle=":", linewidth=1.2, label=_("LDP"))
    ax.set(xlim=(0, 3), ylim=(0, 3), xlabel=_("ε of LDP"), ylabel=_("worst cost, nats"))
    ax.legend(loc="upper left")
    return (f"Prior {words(prior)}, ε = {epsilon:.3g}: randomized response costs {randomized_response_pmc(epsilon, prior.max()):.6f}, asking whether "
            f"the secret is the rarest costs {rarest_or_not(prior, epsilon).pmc_epsilon():.6f}, and no ε-LDP mechanism costs more.")


@figure("costs-add-up", chapter=17, source="003", move={"epsilon": (0.1, 2.0), "prior_of_1": (0.05, 0.95)},
        caption="Worst cost of k answers of binary randomized response. Adding the costs read with the original prior falls short; "
                "adding the LDP parameters is safe.",
        alt="Against the number of answers: dots for the exact cost climb above a dashed line, k times the cost of one answer, and "
            "stay below a dotted line, k times epsilon.")
def costs_add_up(ax, epsilon=1.0, prior_of_1=0.5):
    k, p = np.arange(1, 9), max(prior_of_1, 1 - prior_of_1)
    exact, single = randomized_response_pmc(k * epsilon, p), randomized_response_pmc(epsilon, p)
    ax.plot(k, k * epsilon, color=GREEN, linestyle=":", label=_("k × ε, a bound"))
    ax.plot(k, exact, "o-", color=RED, label=_("exact"))
    ax.plot(k, k * single, color=BLUE, linestyle="--", label=_("k × the cost of one: no bound"))
    ax.set(xlim=(0.8, 8.2), ylim=(0, 8.6 * epsilon), xlabel=_("k, answers"), ylabel=_("worst cost, nats"))
    ax.legend(loc="upper left")
    return (f"ε = {epsilon:.3g}, P(1) = {prior_of_1:.3g}: one answer costs {single:.6f}, two cost {exact[1]:.6f}, more than twice as much ({2 * single:.6f}); "
            f"eight cost {exact[7]:.4f} of at most {8 * epsilon:.4g}.")


@figure("clayton-mixture", chapter=17, source="F3.4", panels=(1, 2), move={"lam": (0.05, 0.9), "theta": (0.3, 4.0)},
        caption="A secret and an output with a joint density that never falls below 1 − λ but has a peak in one corner: the cost of every "
                "output is the same, the leakage grows without bound as the output falls to 0.",
        alt="Left, a contour map on the unit square, darkest in the lower left corner, a dashed curve marking for each output the secret that it "
            "lifts most. Right, leakage against the output on a logarithmic axis: a line falling from upper left, and a level line for the cost.")
def clayton_mixture(axes, lam=0.3, theta=1.0):
    mixture, grid = ClaytonMixture(lam, theta), (np.arange(60) + 0.5) / 60
    levels = [0, 0.5, 0.8, 1, 1.25, 1.6, 2.5, 1e9]
    axes[0].contourf(grid, grid, mixture.lift(grid[:, None], grid).T, levels=levels, cmap="Blues",
                     norm=BoundaryNorm(levels, 256))
    lines = axes[0].contour(grid, grid, mixture.lift(grid[:, None], grid).T, levels=levels[1:-1], colors=INK, linewidths=0.5)
    axes[0].clabel(lines, levels=[0.8, 1], fmt="%g", fontsize=8)
    y = np.linspace(1e-3, 1, 400)
    axes[0].plot(mixture.best_secret(y), y, color=RED, linestyle="--", label=_("most lifted secret"))
    axes[0].set(xlim=(0, 1), ylim=(0, 1), xlabel=_("secret"), ylabel=_("output"))
    y = np.geomspace(1e-6, 1, 160)
    axes[1].plot(y, mixture.pml(y), color=BLUE, linestyle="--", label=_("leakage"))
    axes[1].plot(y, mixture.pmc(y), color=RED, label=_("cost"))
    axes[1].set(xscale="log", xlim=(1e-6, 1), ylim=(0, 14), xlabel=_("output"), ylabel=_("nats"))
    axes[1].legend(loc="upper right")
    return (f"λ = {lam:.3g}, θ = {theta:.3g}: the cost is {mixture.pmc_epsilon():.4f} at every output; the leakage is {mixture.pml(0.5):.4f} at 0.5, "
            f"{mixture.pml(0.01):.4f} at 0.01 and {mixture.pml(1e-6):.4f} at one in a million.")


@figure("clayton-tail", chapter=17, source="F3.4", move={"lam": (0.05, 0.9), "theta": (0.3, 4.0)},
        caption="No ε bounds the leakage of the mixture, but outputs that leak much are rare: the delta of (ε, δ)-PML.",
        alt="On a logarithmic axis, a curve that starts at 1, drops, and then falls along a straight line; a dotted straight line beside "
            "it is the asymptote.")
def clayton_tail(ax, lam=0.3, theta=1.0, epsilon=2.0):
    mixture, grid = ClaytonMixture(lam, theta), np.linspace(0, 8, 161)
    ax.plot(grid, [mixture.pml_delta(e) for e in grid], color=BLUE, label=_("P[leakage > ε]"))
    ax.plot(grid, lam * mixture._peak * np.exp(-grid), color=GREY, linestyle=":", label=_("its limit, a constant × e^(−ε)"))
    ax.axvline(mixture.pmc_epsilon(), color=RED, linewidth=1.2, label=_("cost, at every output"))
    ax.set(yscale="log", xlim=(0, 8), ylim=(1e-5, 2), xlabel=_("ε"), ylabel=_("δ"))
    ax.legend(loc="upper right")
    return (f"λ = {lam:.3g}, θ = {theta:.3g}: leakage above {epsilon:.3g} nats has probability {mixture.pml_delta(epsilon):.4g}; with δ = 1e-6 the "
            f"leakage is bounded by {mixture.pml_epsilon(1e-6):.4f}; with δ = 0 by nothing.")


@figure("reveal-a-rare-secret", chapter=17, source="S3.13", move={"lam": (0.02, 0.9)},
        caption="The secret itself with probability λ, otherwise a fresh draw from a uniform prior on k symbols: the cost does not "
                "notice k, the leakage grows with it.",
        alt="Against the number of symbols on a logarithmic axis, a level solid line for cost and a rising dashed line for leakage.")
def reveal_a_rare_secret(ax, lam=0.3):
    k = np.geomspace(2, 1e6, 100)
    leakage, cost = np.log1p(lam * (k - 1)), np.full(k.shape, -np.log1p(-lam))
    ax.plot(k, leakage, color=BLUE, linestyle="--", label=_("leakage"))
    ax.plot(k, cost, color=RED, label=_("cost"))
    ax.set(xscale="log", xlim=(2, 1e6), ylim=(0, 14), xlabel=_("k, equally likely secrets"), ylabel=_("nats"))
    ax.legend(loc="upper left")
    return (f"λ = {lam:.3g}: the cost is {cost[0]:.4f} whatever k is; the leakage is {leakage[0]:.4f} for two secrets and {leakage[-1]:.4f} for a "
            f"million. A secret with a density has infinite leakage at every output, and the same cost.")


@figure("designed-channel", chapter=17, source="S3.19", panels=(1, 2), move=PRIOR_MOVES | {"epsilon": (0.1, 4.0)},
        caption="Two channels with the same LDP parameter: randomized response, and the one that is right most often for this prior.",
        alt="Two panels of three stacked bars, one bar for each secret, its parts the probabilities of the outputs A, B and C. Right, the "
            "designed channel may leave out an output that is rarely right.")
def designed_channel(axes, prior_of_A=0.2, share_of_B=0.375, epsilon=1.0):
    prior, told = prior3(prior_of_A, share_of_B), []
    pair = (randomized_response(prior, epsilon), _("randomized response")), (best_channel(prior, ldp=epsilon)[0], _("designed"))
    for ax, (law, name) in zip(axes, pair, strict=True):
        floor = np.zeros(3)
        for y, color in enumerate((BLUE, ORANGE, GREEN)):
            bars = ax.bar(range(3), law.channel[:, y], 0.6, floor, color=color, edgecolor="white", label=_("output ") + SYMBOLS[y])
            ax.bar_label(bars, [SYMBOLS[y] if p > 0.08 else "" for p in law.channel[:, y]], label_type="center", color="white")
            floor = floor + law.channel[:, y]
        right = float(prior @ np.diag(law.channel))
        ax.set(ylim=(0, 1.16), yticks=[0, 0.5, 1], xlabel=_("secret"))
        ax.text(1, 1.04, f"{name}: {right:.3f}", ha="center")
        ax.set_xticks(range(3), SYMBOLS)
        told.append(f"right with probability {right:.4f}, PMC {law.pmc_epsilon():.3f}, PML {law.pml_epsilon():.3f}")
    axes[0].set_ylabel(_("probability of the output"))
    return f"Prior {words(prior)}, both {epsilon:.3g}-LDP: randomized response is {told[0]}; the designed channel {told[1]}."


@figure("designed-utility", chapter=17, source="S3.19", move=PRIOR_MOVES,
        caption="How often the output equals the secret, against the LDP parameter: randomized response, the best channel with the same LDP "
                "parameter, and the best with the same worst cost and worst leakage.",
        alt="Three rising curves that meet at the right: randomized response lowest, above it the best channel of equal LDP and the best of equal "
            "cost and leakage, which start on a dotted level line, the guess without any output.")
def designed_utility(ax, prior_of_A=0.2, share_of_B=0.375, epsilon=1.0):
    prior, grid = prior3(prior_of_A, share_of_B), np.append(np.linspace(0, 4, 33), epsilon)
    plain, equal_ldp, equal_both = [], [], []
    for e in grid:
        law = randomized_response(prior, e)
        plain.append(float(prior @ np.diag(law.channel)))
        equal_ldp.append(best_channel(prior, ldp=e)[1])
        equal_both.append(best_channel(prior, pmc=law.pmc_epsilon(), pml=law.pml_epsilon())[1])
    for values, color, line, label in ((equal_both, RED, "--", _("best of equal cost and leakage")), (equal_ldp, GREEN, "-.", _("best of equal LDP")),
                                       (plain, BLUE, "-", _("randomized response"))):
        ax.plot(grid[:-1], values[:-1], color=color, linestyle=line, label=label)
    ax.axhline(prior.max(), color=GREY, linestyle=":", linewidth=1.2)
    ax.set(xlim=(0, 4), ylim=(0.3, 1), xlabel=_("ε of randomized response"), ylabel=_("probability of being right"))
    ax.legend(loc="lower right")
    return (f"Prior {words(prior)}, ε = {epsilon:.3g}: randomized response is right with probability {plain[-1]:.4f}, the best channel of equal LDP "
            f"{equal_ldp[-1]:.4f}, the best of equal worst cost and worst leakage {equal_both[-1]:.4f}; without any output {prior.max():.4f}.")


@figure("loss-from-densities", chapter=17, source="003", move=PRIOR_MOVES,
        caption="The privacy loss of a pair of secrets is the difference of their two densities: the prior moves both, and not the difference.",
        alt="For each of three outputs, a blue circle at the density of secret A, a red square at that of secret C, and between them a gray bar whose "
            "length is the privacy loss.")
def loss_from_densities(ax, prior_of_A=0.2, share_of_B=0.375, epsilon=1.0):
    law = randomized_response(prior3(prior_of_A, share_of_B), epsilon)
    first, second, y = law.density[0], law.density[2], np.arange(3)
    for i in y:
        ax.plot([i, i], [first[i], second[i]], color=GREY, linewidth=6, alpha=0.4, solid_capstyle="butt", gid=f"loss at {SYMBOLS[i]}")
        ax.text(i + 0.10, (first[i] + second[i]) / 2, f"{first[i] - second[i]:+.2f}".replace("-", "−"), va="center",
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5})
    ax.plot(y, first, "o", color=BLUE, markersize=8, label=_("density of A"))
    ax.plot(y, second, "s", color=RED, markersize=8, label=_("density of C"))
    ax.axhline(0, color=INK, linestyle="--", linewidth=1)
    ax.set(xlim=(-0.5, 2.6), ylim=(-2, 2.6), ylabel=_("nats"))
    ax.set_xticks(y, [_("output ") + s for s in SYMBOLS])
    ax.legend(loc="upper right", ncols=2)
    loss = law.privacy_loss(0, 2)
    return (f"Prior {words(law.prior)}, ε = {epsilon:.3g}: the densities of A are {', '.join(f'{d:.3f}' for d in first)}; the privacy loss of A against C "
            f"takes the values {', '.join(f'{v:.3f}' for v in loss.losses)} for every prior.")
