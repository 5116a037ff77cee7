"""Moments at very many points of a line at once, from samples of delta and one Fourier transform, with a bounded error.

e**(c l) delta(l) has the Fourier transform M(c + iy) / (z (z + 1)), so by Poisson's formula its samples at a step h give,
exactly,

    h sum_n e**(z l_n) delta(l_n) = sum_k M(z_k) / (z_k (z_k + 1)),    z_k = z + 2 pi i k / h.

The k = 0 term is wanted; the others are bounded by what the loss knows about |M| far out (`_modulus`). They shrink like
h**2, and like |M| itself, which for a loss with a density falls faster than any power of h.
"""

from __future__ import annotations

from math import ceil, log, log2

import numpy as np

from dpnotes._validate import FloatArray
from dpnotes.privacy_loss._special import UNIT, logsumexp

FINEST = 2**19
BLOCK = 2**13


def log_chernoff(t: FloatArray) -> FloatArray:
    """log max over l of (1 - e**-l)_+ e**(-t l): delta(epsilon) is at most e**(this - t epsilon) M(t) for every t > 0."""
    return t * np.log(t / (1 + t)) - np.log1p(t)


def moments_from_delta(loss, z: np.ndarray, digits: float = 40.0, seen: float = 26.0) -> tuple[np.ndarray, FloatArray]:
    """log M at z = c + i j H, j = 0, 1, ..., and a bound on the relative error of each M.

    loss : supplies `_tilted_delta(l, tilt)`, e**tilt delta(l) with a bound on its rounding error; `_cumulant`, `_modulus`,
    `minimum`, `swapped`.
    """
    c, step = float(z[0].real), float(z[1].imag)
    period = 2 * np.pi / step
    points = 2 ** ceil(log2(4 * (len(z) - 1)))
    while True:  # finer until what folds over cannot be seen, or it gets too long
        h = period / points
        folded = float(loss._modulus(c, np.array([1.5 * np.pi / h]))[0]) + 2 * np.log(h / (2 * np.pi)) + np.log(4.2)
        # z (z + 1) leaves again in the sum over nodes. The finest step takes twice as long: only where little is seen without.
        if folded + np.log(len(z)) < (-seen if points < FINEST // 2 else 14 - seen) or points >= FINEST:
            break
        points *= 2
    t = c + np.exp2(np.arange(-4.0, 24.0)) * max(c, 1.0) / 64
    level = float(loss._cumulant(np.array([c]))[0])
    with np.errstate(invalid="ignore"):
        last = float(np.nanmin((loss._cumulant(t) + log_chernoff(t) - level + digits) / (t - c)))
    first, left = float(loss.minimum), -np.inf
    if first == -np.inf:  # left of `first` delta is 1 - e**l but for e**l delta'(-l), delta' of the swapped pair
        s = np.exp2(np.arange(-20.0, 12.0))
        bound = loss.swapped._cumulant(s) + log_chernoff(s)
        first = float(np.max(-(bound - level + digits) / (c + 1 + s)))
        left = float(np.min(bound + (c + 1 + s) * first)) - np.log(c + 1)
    last = first + h * (count := ceil((last - first) / h))
    with np.errstate(invalid="ignore"):
        right = float(np.nanmin(loss._cumulant(t) + log_chernoff(t) - (t - c) * (last - h) - np.log(t - c)))
    # everything relative to e**(c first)
    terms, rounding, block = np.zeros(points), 0.0, min(BLOCK, points)
    for start in range(0, count, block):  # blocks stay in the processor's cache; what is a period further on adds up
        n = np.arange(start, min(start + block, count))
        tilt = log(h) + c * h * n
        part, error = loss._tilted_delta(first + h * n, tilt)
        terms[n[0] % points : n[0] % points + len(n)] += part
        rounding += float(error.sum() + UNIT * (part @ (3 * np.abs(tilt) + 8)))
    transform = np.conj(np.fft.rfft(terms)[: len(z)])
    rounding += UNIT * 6 * np.log2(points) * np.sqrt(points) * float(np.linalg.norm(terms))
    below = h * (1 / np.expm1(z * h) - np.exp(first) / np.expm1((z + 1) * h))
    rounding += UNIT * 12 / c
    missed = np.exp(logsumexp(np.array([folded, left, right])) - c * first)
    kernel = z * (z + 1)
    moment = kernel * (transform + below)
    size = np.maximum(np.abs(moment), 1e-300)
    error = np.abs(kernel) * (rounding + missed) / size + UNIT * (8 + 2 * np.abs(z * first))
    return np.log(size) + 1j * np.angle(moment) + z * first, error
