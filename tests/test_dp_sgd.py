"""DP-SGD on a small scale: gradients, clipping, noise, batches, divisor and ledger are what the docstrings say.

Statistical tests have fixed seeds and raise a false alarm once in a million at a fresh one (`laws.P_LIMIT`).
"""

from __future__ import annotations

import sys
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from laws import ORACLES, assert_cdf, assert_frequencies, case
from scipy import stats

from dpnotes.accountants import RenyiAccountant
from dpnotes.data import load_adult
from dpnotes.dp_sgd import WORDS, accuracy, adult_features, clip, gradients, shuffled_at_least, text_bar, train
from dpnotes.privacy_loss import GaussianLoss

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))
import dp_sgd_table


def toy(n: int = 200, d: int = 5, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), (rng.random(n) < 0.4).astype(float)


def run(features, labels, seed: int = 1, **options):
    options = {"expected_batch": 20, "steps": 30, "noise_multiplier": 1.0} | options
    return train(features, labels, rng=np.random.default_rng(seed), **options)


def log_loss(weights, features, labels) -> np.ndarray:
    score = features @ weights
    return np.logaddexp(0.0, score) - labels * score


def test_gradients_against_central_differences() -> None:
    features, labels = toy()
    weights = np.array([0.3, -1.2, 2.0, 0.0, -0.4])
    found = gradients(weights, features, labels)
    step = 1e-6
    for j, unit in enumerate(np.eye(5)):
        slope = (log_loss(weights + step * unit, features, labels) - log_loss(weights - step * unit, features, labels)) / (2 * step)
        np.testing.assert_allclose(found[:, j], slope, atol=1e-8)


def test_gradients_at_far_weights_are_finite() -> None:
    np.testing.assert_array_equal(gradients([1e4], [[1.0], [1.0]], [0.0, 1.0]), [[1.0], [0.0]])


def test_clip_keeps_directions_and_bounds_lengths() -> None:
    vectors = np.random.default_rng(2).normal(size=(500, 7)) * np.geomspace(1e-3, 1e3, 500)[:, None]
    vectors[0] = 0
    short = clip(vectors, 0.7)
    lengths, before = np.linalg.norm(short, axis=1), np.linalg.norm(vectors, axis=1)
    np.testing.assert_allclose(lengths, np.minimum(before, 0.7), rtol=1e-14)
    np.testing.assert_array_equal(short[before <= 0.7], vectors[before <= 0.7])
    cosine = (short * vectors).sum(axis=1)[1:] / (lengths * before)[1:]
    np.testing.assert_allclose(cosine, 1.0, rtol=1e-13)


def test_one_record_moves_the_sum_by_the_clip_norm_at_most() -> None:
    features, labels = toy(d=3)
    options = {"expected_batch": 200, "steps": 1, "noise_multiplier": 0.0, "clip_norm": 0.25, "public_size": 200, "seed": 3}
    whole = run(features * 50, labels, **options).weights * 200
    moved = [np.linalg.norm(run(np.delete(features * 50, i, 0), np.delete(labels, i), **options).weights * 200 - whole) for i in range(200)]
    assert max(moved) <= 0.25 * (1 + 1e-12)
    assert min(moved) == pytest.approx(0.25)  # gradients of such features are long, so that every one is clipped


def test_noise_has_the_law_that_the_ledger_charges() -> None:
    features, labels = np.zeros((50, 20_000)), np.zeros(50)  # all gradients are 0: what is left is noise
    for steps in (1, 9):
        found = run(features, labels, expected_batch=5, steps=steps, noise_multiplier=1.7, clip_norm=0.3, learning_rate=2.0)
        noise = found.weights * 5 / 2.0 / np.sqrt(steps)
        assert_cdf(noise, stats.norm(scale=1.7 * 0.3).cdf)
    assert abs(np.corrcoef(noise[:-1], noise[1:])[0, 1]) < 5 / np.sqrt(len(noise))


