"""Noise samplers, each with an explicit NumPy generator: two in floating point, two exact ones on the whole numbers.

**Floating point is not for releases.** `laplace` and `gaussian` return floating-point numbers. They are for teaching and
simulation, not for releasing real data: the gaps between floating-point numbers carry information about what the noise
was added to, and an attacker who sees the low bits of a noisy answer can rule out most inputs (Mironov 2012, On
Significance of the Least Significant Bits for Differential Privacy).

**Whole numbers are exact.** `discrete_laplace` and `discrete_gaussian` follow Canonne, Kamath and Steinke (2020), The
Discrete Gaussian for Differential Privacy: every coin has a rational or e**-rational bias and is tossed with whole
numbers only, so the law of a draw is exactly the stated one, given independent fair bits. A floating-point scale is
taken at its exact binary value (1.1 is 4953959590107546 / 2**52); a `fractions.Fraction` passes as it is. The time a
draw takes depends on its value: it is not constant-time.

**The bits.** `numpy.random.default_rng()` is fast and repeatable, and not meant to withstand an adversary. `system_rng()`
is a generator whose every bit comes from the operating system. One seed used for two releases gives both the same
noise, and the difference of the two answers then has none: seed once, and pass the generator on.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from dpnotes._validate import FloatArray, count, fail, finite, generator, nonnegative, positive, scalar

Size = int | tuple[int, ...] | None

_BITS = 31  # coins are tossed a digit of 31 bits at a time, so that a digit times a small number fits 64 bits
_BASE = 1 << _BITS


def laplace(scale: float, size: Size = None, *, rng: np.random.Generator | None = None) -> FloatArray | float:
    """Draws with density e**(-|x| / scale) / (2 scale): mean 0, standard deviation sqrt(2) * scale."""
    return generator(rng).laplace(0.0, scalar("scale", positive("scale", scale)), size)


def gaussian(sigma: float, size: Size = None, *, rng: np.random.Generator | None = None) -> FloatArray | float:
    """Draws from the normal law with mean 0 and standard deviation sigma; 0 gives zeros."""
    return generator(rng).normal(0.0, scalar("sigma", nonnegative("sigma", finite("sigma", sigma))), size)


def discrete_laplace(scale: float | Fraction, size: Size = None, *, rng: np.random.Generator | None = None) -> Any:
    """Whole numbers with P(x) proportional to e**(-|x| / scale): the two-sided geometric law. Exact.

    Parameters
    ----------
    scale : positive; a float is taken at its exact binary value. Small scales give 0 almost always.
    size : None for one Python int, otherwise the shape of the array: int64 for scale below 2**48, Python ints above.

    References
    ----------
    Ghosh, Roughgarden and Sundararajan (2009), Universally Utility-Maximizing Privacy Mechanisms; the sampler is
    Algorithm 2 of Canonne, Kamath and Steinke (2020).

    >>> discrete_laplace(2.0, 5, rng=np.random.default_rng(1)).dtype
    dtype('int64')
    """
    scale, rng = exact_ratio("scale", scale), generator(rng)
    return _shaped(lambda n: _discrete_laplace(scale.numerator, scale.denominator, n, rng), size, scale)


def discrete_gaussian(sigma: float | Fraction, size: Size = None, *, rng: np.random.Generator | None = None) -> Any:
    """Whole numbers with P(x) proportional to e**(-x**2 / (2 sigma**2)). Exact; the variance is a little below sigma**2.

    Parameters
    ----------
    sigma : positive; a float is taken at its exact binary value. The cost of a draw grows with log sigma only.
    size : None for one Python int, otherwise the shape of the array: int64 for sigma below 2**48, Python ints above.

    References
    ----------
    Canonne, Kamath and Steinke (2020), The Discrete Gaussian for Differential Privacy, Algorithm 3.

    >>> discrete_gaussian(0.01, rng=np.random.default_rng(1))
    0
    """
    sigma, rng = exact_ratio("sigma", sigma), generator(rng)
    return _shaped(lambda n: _discrete_gaussian(sigma, n, rng), size, sigma)


def exact_ratio(name: str, value: float | Fraction) -> Fraction:
    """A positive finite number as the fraction that it is."""
    if isinstance(value, Fraction):
        if value <= 0:
            raise fail(name, value, "positive and finite")
        return value
    return Fraction(scalar(name, positive(name, value)))


def _shaped(draw: Callable[[int], np.ndarray], size: Size, scale: Fraction) -> Any:
    shape = () if size is None else tuple(count("size", n) for n in (size if isinstance(size, tuple) else (size,)))
    draws = draw(int(np.prod(shape, dtype=object)))
    # Python ints convert to int64 with an OverflowError, never by wrapping round.
    draws = draws.astype(np.int64 if scale < 2**48 else object).reshape(shape)
    return draws if shape or size == () else int(draws[()])


# Coins and whole numbers. Arrays hold int64 while everything fits, and Python ints beyond.

def _uniform_below(n: int, size: int, rng: np.random.Generator) -> np.ndarray:
    """`size` uniform whole numbers from 0 to n - 1; Python ints when n exceeds 2**31."""
    if n <= _BASE:
        return rng.integers(0, n, size)
    bits = (n - 1).bit_length()
    draws = np.zeros(size, dtype=object)
    for low in range(0, bits, 62):
        draws += rng.integers(0, 1 << min(62, bits - low), size).astype(object) << low
    over = np.flatnonzero(draws >= n)
    if over.size:
        draws[over] = _uniform_below(n, over.size, rng)
    return draws


def _fixed_point(top: np.ndarray, bottom: int) -> np.ndarray:
    """floor(top / bottom * 2**31) as int64, for entries top >= 0: long division, a few binary digits at a time."""
    room = 62 - bottom.bit_length()
    if top.dtype == object or room < 4:
        # Capped where e**-gamma is e**-(2**31): no run of heads will ever be that long.
        return np.minimum((top.astype(object) << _BITS) // bottom, 2**62).astype(np.int64)
    whole, rest = np.divmod(top, bottom)
    done = 0
    while done < _BITS:
        step = min(room, _BITS - done)
        digits, rest = np.divmod(rest << step, bottom)
        whole, done = (whole << step) + digits, done + step
    return whole


def _bernoulli_exp(fixed: np.ndarray, exact: Callable[[int], Fraction], rng: np.random.Generator) -> np.ndarray:
    """Coins that show heads with probability e**-gamma, 0 <= gamma <= 1 (Algorithm 1 of Canonne, Kamath and Steinke).

    Toss coins of bias gamma / 1, gamma / 2, ... up to the first tails; heads if that was an odd toss. A coin of bias
    b compares a uniform number in [0, 1) with b digit by digit: the first 31 binary digits come from `fixed`,
    floor(gamma * 2**31), since floor(floor(x) / k) = floor(x / k). Only where they agree, once in 2**31, does the
    fraction exact(i) decide.
    """
    heads = np.empty(fixed.size, dtype=bool)
    alive, k = np.arange(fixed.size), 1
    while alive.size:
        digits, draws = fixed[alive] // k, rng.integers(0, _BASE, alive.size)
        on = draws < digits
        for j in np.flatnonzero(draws == digits):
            rest = exact(alive[j]) * _BASE / k - int(digits[j])
            on[j] = _uniform_below(rest.denominator, 1, rng)[0] < rest.numerator
        heads[alive[~on]] = k % 2 == 1
        alive, k = alive[on], k + 1
    return heads


def _run_lengths(size: int, rng: np.random.Generator) -> np.ndarray:
    """How many coins of bias 1/e show heads before the first tails."""
    runs, alive, one = np.zeros(size, dtype=np.int64), np.arange(size), Fraction(1)
    while alive.size:
        alive = alive[_bernoulli_exp(np.full(alive.size, _BASE), lambda _: one, rng)]
        runs[alive] += 1
    return runs


def _discrete_laplace(t: int, s: int, size: int, rng: np.random.Generator) -> np.ndarray:
    """Draws with P(x) proportional to e**(-|x| s / t)."""
    small = t < _BASE and s < _BASE
    result, todo = np.empty(size, dtype=np.int64 if small else object), np.arange(size)
    while todo.size:
        u = _uniform_below(t, todo.size, rng)  # u + t * run is geometric with ratio e**(-1 / t)
        kept = np.flatnonzero(_bernoulli_exp(_fixed_point(u, t), lambda i, u=u: Fraction(int(u[i]), t), rng))
        magnitude = (u[kept] + t * _run_lengths(kept.size, rng).astype(result.dtype)) // s
        negative = rng.integers(0, 2, kept.size) == 1
        good = ~(negative & (magnitude == 0))  # else 0 would come up twice as often
        result[todo[kept[good]]] = np.where(negative, -magnitude, magnitude)[good]
        todo = np.delete(todo, kept[good])
    return result


def _discrete_gaussian(sigma: Fraction, size: int, rng: np.random.Generator) -> np.ndarray:
    """Discrete Laplace of scale t, accepted with probability e**-gamma, gamma = (|y| - sigma**2 / t)**2 / (2 sigma**2)."""
    variance, t = sigma * sigma, int(sigma) + 1
    top, bottom = variance.numerator, variance.denominator
    step, under = t * bottom, 2 * top * bottom * t * t  # gamma = (|y| step - top)**2 / under
    result, todo = np.empty(size, dtype=np.int64 if t < _BASE else object), np.arange(size)
    while todo.size:
        y = _discrete_laplace(t, 1, todo.size, rng)
        size_y = abs(y)
        if (max(int(size_y.max()), 1) * step + top) ** 2 >= 2**62:
            size_y = size_y.astype(object)
        over = (size_y * step - top) ** 2
        gamma = _fixed_point(over, under)
        whole = gamma >> _BITS
        kept = np.flatnonzero(_run_lengths(todo.size, rng) >= whole)  # that many coins of bias 1/e, all heads

        def rest(i, over=over, whole=whole, kept=kept):
            return Fraction(int(over[kept[i]]), under) - int(whole[kept[i]])

        kept = kept[_bernoulli_exp((gamma & (_BASE - 1))[kept], rest, rng)]
        result[todo[kept]] = y[kept]
        todo = np.delete(todo, kept)
    return result


def system_rng() -> np.random.Generator:
    """A generator whose every number is a fresh read of os.urandom: not repeatable, meant for real releases.

    It takes no seed and keeps no state, so that nothing can be repeated, not even after a fork. Some twenty times slower
    than `numpy.random.default_rng`.

    >>> isinstance(system_rng(), np.random.Generator)
    True
    """
    from dpnotes._system_bits import SystemBits

    return np.random.Generator(SystemBits())
