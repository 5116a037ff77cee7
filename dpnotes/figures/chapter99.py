"""Temporary figures of the site builder (not committed; goes away when chapter figures are there)."""
import numpy as np
from scipy.special import ndtri

from dpnotes.figures._registry import figure
from dpnotes.figures._style import SHADE


@figure("toy-gain", chapter=2, source="F1.7", move={"epsilon": (0.2, 3.0), "sigma": (0.5, 4.0, "log")},
        caption="The bad events of Gaussian noise, laid out by probability: their width is P[L > ε].",
        alt="A curve of exp(L) falling from left to right over the probability axis; left of 0.053 it lies above the dashed line at 3, and that strip is shaded.")
def toy_gain(ax, epsilon=np.log(3), sigma=np.sqrt(3), seed=1):
    x = np.linspace(0.001, 0.999, 400)
    gain = np.exp(1 / (2 * sigma**2) - ndtri(x) / sigma)
    ax.plot(x, gain, label="gain exp(L)")
    ax.fill_between(x, np.minimum(gain, 10), where=gain > np.exp(epsilon), **SHADE)
    ax.axhline(np.exp(epsilon), linestyle="--", color="k", label="exp(ε)")
    ax.set(xlim=(0, 1), ylim=(0, 10), xlabel="probability of the event", ylabel="gain, exp(L)")
    ax.legend()
    return f"At ε = {epsilon:.3g} and σ = {sigma:.3g} the bad events have probability {np.mean(gain > np.exp(epsilon)):.4f}."


@figure("toy-still", chapter=2, source="F1.5", caption="Two Gaussian densities, one unit apart.", alt="Two bell curves of the same width whose peaks are at 1000 and 1001.")
def toy_still(ax):
    y = np.linspace(994, 1007, 300)
    for c in (1000, 1001):
        ax.plot(y, np.exp(-(y - c) ** 2 / 6) / np.sqrt(6 * np.pi), label=f"center {c}", linestyle="-" if c == 1000 else "--")
    ax.set(xlabel="output", ylabel="density")
    ax.legend()