def test_batches_are_binomial_and_every_record_has_the_same_chance() -> None:
    n, steps = 40, 5000
    found = run(np.eye(n), np.zeros(n), expected_batch=6, steps=steps, noise_multiplier=0.0, learning_rate=1e-9)
    assert_frequencies(np.bincount(found.batch_sizes, minlength=n + 1), stats.binom(n, 6 / n).pmf(np.arange(n + 1)))
    pairs = np.histogram2d(found.batch_sizes[:-1] > 6, found.batch_sizes[1:] > 6, bins=2)[0]
    assert stats.chi2_contingency(pairs).pvalue > 1e-6  # one batch says nothing of the next
    taken = found.weights / (-1e-9 / 6 * 0.5)  # weights hardly move, so each visit takes off half a step
    np.testing.assert_allclose(taken, np.rint(taken), atol=1e-3)
    assert taken.sum() == pytest.approx(found.batch_sizes.sum())
    spread = (taken - steps * 6 / n) / np.sqrt(steps * 6 / n * (1 - 6 / n))
    assert stats.chi2.sf((spread**2).sum(), n) > 1e-6
    assert stats.chi2.cdf((spread**2).sum(), n) > 1e-6


def test_the_divisor_is_the_expected_batch() -> None:
    found = run(np.ones((100, 1)), np.ones(100), expected_batch=10, steps=1, noise_multiplier=0.0, seed=5)
    size = found.batch_sizes[0]
    assert size != 10
    assert found.weights[0] == pytest.approx(0.5 * size / 10)


def test_without_noise_and_with_all_records_it_is_gradient_descent() -> None:
    features, labels = toy()
    found = run(features, labels, expected_batch=200, steps=25, noise_multiplier=0.0, clip_norm=100.0, learning_rate=0.5)
    weights = np.zeros(5)
    for _ in range(25):
        weights -= 0.5 * features.T @ (1 / (1 + np.exp(-features @ weights)) - labels) / 200
    np.testing.assert_allclose(found.weights, weights, rtol=1e-12)
    assert found.clipped == 0 and (found.batch_sizes == 200).all()
    assert found.ledger().epsilon(1e-5) == np.inf


def test_the_share_that_was_clipped() -> None:
    features = np.repeat([[4.0], [0.4]], 50, axis=0)  # gradients of 2 and 0.2 at weights of 0
    found = run(features, np.zeros(100), expected_batch=100, steps=1, noise_multiplier=0.0)
    assert found.clipped == 0.5


def test_the_history_is_what_was_done() -> None:
    features, labels = toy()
    found = run(features, labels, expected_batch=30, steps=17, noise_multiplier=1.3, clip_norm=0.4, public_size=250)
    ((step, times),) = found.history
    assert times == 17 == len(found.batch_sizes)
    assert (step.q, step.mechanism.sensitivity) == (30 / 250, 0.4)
    assert step.mechanism.sigma == pytest.approx(1.3 * 0.4, rel=1e-15)
    assert found.ledger().history == found.history
    assert found.ledger().statement(delta=1e-5).startswith("(") and "Poisson sampling q=0.12" in found.ledger().statement(delta=1e-5)


def test_its_epsilon_is_that_of_others() -> None:
    wrong, right = case("A20")
    for batch, epsilon in ((10, wrong), (80, right)):  # physical batch, accumulated batch
        found = run(np.zeros((1000, 1)), np.zeros(1000), expected_batch=batch, steps=100, noise_multiplier=1.0, clip_norm=3.0)
        assert found.ledger().epsilon(1e-5) == pytest.approx(epsilon, abs=1e-3)
    found = run(np.zeros((100, 1)), np.zeros(100), expected_batch=1, steps=1000)
    ((step, _),) = found.history
    assert step.renyi(4) == pytest.approx(ORACLES["sgm_rdp_q0.01_s1_a4"], rel=1e-9)
    ledger = RenyiAccountant("cks")
    for entry in found.history:
        ledger.add(*entry)
    assert 2.0 < ledger.epsilon(1e-5) <= ORACLES["dpsgd_q0.01_s1_T1000_d1e-5_cks"] * (1 + 1e-9)  # theirs has integer orders only


def test_a_seed_is_a_run_and_progress_is_told() -> None:
    features, labels = toy()
    seen = []
    first = run(features, labels, progress=lambda done, steps: seen.append((done, steps)))
    np.testing.assert_array_equal(first.weights, run(features, labels).weights)
    assert not np.array_equal(first.weights, run(features, labels, seed=2).weights)
    assert seen == [(t, 30) for t in range(1, 31)]
    assert run(features, labels, steps=0).weights.tolist() == [0.0] * 5
    assert run(features, labels, steps=0).ledger().epsilon(1e-5) == 0


