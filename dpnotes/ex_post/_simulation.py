"""The same questions asked of simulated runs: estimates with their standard errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dpnotes._validate import FloatArray, count, fail, finite, generator, nonnegative, positive, real, scalar
from dpnotes.ex_post._boundaries import Boundary
from dpnotes.ex_post._definitions import ExPostDefinition, RenyiExPost
from dpnotes.ex_post.not_anytime_valid import NotAnytimeValid


class Estimate(NamedTuple):
    """A mean over independent runs (an estimate, not a bound), its standard error, and the number of runs."""

    value: float
    standard_error: float
    runs: int


def estimate_mean(definition: ExPostDefinition, losses: ArrayLike, epsilons: ArrayLike, *, drawn_from: str = "P") -> Estimate:
    """The mean of the definition's statistic from simulated runs: compare it with ``definition.limit``. Estimate.

    Parameters
    ----------
    losses : log p/q of the whole output of each run, shape (n,).
    epsilons : the bound returned in each run, shape (n,) or one number.
    drawn_from : "P", or "Q" when the runs were made on the neighbor (each is then weighted with e**L; needs P's mass
        where Q has none to be zero). For the Rényi definition under Q this is the mean of the e-value W.
    """
    if drawn_from not in ("P", "Q"):
        raise fail("drawn_from", drawn_from, "'P' or 'Q'")
    losses = np.atleast_1d(real("losses", losses))
    logs = np.asarray(definition.log_statistic(losses, epsilons))
    if drawn_from == "Q":
        logs = np.where(losses == -np.inf, -np.inf, logs + losses)
    return _estimate(np.exp(logs))


def simulate_stopping(rule: Callable[[FloatArray], ArrayLike], sigmas: ArrayLike, alpha: float, *, distance: float = 1.0,
                      runs: int = 100_000, rng: np.random.Generator | None = None) -> Estimate:
    """E_Q[W] of the Brownian mechanism (sensitivity 1) stopped by a rule: 1 at distance 1, below 1 nearer. Estimate.

    Runs are drawn under P, where W is e**((alpha - 1)(L - epsilon)) and varies least.

    Parameters
    ----------
    rule : gets the releases so far, shape (i, runs), and says for each run whether to stop, shape (runs,). The last level
        stops every run. The private value is `distance` on the true data and 0 on the neighbor.
    sigmas : falling positive levels, shape (k,).
    alpha : order, above 1.
    distance : of the two values, between 0 and the sensitivity 1.
    """
    definition = RenyiExPost(alpha)
    times = positive("sigmas", sigmas) ** -2.0
    if times.ndim != 1 or not times.size or np.any(np.diff(times) <= 0):
        raise fail("sigmas", sigmas, "a falling one-dimensional array")
    distance = scalar("distance", nonnegative("distance", distance))
    if distance > 1:
        raise fail("distance", distance, "at most the sensitivity, 1")
    runs, rng = count("runs", runs, 2), generator(rng)
    path, seen, stop_time, stop_path = np.zeros(runs), np.empty((0, runs)), np.zeros(runs), np.zeros(runs)
    for gained, time in zip(np.diff(times, prepend=0.0), times, strict=True):
        path = path + np.sqrt(gained) * rng.standard_normal(runs)
        seen = np.vstack([seen, distance + path / time])
        running = stop_time == 0
        stop = running & (np.asarray(rule(seen), dtype=bool) | (time == times[-1]))
        stop_time, stop_path = np.where(stop, time, stop_time), np.where(stop, path, stop_path)
    loss = distance * stop_path + distance**2 * stop_time / 2
    return estimate_mean(definition, loss, definition.gaussian_epsilon(stop_time / 2))


def crossing_frequency(boundary: Boundary | NotAnytimeValid, times: ArrayLike, *, runs: int = 20_000,
                       rng: np.random.Generator | None = None) -> Estimate:
    """How often a Brownian path, looked at at the given times, is at or above the boundary at least once. Estimate.

    This is the frequency with which an observer who may stop anywhere can make the loss exceed the bound.

    Parameters
    ----------
    boundary : a `Boundary` (at most its delta), or one of `not_anytime_valid` (more than delta, with enough times).
    times : rising positive times sensitivity**2 / sigma**2, shape (k,).
    """
    times = positive("times", finite("times", times))
    if times.ndim != 1 or np.any(np.diff(times) <= 0):
        raise fail("times", times, "a rising one-dimensional array")
    runs, rng = count("runs", runs, 2), generator(rng)
    path, crossed = np.zeros(runs), np.zeros(runs, dtype=bool)
    for gained, height in zip(np.diff(times, prepend=0.0), np.atleast_1d(boundary.height(times)), strict=True):
        path += np.sqrt(gained) * rng.standard_normal(runs)
        crossed |= path >= height
    return _estimate(crossed.astype(float))


def _estimate(values: FloatArray) -> Estimate:
    spread = float(np.std(values, ddof=1)) if values.size > 1 else np.inf
    return Estimate(float(np.mean(values)), spread / float(np.sqrt(values.size)), values.size)
