"""The one place that checks arguments: right values come back as floats, all else is refused by name."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dpnotes import _validate as v

NOT_NUMBERS = ["1", b"1", None, True, np.True_, [True, False], 1j, np.array([1j]), {}, {1}, object(), [None], ["a", 1.0],
               [[1.0], [1.0, 2.0]],
               Fraction(1, 2), [2**70, True], 10**400, np.array("x"), np.datetime64("2020-01-01"), lambda: 1]
CHECKS = {
    "real": (v.real, [0, -1.5, np.inf, -np.inf, 2**70, -(2**70)], []),
    "finite": (v.finite, [0, -1.5, 1e308], [np.inf, -np.inf]),
    "nonnegative": (v.nonnegative, [0, 1e-320, np.inf], [-1e-320, -1, -np.inf]),
    "positive": (v.positive, [1e-320, 1e308, 2**70], [0, -0.0, -1, np.inf]),
    "probability": (v.probability, [0, 1, 0.5], [-1e-320, 1 + 1e-15, np.inf, 2]),
    "at_least": (lambda name, value: v.at_least(name, value, 1.0), [1, 1 + 1e-15, np.inf], [1 - 1e-15, -np.inf]),
}
checks = pytest.mark.parametrize("kind", CHECKS)


@checks
def test_right_values_come_back_as_floats(kind):
    check, good, _ = CHECKS[kind]
    for value in good:
        as_object = np.array(value, dtype=object if isinstance(value, int) else None)
        for given in (value, [value, value], (value,), np.array([[value]]), as_object):
            result = check("x", given)
            assert isinstance(result, np.ndarray) and result.dtype == np.float64
            assert result.shape == np.shape(given) and np.all(result == float(value))
    for dtype in (np.float32, np.float16, np.int8, np.uint64):
        assert check("x", dtype(1)) == 1.0 and check("x", np.ones((2, 3), dtype)).shape == (2, 3)
    assert check("x", []).shape == (0,) and check("x", np.zeros((2, 0))).shape == (2, 0)


@checks
def test_wrong_values_are_refused_by_name(kind):
    check, _, bad = CHECKS[kind]
    for value in [*bad, np.nan, *NOT_NUMBERS]:
        with pytest.raises(ValueError, match=r"^sigma = [\s\S]* is not allowed: sigma must be ") as error:
            check("sigma", value)
        assert repr(value) in str(error.value)
    for value in [*bad, np.nan]:  # one bad entry is enough
        with pytest.raises(ValueError, match=r"^sigma = "):
            check("sigma", [1.0, value])


def test_a_probability_that_is_neither_0_nor_1():
    assert v.inner_probability("x", [1e-320, 1 - 1e-16]).tolist() == [1e-320, 1 - 1e-16]
    assert v.open_probability("x", 0.5) == 0.5
    for bad in (0, 1, -0.0, 2, np.nan, "0.5"):
        for check in (v.inner_probability, v.open_probability):
            with pytest.raises(ValueError, match=r"^x = .*between 0 and 1, both excluded"):
                check("x", bad)
    with pytest.raises(ValueError, match="not an array"):
        v.open_probability("x", [0.5])


def test_rows_of_different_lengths():
    assert v.as_array("x", [["a"], [1]], "a table").shape == (2, 1)
    with pytest.raises(ValueError, match=r"^x = .*x must be a table"):
        v.as_array("x", [[1], [1, 2]], "a table")


def test_the_argument_is_not_changed():
    given = np.array([1, 2])
    assert v.real("x", given) is not given and given.dtype.kind == "i"


def test_scalar():
    assert v.scalar("x", np.array(2.0)) == 2.0 and type(v.scalar("x", np.array(2.0))) is float
    for array in (np.array([2.0]), np.zeros((0,)), np.zeros((1, 1))):
        with pytest.raises(ValueError, match=r"^x = [\s\S]*one number, not an array"):
            v.scalar("x", array)


def test_count():
    for value in (0, 3, np.int8(3), np.uint64(3), 2**63 - 1, np.array(3)):
        assert v.count("n", value) == int(value) and type(v.count("n", value)) is int
    for value in (-1, 3.0, "3", None, True, np.False_, np.nan, np.inf, [3], np.array([3, 4]), 1j, 2**63, 10**400, np.float64(3)):
        with pytest.raises(ValueError, match=r"^n = [\s\S]*n must be a whole number"):
            v.count("n", value)
    with pytest.raises(ValueError, match="at least 2"):
        v.count("n", 1, 2)


def test_distribution():
    assert v.distribution("p", [0.25, 0.75, 0]).tolist() == [0.25, 0.75, 0.0]
    assert v.distribution("p", [1 / 3] * 3).sum() == pytest.approx(1) and v.distribution("p", [0.3], total=None).tolist() == [0.3]
    assert v.distribution("p", [0.5, 0.5 + 9e-10]).shape == (2,)
    assert v.distribution("p", [1 + 2**-52, 0.0]).tolist() == [1.0, 0.0]
    for value in ([], 1.0, [[1.0]], [1 + 2e-9], [0.5, 0.6], [0.5, 0.5 + 2e-9], [1.5, -0.5], [np.nan, 1.0], ["a"], None, [True]):
        with pytest.raises(ValueError, match=r"^p = "):
            v.distribution("p", value)


def test_generator():
    rng = np.random.default_rng(1)
    assert v.generator(rng) is rng
    assert v.generator(None).random() != v.generator(None).random()
    for value in (1, "x", np.random, np.random.RandomState(1), np.random.PCG64(1), object):
        with pytest.raises(ValueError, match=r"^rng = "):
            v.generator(value)


def test_plain():
    assert type(v.plain(np.array(1.5))) is float and type(v.plain(np.float64(1.5))) is float
    assert type(v.plain(np.array(1j))) is complex and v.plain(2.0) == 2.0
    assert v.plain(np.array([1.5])).shape == (1,)


def test_long_lists_are_cut():
    assert v.listed(["a", "b"]) == "a, b" and v.listed("abcd") == "a, b, c, d"
    assert v.listed(str(i) for i in range(2000)) == "0, 1, 2, and 1997 more"