def exceeds(sigma: float, steps: int, c: np.ndarray) -> np.ndarray:
    """P[the largest sum of an epoch exceeds c], with the record and with its place empty, by scipy's normal law."""
    return np.array([1 - stats.norm.cdf(c / sigma) ** (steps - 1) * stats.norm.cdf((c - shift) / sigma) for shift in (2, 1)])


def test_the_pair_of_shuffled_batches_is_what_a_shuffled_list_gives() -> None:
    """Gradients of -1, the record's of +1, ten batches of four from a shuffled list of forty: the sums themselves."""
    rng, runs, c = np.random.default_rng(7), 20_000, 2.2
    for with_record, chance in zip((True, False), exceeds(1.0, 10, np.array([c])).ravel(), strict=True):
        values = np.append(np.full(39, -1.0), 1.0 if with_record else 0.0)
        sums = np.array([rng.permutation(values).reshape(10, 4).sum(axis=1) for _ in range(runs)])
        largest = (sums + 4 + rng.standard_normal(sums.shape)).max(axis=1)
        hits = int((largest > c).sum())
        assert_frequencies([hits, runs - hits], [chance, 1 - chance])


@pytest.mark.parametrize(("sigma", "steps"), [(0.7, 64), (1.0, 64), (2.0, 20), (1.1, 234)])
def test_one_shuffled_epoch_is_a_threshold_on_the_largest_sum(sigma: float, steps: int) -> None:
    p, q = exceeds(sigma, steps, np.linspace(0, 2 + 7 * sigma, 4001))
    at_least = np.log(np.max((p - 1e-5)[q > 1e-9] / q[q > 1e-9]))
    assert shuffled_at_least(sigma, steps, 1, delta=1e-5) == pytest.approx(at_least, rel=2e-2)
    assert shuffled_at_least(sigma, steps, 1, delta=1e-5) <= at_least + 1e-6
    assert at_least <= GaussianLoss(1 / sigma).epsilon(1e-5)  # which holds even if the order is known


@pytest.mark.parametrize(("sigma", "steps", "epochs"), [(0.7, 64, 5), (1.0, 64, 20), (2.0, 20, 8), (1.1, 234, 60)])
def test_several_shuffled_epochs_lie_between_counting_and_knowing_the_order(sigma: float, steps: int, epochs: int) -> None:
    counted = 0.0  # in how many epochs does the largest sum exceed c?
    k = np.arange(epochs + 1)
    for c in np.linspace(1, 1 + 4 * sigma, 60):
        p, q = (stats.binom.sf(k - 1, epochs, chance) for chance in exceeds(sigma, steps, c))
        with np.errstate(divide="ignore", invalid="ignore"):
            counted = max(counted, float(np.nanmax(np.log((p - 1e-5) / q))))
    assert counted < shuffled_at_least(sigma, steps, epochs, delta=1e-5) < GaussianLoss(np.sqrt(epochs) / sigma).epsilon(1e-5)


def test_shuffled_batches_far_out() -> None:
    assert shuffled_at_least(100.0, 10, 1, delta=0.5) == 0
    assert shuffled_at_least(0.05, 10, 3, delta=1e-5) < GaussianLoss(np.sqrt(3) / 0.05).epsilon(1e-5)
    assert shuffled_at_least(1e300, 10, 1, delta=1e-5) == 0
    for sigma, epochs in ((1e-3, 1), (0.02, 5)):  # nearly no noise: much is lost, and never more than if the order is known
        assert 100 < shuffled_at_least(sigma, 64, epochs, delta=1e-5) < GaussianLoss(np.sqrt(epochs) / sigma).epsilon(1e-5)
    one_batch = shuffled_at_least(1.0, 1, 1, delta=1e-5)  # nothing is shuffled
    assert 0.999 < one_batch / GaussianLoss(1.0).epsilon(1e-5) <= 1
    assert shuffled_at_least(1.0, 64, 300, delta=1e-5) > shuffled_at_least(1.0, 64, 100, delta=1e-5)
    for bad, name in (((0.0, 1, 1), "noise_multiplier"), ((1.0, 0, 1), "steps"), ((1.0, 1, 0), "epochs")):
        with pytest.raises(ValueError, match=rf"^{name} = "):
            shuffled_at_least(*bad, delta=1e-5)


