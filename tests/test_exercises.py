"""The checks behind the exercises: right is right, each slip is named, nothing gives the answer away."""

from __future__ import annotations

import math
import re

import mpmath as mp
import numpy as np
import pytest

from dpnotes.exercises import EXERCISES, Verdict, check

names = pytest.mark.parametrize("name", EXERCISES)


def normal_tail(x: float) -> float:
    return float(mp.erfc(x / mp.sqrt(2)) / 2)


def gaussian_epsilon(mu: float, delta: float) -> float:
    """Where the area of a Gaussian loss is `delta`."""
    def area(x):
        return mp.ncdf(-x / mu + mp.mpf(mu) / 2) - mp.exp(x) * mp.ncdf(-x / mu - mp.mpf(mu) / 2)

    return float(mp.findroot(lambda x: mp.log(area(x) / delta), (mu, 4 * mu), solver="anderson"))


def gaussian_area_sampled(q: float, epsilon: float, sigma: float) -> float:
    """The excess of the mixture's density over e**epsilon times the other, integrated from where it starts."""
    start = sigma**2 * math.log1p(math.expm1(epsilon) / q) + 0.5
    mixture = (1 - q) * normal_tail(start / sigma) + q * normal_tail((start - 1) / sigma)
    return mixture - math.exp(epsilon) * normal_tail(start / sigma)


def gaussian_delta(epsilon: float, mu: float) -> float:
    return normal_tail(epsilon / mu - mu / 2) - math.exp(epsilon) * normal_tail(epsilon / mu + mu / 2)


