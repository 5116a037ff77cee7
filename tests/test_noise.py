"""The samplers' laws, at fixed seeds; each law test was set to raise a false alarm once in a million seeds."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from dpnotes import noise

FALSE_ALARM = 1e-6
SAMPLERS = {"laplace": (noise.laplace, "scale", lambda s: stats.laplace(scale=s)),
            "gaussian": (noise.gaussian, "sigma", lambda s: stats.norm(scale=s))}
samplers = pytest.mark.parametrize("name", SAMPLERS)


@samplers
@pytest.mark.parametrize("scale", [1e-3, 1.0, 250.0])
def test_law(name, scale):
    draw, _, law = SAMPLERS[name]
    sample = draw(scale, 20_000, rng=np.random.default_rng(21))
    assert stats.kstest(sample, law(scale).cdf).pvalue > FALSE_ALARM
    # Neighbors in the stream are independent: their correlation is normal with standard deviation 1 / sqrt(n).
    correlation = np.corrcoef(sample[:-1], sample[1:])[0, 1]
    assert abs(correlation) * len(sample) ** 0.5 < stats.norm.isf(FALSE_ALARM / 2)


@samplers
def test_shapes_and_generators(name):
    draw, _, _ = SAMPLERS[name]
    assert np.shape(draw(1.0)) == () and draw(1.0, 0).shape == (0,) and draw(1.0, (2, 3)).shape == (2, 3)
    np.testing.assert_array_equal(draw(2.0, 5, rng=np.random.default_rng(4)),
                                  draw(np.float32(2), 5, rng=np.random.default_rng(4)))
    rng = np.random.default_rng(4)
    first, second = draw(1, 50, rng=rng), draw(1, 50, rng=rng)
    assert len(np.unique(np.concatenate([first, second]))) == 100  # M10: a shared generator moves on
    assert np.all(draw(1, 50) != draw(1, 50))


@samplers
@pytest.mark.parametrize("bad", [-1, -1e-300, np.inf, np.nan, "1", None, True, [1.0], 1j])
def test_bad_scale_before_any_randomness(name, bad):
    draw, argument, _ = SAMPLERS[name]
    rng = np.random.default_rng(4)
    before = rng.bit_generator.state
    with pytest.raises(ValueError, match=rf"^{argument} = "):
        draw(bad, 3, rng=rng)
    assert rng.bit_generator.state == before
    with pytest.raises(ValueError, match=r"^rng = "):
        draw(1.0, 3, rng=5)


def test_no_noise():
    assert noise.gaussian(0, 3, rng=np.random.default_rng(1)).tolist() == [0.0, 0.0, 0.0]
    with pytest.raises(ValueError, match=r"^scale = 0"):
        noise.laplace(0)