def test_bar(capsys, monkeypatch) -> None:
    monkeypatch.delenv("DPNOTES_STATIC", raising=False)
    bar = text_bar("train", width=4)
    for t in range(1, 101):
        bar(t, 100)
    assert capsys.readouterr().out == "".join(f"\rtrain [{'#' * i}{'-' * (4 - i)}]" for i in range(5)) + "\n"
    monkeypatch.setenv("DPNOTES_STATIC", "1")
    text_bar("train")(1, 1)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(("name", "value"), [
    ("expected_batch", 0), ("expected_batch", 201), ("expected_batch", np.nan), ("steps", -1), ("steps", 2.5), ("noise_multiplier", -1),
    ("noise_multiplier", np.inf), ("clip_norm", 0), ("clip_norm", np.inf), ("learning_rate", 0), ("learning_rate", [1.0, 2.0]),
    ("public_size", 0), ("public_size", 10), ("rng", 3), ("noise_multiplier", 1e300), ("clip_norm", 1e300), ("learning_rate", 1e300),
    ("expected_batch", 1e-300), ("progress", 3)])
def test_bad_arguments_are_named_before_any_randomness(name: str, value: object) -> None:
    features, labels = toy()
    rng = np.random.default_rng(1)
    before = rng.bit_generator.state
    options = {"expected_batch": 20, "steps": 3, "noise_multiplier": 1.0, "rng": rng} | {name: value}
    expected = "expected_batch" if name == "public_size" and value else name
    with pytest.raises(ValueError, match=rf"^{expected} = "):
        train(features, labels, **options)
    assert rng.bit_generator.state == before


def test_bad_records() -> None:
    for features, labels, name in ((np.ones(3), [0, 1, 1], "features"), (np.full((2, 1), np.nan), [0, 1], "features"),
                                   (np.full((2, 1), 1e200), [0, 1], "features"), (np.ones((0, 1)), [], "features"),
                                   (np.ones((2, 1)), [0, 2], "labels"), (np.ones((2, 1)), [0, 1, 1], "labels")):
        with pytest.raises(ValueError, match=rf"^{name} = "):
            run(features, labels)
    with pytest.raises(ValueError, match=r"^weights = "):
        gradients([1.0, 2.0], [[1.0]], [1.0])
    for vectors in ([1.0, 2.0], [[1e200, 1e200]]):
        with pytest.raises(ValueError, match=r"^vectors = "):
            clip(vectors, 1.0)
    with pytest.raises(ValueError, match=r"^weights = "):
        accuracy([1.0, 2.0], [[1.0]], [1.0])
    with pytest.raises(ValueError, match=r"^features = "):
        accuracy([1.0], np.ones((0, 1)), [])
    assert gradients([1.0], np.ones((0, 1)), []).shape == (0, 1)  # an empty batch is a batch


def test_adult_as_numbers() -> None:
    features, labels = adult_features("train")
    test, _ = adult_features("test")
    assert features.shape == (32_561, 66) and test.shape == (16_281, 66)
    assert features.min() == 0 and max(features.max(), test.max()) <= 1
    words = features[:, :-6]
    assert set(np.unique(words)) == {0.0, 1.0} and (words.sum(axis=1) == len(WORDS)).all()
    assert labels.sum() == 7841 and adult_features("test")[1].sum() == 3846  # the counts of adult.names
    np.testing.assert_array_equal(features[:, -1], 1)
    np.testing.assert_allclose(features[:, -6] * 73 + 17, load_adult("train")["age"])


def test_accuracy_counts() -> None:
    assert accuracy([1.0], [[1.0], [-1.0], [2.0], [0.0]], [1, 1, 1, 0]) == 0.75


def test_the_stored_table_is_what_its_tool_makes() -> None:
    text = (files("dpnotes.data") / "dp_sgd_adult.csv").read_text(encoding="utf-8")
    rows = np.loadtxt(text.splitlines(), delimiter=",", skiprows=3)
    assert len(rows) == len(dp_sgd_table.EPOCHS) * len(dp_sgd_table.EPSILONS)
    assert (rows[:, 3] <= rows[:, 2]).all() and (rows[:, 2] <= rows[:, 4]).all() and rows[:, 4].max() < 0.86
    for epsilon in (0.1, np.inf):
        row = rows[(rows[:, 0] == 2) & (rows[:, 1] == epsilon)][0]
        found = dp_sgd_table.accuracies(2, epsilon)
        # Rounding differs from machine to machine, and so may the labels of a few rows of 16,281.
        np.testing.assert_allclose(row[2:], [np.median(found), found.min(), found.max()], atol=1e-3)