# Each answer once more, from the text of its exercise and by other means than the package.
BY_HAND = {
    # Chapter 01
    "posterior-from-odds": math.exp(1.5) / (9 + math.exp(1.5)),
    "truth-of-four": math.e / (math.e + 3),
    "debias-by-hand": (20_000 - 48_842 / 4) * 2,
    "sensitivity-two-ways": (90, 72),
    # Chapter 02
    "loss-at-an-output": -0.625,
    "mean-loss-of-response": math.tanh(0.5),
    "mean-of-inverse-gain": 1,
    "laplace-loss-function": lambda y, epsilon: [epsilon * (abs(v - 1001) - abs(v - 1000)) for v in y],
    # Chapter 03
    "width-of-gaussian": normal_tail((1 - 1 / 8) * 2),
    "area-of-gaussian": normal_tail(1.75) - math.e * normal_tail(2.25),
    "threshold-for-delta": 1 + math.log(500_000, 3),
    "larger-direction": 0.5 - 1.5 * 0.1,
    # Chapter 04
    "price-of-a-morning": 1.25,
    "top-of-the-ladder": (1 + math.exp(-0.5)) ** -8,
    "area-of-two-coins": 3 / 8,
    "drift-and-spread": math.sqrt(math.log(1e5)) + 10 * (math.exp(0.05) - 1),
    "fair-shares-of-delta": 10 * gaussian_epsilon(0.5, 1e-7),
    "write-a-filter": lambda prices, budget: [0.1, 0.2, 0, 0.3, 0],
    # Chapter 05
    "cubic-mean-of-a-coin": ((math.e**4 + math.e**-3) / (1 + math.e)) ** (1 / 3),
    "order-two-of-a-pair": math.log(25 / 9),
    "mean-at-order-eight": 0.16,
    "loss-that-is-rarely-exceeded": 1 + 6 * math.log(10) / 7,
    "two-orders-one-ledger": (0.8, 1.4),
    "best-order-by-hand": (1 + 2 * math.sqrt(5 * math.log(10)), 0.25 + math.sqrt(5 * math.log(10))),
    # Chapter 06
    "rho-of-a-mixed-ledger": 0.25 + 0.375,
    "noise-for-a-rho-budget": math.sqrt(50),
    "slope-at-order-two": (math.log(math.cosh(3) / math.cosh(1)) / 2, 2 * math.tanh(1)),
    "tail-under-rho": math.exp(-121 / 32),
    "census-in-epsilon": 2.63 + 2 * math.sqrt(26.3 * math.log(10)),
    "largest-moment": lambda t, rho: [math.exp(((v + 0.5) ** 2 - 0.25) * rho) for v in t],
    # Chapter 07
    "off-the-ledger": 0.9 + 5 * math.log(10) / 7,
    "best-order-of-a-line": 1 + math.sqrt(10 * math.log(10)),
    "hundred-counts-exactly": gaussian_epsilon(1, 1e-5),
    "delta-of-the-serial-column": 10 * (normal_tail(2 * 1.875) - math.exp(2) * normal_tail(2 * 2.125)),
    "where-the-saving-ends": 27,
    "write-the-exchange": lambda orders, divergences, delta: 10 + (6 * math.log(10) - math.log(4)) / 3 + math.log(3 / 4),
    # Chapter 08
    "rounded-by-hand": (0.36 - 0.36 * math.exp(-0.5), 0.84 - 0.36 * math.exp(-1.5) - 0.48 * math.exp(-0.5)),
    "chernoff-at-best-order": math.exp(-6.125),
    "period-for-excess": 6 * math.log(10),
    "mixed-ledger-delta": (math.sqrt(math.e) * gaussian_delta(0.5, 1) + gaussian_delta(1.5, 1)) / (1 + math.sqrt(math.e)),
    "queries-within-budget": max(n for n in range(1, 60) if gaussian_delta(1, math.sqrt(n) / 20) <= 1e-6),
    # Chapter 09
    "miss-rate-of-a-test": normal_tail(-float(mp.sqrt(2) * mp.erfinv(0.9)) + 0.5),
    "gaussian-of-three": math.sqrt(3 / 2),
    "delta-from-corners": 0.3,
    "true-positives-at-low-rate": (normal_tail(float(mp.sqrt(2) * mp.erfinv(0.998)) - 1), 1e-3 * math.e**2 + 1e-5),
    "gaussian-that-covers": 2 * float(mp.sqrt(2) * mp.erfinv(math.tanh(0.25))),
    # Chapter 10
    "amplify-with-a-coin": math.log(0.95 + 0.05 * math.exp(2)),
    "delta-of-one-step": (gaussian_area_sampled(0.05, 0.1, 2.0), 0),
    "rate-of-a-run": (0.01, 1000),
    "order-two-of-a-step": math.log(0.98**2 + 2 * 0.02 * 0.98 + 0.02**2 * math.exp(0.25)),
    "order-of-storage": float(mp.findroot(lambda e: mp.ncdf(0.5 - e) - mp.exp(e) * mp.ncdf(-0.5 - e) - mp.mpf("1e-5"), 4)),
    # Chapter 11
    "bound-after-merging": math.log(0.3 * math.exp(0.5) + 0.7 * math.exp(2)),
    "width-after-merging": 1 - 0.69,
    "smallest-fair-claim": math.log(27 / 11),
    "quote-with-delta": 1.2 + math.log(1e5) / 9 + math.log(0.9),
    # Chapter 12
    "fresh-noise": 6 / math.sqrt(5),
    "averaging-releases": 1.12,
    "stay-put": 25 / 64,
    "order-for-target": (1 + math.sqrt(2 * math.log(1e5)), 0.5 + math.sqrt(2 * math.log(1e5))),
    # Chapter 13
    "both-sides": 0.64,
    "margin-of-checks": 0.01 * math.sqrt(2 * math.log(600)),
    "questions-and-release": 0.7,
    "doubled-until-good": (1.6, 3.15),
    # Chapter 16
    "both-ends-of-density": (math.log(20 / 11), math.log(11 / 10)),
    "savings-of-an-insurer": math.log(2.7),
    "cost-from-leakage": -math.log(math.exp(0.1) - (math.exp(0.1) - 1) * 4),
    "leakage-that-says-nothing": math.log(20 / 19),
    "response-within-a-cost": math.log(2 * math.exp(0.5) - 1),
    # Chapter 17
    "cost-of-any-mechanism": math.log(0.1 + 0.9 * math.exp(0.5)),
    "cost-of-a-noisy-bit": 0.5 + math.log(0.95 + 0.05 * math.exp(-0.5)),
    "entry-or-database": (1 + math.log(math.sinh(1)), 10 + 10 * math.log(math.sinh(1))),
    "cost-of-three-answers": math.log(0.3 + 0.7 * math.exp(1.5)),
    "leakage-of-a-rare-secret": math.log(20.998),
    "design-under-leakage": 0.4 * math.exp(0.3),
}


def values(name: str, answer: object) -> np.ndarray:
    arguments = EXERCISES[name].arguments
    return np.asarray(answer if arguments is None else answer(*arguments), dtype=float)


def shifted(name: str, answer: object, factor: float) -> object:
    """The answer, or what the function answers, times a factor."""
    if EXERCISES[name].arguments is None:
        return np.asarray(answer, dtype=float) * factor
    return lambda *arguments: np.asarray(answer(*arguments)) * factor


def apart(name: str, one: object, other: object) -> float:
    a, b = values(name, one), values(name, other)
    return np.inf if a.shape != b.shape else float(np.max(np.abs(a - b) / np.maximum(np.abs(a), np.abs(b)).clip(1e-9)))


@names
def test_right_answer(name):
    exercise = EXERCISES[name]
    truth = exercise.answer()
    for answer in (truth, shifted(name, truth, 1 + 5e-5), shifted(name, truth, 1 - 5e-5)):
        verdict = check(name, answer)
        assert (verdict.code, verdict.why) == ("right", "") and str(verdict) == f"{name}: right."
    assert check(name, BY_HAND[name]).code == "right"


