"""DP-SGD in numpy: logistic regression by noisy gradient sums over Poisson batches, and the ledger of what was done.

Small on purpose, to be read next to chapter 10. The noise is floating-point noise, for learning: see `dpnotes.noise`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, log_ndtr

from dpnotes._validate import FloatArray, count, fail, finite, generator, nonnegative, open_probability, positive, scalar
from dpnotes.accountants import NumericalAccountant
from dpnotes.data import load_adult
from dpnotes.mechanisms import Gaussian, PoissonSampled
from dpnotes.privacy_loss import DiscreteLoss

LARGEST = 1e75  # of a feature, so that no square and no product overflows
WORDS = ("workclass", "education", "marital_status", "occupation", "relationship", "race", "sex")


def adult_features(part: str = "train") -> tuple[FloatArray, FloatArray]:
    """Adult as numbers: features in [0, 1], shape (n, 66), and whether the income is over 50K, shape (n,).

    Every step is public, so that it costs nothing: a column for each word of the census code book, five numbers scaled
    by bounds that are fixed beforehand, and a constant. No mean, no quantile, nothing learned from the rows.

    part : "all", "train" or "test", as for `load_adult`.

    >>> adult_features("test")[0].shape
    (16281, 66)
    """
    book, rows = load_adult(), load_adult(part)
    columns = [rows[name][:, None] == np.unique(book[name]) for name in WORDS]
    numbers = [(rows["age"] - 17) / 73, (rows["education_num"] - 1) / 15, rows["hours_per_week"] / 99,
               np.log1p(rows["capital_gain"]) / np.log1p(100_000), rows["capital_loss"] / 5_000, np.ones(len(rows["age"]))]
    return np.column_stack([*columns, *numbers]).astype(float), (rows["income"] == ">50K").astype(float)


def gradients(weights: ArrayLike, features: ArrayLike, labels: ArrayLike) -> FloatArray:
    """The gradient of each record's logistic loss at `weights`, one row a record: (p - label) times its features. Exact.

    weights : shape (d,). features : shape (n, d). labels : 0 or 1, shape (n,). Returns shape (n, d).

    >>> gradients([0.0, 0.0], [[1.0, 2.0]], [1.0])
    array([[-0.5, -1. ]])
    """
    features, labels = _records(features, labels)
    return (expit(features @ _weights(weights, features)) - labels)[:, None] * features


def clip(vectors: ArrayLike, norm: float) -> FloatArray:
    """Each row scaled down to length `norm` (L2) where it is longer; rows that are short enough are left alone.

    >>> clip([[3.0, 4.0], [0.3, 0.4]], 1.0)
    array([[0.6, 0.8],
           [0.3, 0.4]])
    """
    vectors, norm = finite("vectors", vectors), scalar("norm", positive("norm", norm))
    if vectors.ndim != 2 or (np.abs(vectors) > LARGEST).any():
        raise fail("vectors", vectors, f"an array with one row a record, shape (n, d), no number beyond {LARGEST:g}")
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors * (norm / np.maximum(lengths, norm))


@dataclass(frozen=True)
class Trained:
    """What a training run leaves behind.

    weights : the model, shape (d,), the only thing that is meant to be published.
    history : what was done, as (mechanism, times), for any accountant.
    batch_sizes : how many records each step looked at, shape (steps,). Not private.
    clipped : the share of gradients that were clipped. Not private.
    """

    weights: FloatArray
    history: list[tuple[PoissonSampled, int]]
    batch_sizes: np.ndarray
    clipped: float

    def ledger(self) -> NumericalAccountant:
        """The history in a numerical accountant: add/remove one record, Poisson sampling; covers all weights of all steps."""
        ledger = NumericalAccountant()
        for mechanism, times in self.history:
            ledger.add(mechanism, times)
        return ledger


def train(features: ArrayLike, labels: ArrayLike, *, expected_batch: float, steps: int, noise_multiplier: float,
          clip_norm: float = 1.0, learning_rate: float = 1.0, public_size: int | None = None,
          rng: np.random.Generator | None = None, progress: Callable[[int, int], object] | None = None) -> Trained:
    """Logistic regression by DP-SGD, from weights of 0.

    In each step every record joins the batch with probability q = expected_batch / public_size, independently; the gradients
    of the batch are clipped to `clip_norm` and added up; the sum gets Gaussian noise of standard deviation
    noise_multiplier * clip_norm in each entry, and is divided by `expected_batch`, never by the batch's own size.

    Parameters
    ----------
    features, labels : shape (n, d) and (n,), labels 0 or 1.
    expected_batch : the mean batch size, at most public_size: of all that goes into one update, micro-batches together.
    noise_multiplier : the noise's standard deviation in units of `clip_norm`; 0 is no noise, and the ledger then says inf.
    public_size : the number of records that q is reckoned with, len(labels) unless given. It is taken as public: with a record
        added or removed, q stays what it was.
    progress : called as progress(done, steps) after each step.

    References
    ----------
    Abadi et al. (2016), Deep Learning with Differential Privacy, Algorithm 1.

    >>> data = np.ones((100, 1)), np.ones(100)
    >>> run = train(*data, expected_batch=10, steps=5, noise_multiplier=1.0, rng=np.random.default_rng(1))
    >>> run.ledger()
    NumericalAccountant(5 x Gaussian(sigma=1, sensitivity=1).poisson_sampled(q=0.1))
    """
    features, labels = _some_records(features, labels)
    size = count("public_size", len(labels) if public_size is None else public_size, 1)
    expected_batch = scalar("expected_batch", positive("expected_batch", expected_batch))
    if expected_batch > size:
        raise fail("expected_batch", expected_batch, f"at most the number of records, {size}")
    steps, rate = count("steps", steps), scalar("learning_rate", positive("learning_rate", learning_rate))
    multiplier = scalar("noise_multiplier", nonnegative("noise_multiplier", finite("noise_multiplier", noise_multiplier)))
    norm = scalar("clip_norm", positive("clip_norm", clip_norm))
    for name, value in (("noise_multiplier", multiplier), ("clip_norm", norm), ("learning_rate", rate)):
        if value > 1e50:
            raise fail(name, value, "at most 1e50, so that nothing overflows")
    if expected_batch < 1e-50:
        raise fail("expected_batch", expected_batch, "at least 1e-50, so that nothing overflows")
    if progress is not None and not callable(progress):
        raise fail("progress", progress, "a function of (done, steps), or None")
    rng = generator(rng)

    noisy_sum = Gaussian(sigma=multiplier * norm, sensitivity=norm)
    step = noisy_sum.poisson_sampled(expected_batch / size)
    weights, batch_sizes, cut = np.zeros(features.shape[1]), np.zeros(steps, dtype=int), 0
    for t in range(steps):
        batch = np.flatnonzero(step.sample(len(labels), rng=rng))
        own = gradients(weights, features[batch], labels[batch])
        total = clip(own, norm).sum(axis=0)
        weights = weights - rate * noisy_sum.release(total, rng=rng) / expected_batch
        batch_sizes[t], cut = len(batch), cut + int(np.sum(np.linalg.norm(own, axis=1) > norm))
        if progress is not None:
            progress(t + 1, steps)
    return Trained(weights, [(step, steps)], batch_sizes, cut / max(int(batch_sizes.sum()), 1))


def accuracy(weights: ArrayLike, features: ArrayLike, labels: ArrayLike) -> float:
    """The share of records whose label the model gets right, guessing 1 where its probability exceeds one half."""
    features, labels = _some_records(features, labels)
    return float(np.mean((features @ _weights(weights, features) > 0) == (labels == 1)))


def shuffled_at_least(noise_multiplier: float, steps: int, epochs: int, *, delta: float) -> float:
    """An epsilon that DP-SGD with shuffled batches cannot be below. A lower bound.

    A list is shuffled anew for each epoch and cut into `steps` batches; a removed record leaves its place empty. Let every
    other gradient be -clip_norm, and the record's own +clip_norm: less what a full batch of the others gives, one sum of the
    epoch, no one knows which, is higher by 2 with the record and by 1 with its place empty, and all have noise. The bound
    comes from the largest sum of each epoch, put into cells that are scored by their likelihood ratio, the scores added up
    over the epochs: a function of what DP-SGD shows, hence no more telling than all of it.

    References
    ----------
    Chua et al. (2024), How Private are DP-SGD Implementations?, for the pair and the largest sum of one epoch.

    >>> shuffled_at_least(1.0, steps=64, epochs=1, delta=1e-5) > 4.1  # as Poisson samples it would be 0.974
    True
    """
    sigma, delta = scalar("noise_multiplier", positive("noise_multiplier", noise_multiplier)), open_probability("delta", delta)
    steps, epochs = count("steps", steps, 1), count("epochs", epochs, 1)
    edges = np.linspace(1 - 2 * sigma, max(1 + 6 * sigma, 2 + 2 * sigma), 81)
    p, q = (_cells((steps - 1) * log_ndtr(edges / sigma) + log_ndtr((edges - shift) / sigma)) for shift in (2, 1))
    p, q = p[kept := p > 1e-200], np.maximum(q[kept], 1e-200)  # a larger q makes the bound smaller
    scores = np.log(p / q)
    scores -= scores.min()
    if scores.max() == 0:  # so much noise that nothing can be seen
        return 0.0
    whole = np.rint(scores * max(min(max(8.0, 4 * sigma * sigma), 3000 / (epochs * scores.max())), 1 / scores.max())).astype(int)
    p, q = (_power(np.bincount(whole, mass), epochs) for mass in (p, q))
    p, q = p[kept := p > 1e-250], np.maximum(q[kept], 1e-250)
    left = max(1 - p.sum(), 0.0)  # all else is one more cell, which never counts for the removed record
    p, q = np.append(p, left), np.append(q, max(1 - q.sum(), left))
    return float(DiscreteLoss.from_probabilities(p, q).epsilon_bounds(delta)[0])


def text_bar(label: str, width: int = 30) -> Callable[[int, int], None]:
    """A progress bar of characters, for `progress`. Silent where outputs are stored (DPNOTES_STATIC=1)."""
    quiet, shown = os.environ.get("DPNOTES_STATIC") == "1", -1

    def draw(done: int, steps: int) -> None:
        nonlocal shown
        full = width * done // steps
        if not quiet and full != shown:
            print(f"\r{label} [{'#' * full}{'-' * (width - full)}]", end="\n" if done == steps else "", flush=True)
            shown = full

    return draw


def _records(features: ArrayLike, labels: ArrayLike) -> tuple[FloatArray, FloatArray]:
    features, labels = finite("features", features), finite("labels", labels)
    if features.ndim != 2 or (np.abs(features) > LARGEST).any():
        raise fail("features", features, f"an array with one row a record, shape (n, d), no number beyond {LARGEST:g}")
    if labels.shape != features.shape[:1] or not np.isin(labels, (0, 1)).all():
        raise fail("labels", labels, f"{len(features)} numbers, each 0 or 1")
    return features, labels


def _some_records(features: ArrayLike, labels: ArrayLike) -> tuple[FloatArray, FloatArray]:
    features, labels = _records(features, labels)
    if not len(features):
        raise fail("features", features, "at least one record")
    return features, labels


def _weights(weights: ArrayLike, features: FloatArray) -> FloatArray:
    weights = finite("weights", weights)
    if weights.shape != features.shape[1:]:
        raise fail("weights", weights, f"an array of shape {features.shape[1:]}, one weight a feature")
    return weights


def _cells(log_cdf: FloatArray) -> FloatArray:
    """The probabilities between the points of a distribution function, and outside; right for small ones in both tails."""
    below, above = np.exp(log_cdf), -np.expm1(log_cdf)
    inside = np.where(below[1:] < 0.5, np.diff(below), -np.diff(above))
    return np.concatenate([below[:1], inside, above[-1:]])


def _power(law: FloatArray, times: int) -> FloatArray:
    """The law of a sum of independent whole numbers; positive terms only, so that small probabilities stay right."""
    result = np.ones(1)
    while times:
        result = np.convolve(result, law) if times & 1 else result
        law, times = np.convolve(law, law) if times > 1 else law, times >> 1
    return result
