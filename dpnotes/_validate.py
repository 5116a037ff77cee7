"""One place that checks arguments.

Every check returns the argument as a NumPy float array (zero-dimensional for a scalar) and raises ``ValueError``
with the argument's name, its value and what is allowed. `plain` turns a zero-dimensional result back into a float.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]


def fail(name: str, value: Any, allowed: str) -> ValueError:
    """The error every check raises; the caller writes ``raise fail(...)``."""
    return ValueError(f"{name} = {value!r} is not allowed: {name} must be {allowed}.")


def as_array(name: str, value: Any, allowed: str) -> np.ndarray:
    """The value as an array of whatever kind; rows of different lengths are not one."""
    try:
        return np.asarray(value)
    except ValueError:
        raise fail(name, value, allowed) from None


def real(name: str, value: ArrayLike, allowed: str = "a real number or an array of real numbers") -> FloatArray:
    """Numbers only: no NaN, no booleans, no text, no complex values. Infinity passes."""
    if type(value) is float and value == value:  # most are, and this is ten times quicker
        return np.array(value)
    try:
        array = np.asarray(value)
        if array.dtype.kind == "O":  # Python integers beyond 64 bits arrive as objects
            if any(isinstance(item, (bool, np.bool_)) for item in array.flat):
                raise TypeError
            array = np.asarray([operator.index(item) for item in array.flat], dtype=float).reshape(array.shape)
        if array.dtype.kind not in "iuf":
            raise TypeError
        array = array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise fail(name, value, allowed) from None
    if np.isnan(array).any():
        raise fail(name, value, f"{allowed}, not NaN")
    return array


def _where(name: str, value: ArrayLike, holds: Any, allowed: str) -> FloatArray:
    array = real(name, value, f"a number, {allowed}")
    if not holds(array).all():
        raise fail(name, value, allowed)
    return array


def finite(name: str, value: ArrayLike) -> FloatArray:
    return _where(name, value, np.isfinite, "finite")


def nonnegative(name: str, value: ArrayLike) -> FloatArray:
    """Zero, positive or infinite."""
    return _where(name, value, lambda a: a >= 0, "at least 0")


def positive(name: str, value: ArrayLike) -> FloatArray:
    """Above zero and finite."""
    return _where(name, value, lambda a: (a > 0) & np.isfinite(a), "positive and finite")


def at_least(name: str, value: ArrayLike, low: float) -> FloatArray:
    """At least `low`; infinity passes."""
    return _where(name, value, lambda a: a >= low, f"at least {low:g}")


def probability(name: str, value: ArrayLike) -> FloatArray:
    """In the closed interval from 0 to 1."""
    return _where(name, value, lambda a: (a >= 0) & (a <= 1), "between 0 and 1")


def inner_probability(name: str, value: ArrayLike) -> FloatArray:
    """Neither 0 nor 1."""
    return _where(name, value, lambda a: (a > 0) & (a < 1), "between 0 and 1, both excluded")


def open_probability(name: str, value: float) -> float:
    """One probability that is neither 0 nor 1."""
    return scalar(name, inner_probability(name, value))


def scalar(name: str, array: FloatArray) -> float:
    """Where one number is meant, an array is an error."""
    if np.ndim(array) != 0:
        raise fail(name, array, "one number, not an array")
    return float(array)


def count(name: str, value: Any, low: int = 0) -> int:
    """A whole number, at least `low`, that fits in 64 bits. 3.0 and True are not whole numbers here."""
    try:
        if isinstance(value, (bool, np.bool_)):
            raise TypeError
        whole = operator.index(value)
    except TypeError:
        raise fail(name, value, f"a whole number, at least {low}") from None
    if whole < low:
        raise fail(name, value, f"a whole number, at least {low}")
    if whole >= 2**63:
        raise fail(name, value, f"a whole number from {low} to 2**63 - 1")
    return whole


def distribution(name: str, value: ArrayLike, total: float | None = 1.0) -> FloatArray:
    """A one-dimensional array of probabilities; with `total`, they add up to it within 1e-9. What exceeds 1 by rounding is 1."""
    array = _where(name, value, lambda a: (a >= 0) & (a <= 1 + 1e-9), "between 0 and 1")
    if array.ndim != 1 or array.size == 0:
        raise fail(name, value, "a one-dimensional array of probabilities")
    if total is not None and abs(array.sum() - total) > 1e-9:
        raise fail(name, value, f"probabilities that add up to {total:g} (they add up to {float(array.sum()):.12g})")
    return np.minimum(array, 1.0)


def generator(rng: np.random.Generator | None) -> np.random.Generator:
    """The given generator, or a fresh one seeded by the operating system; never a global one."""
    if rng is None:
        return np.random.default_rng()
    if not isinstance(rng, np.random.Generator):
        raise fail("rng", rng, "a numpy.random.Generator, as from numpy.random.default_rng(seed)")
    return rng


def plain(result: ArrayLike) -> Any:
    """A Python float for a zero-dimensional result, the array otherwise."""
    return result.item() if isinstance(result, (np.ndarray, np.generic)) and np.ndim(result) == 0 else result


def listed(names: Iterable[str], most: int = 4) -> str:
    """Names for a message: all of a few, else the first ones and how many more there are."""
    names = list(names)
    return ", ".join(names if len(names) <= most else [*names[: most - 1], f"and {len(names) - most + 1} more"])


def round_up(bound: float, digits: int = 5) -> str:
    """An upper bound as text: so many digits, never rounded below the bound (but for noise in its last bits)."""
    text = f"{bound:.{digits}g}"
    if float(text) >= bound * (1 - 1e-14):
        return text
    return f"{bound + 10.0 ** (int(f'{bound:e}'.split('e')[1]) - digits + 1):.{digits}g}"