def test_every_answer_is_done_by_hand_too():
    assert set(BY_HAND) == set(EXERCISES)


@names
def test_each_mistake_is_recognized_and_apart(name):
    exercise = EXERCISES[name]
    answers = {"the truth": exercise.answer(), **{why: mistake() for why, mistake in exercise.mistakes.items()}}
    for why, mistake in list(answers.items())[1:]:
        for answer in (mistake, shifted(name, mistake, 1 + 5e-4)):
            assert (check(name, answer).code, check(name, answer).why) == ("mistake", why)
    listed = list(answers)
    for i, one in enumerate(listed):
        for other in listed[i + 1:]:
            assert apart(name, answers[one], answers[other]) > 5e-3, (one, other)
    for why in exercise.mistakes:  # a mistake must not be praised for being close
        assert apart(name, answers[why], answers["the truth"]) > 2e-2


@names
def test_near_and_far(name):
    truth = EXERCISES[name].answer()
    for factor in (1.004, 0.996):
        verdict = check(name, shifted(name, truth, factor))
        assert verdict.code == "near" and "four digits" in str(verdict)
    far = check(name, shifted(name, truth, 3.21))
    assert (far.code, far.why) == ("wrong", EXERCISES[name].hint) and far.why


@names
def test_open(name):
    for verdict in (check(name), check(name, None), check(name, ...)):
        assert verdict == Verdict(name, "open") and str(verdict) == f"{name}: not answered yet."


@names
def test_the_answer_is_never_shown(name):
    exercise = EXERCISES[name]
    truth = exercise.answer()
    given = [None, truth, shifted(name, truth, 1.004), shifted(name, truth, 3.21), "?", [1, 2, 3], lambda: 1 / 0, np.nan,
             *[mistake() for mistake in exercise.mistakes.values()]]
    forms = {f"{abs(v):.{digits}g}" for v in np.ravel(values(name, truth)) for digits in (3, 4, 5, 6,
        12)} | {repr(abs(float(v))) for v in np.ravel(values(name, truth))}
    if exercise.arguments is not None:
        forms = {form for form in forms if len(form) > 2}  # of a function's values, ends like 0.7 tell
    for answer in given:
        verdict = check(name, answer)
        for text in (str(verdict), repr(verdict), verdict._repr_html_(), verdict.why):
            for form in forms:
                assert not re.search(rf"(?<![\w.]){re.escape(form)}(?![\w./])", text), (form, text)


@names
def test_what_cannot_be_read(name):
    function = EXERCISES[name].arguments is not None
    for answer in ("many", {}, object(), 1j, np.complex128(1 + 2j), [1, [2, 3]], [], [[1.0]], np.zeros((3, 3, 3)), np.nan,
                   np.inf, -np.inf, 10**400, 1e308,
                   np.array(["a"]), lambda: 1, lambda *a: "x", lambda *a: 1 / 0, lambda *a: None, lambda *a: np.full(8, np.nan)):
        verdict = check(name, answer)
        assert verdict.code == "wrong" and verdict.why
        if function and not callable(answer):
            assert "a function is asked for" in verdict.why


def test_shapes():
    assert "one number" in str(check("width-of-gaussian", [0.1, 0.2]))
    assert "2 numbers" in str(check("sensitivity-two-ways", 90)) and check("sensitivity-two-ways", [90, 72]).code == "right"
    assert check("sensitivity-two-ways", np.array([90.0, 72.0])).code == "right"
    assert "8 numbers" in str(check("laplace-loss-function", lambda y, epsilon: 0.0))
    assert "ZeroDivisionError" in str(check("laplace-loss-function", lambda y, epsilon: 1 / 0))


def test_unknown_name_suggests():
    with pytest.raises(ValueError, match=r"^name = 'with-of-gaussian' .*did you mean 'width-of-gaussian'"):
        check("with-of-gaussian", 1)
    for bad in ("", "zzzz", None, 3, ["width-of-gaussian"], True, {}):
        with pytest.raises(ValueError, match=r"^name = [\s\S]*the name of an exercise"):
            check(bad)


def test_html_is_escaped_and_not_by_color_alone():
    def answer(y, epsilon):
        raise RuntimeError("<script>&")

    html = check("laplace-loss-function", answer)._repr_html_()
    assert "<script>" not in html and "&lt;script&gt;&amp;" in html and "✗" in html
    assert "✓" in check("mean-of-inverse-gain", 1)._repr_html_() and "dp-verdict-right" in check("mean-of-inverse-gain",
        1)._repr_html_()
    assert "○" in check("mean-of-inverse-gain")._repr_html_()


def test_names_are_words():
    for name, exercise in EXERCISES.items():
        assert re.fullmatch(r"[a-z]+(-[a-z]+)+", name) and exercise.chapter >= 1 and exercise.hint.endswith(".")
