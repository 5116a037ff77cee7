"""dpnotes: the privacy loss, the mechanisms that make it, the accountants that add it up.

The helper package of the book. Every public name is importable from here and is loaded on first use, so that
``import dpnotes as dp`` costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "dpnotes.privacy_loss": ["DiscreteGaussianLoss", "DiscreteLoss", "GaussianLoss", "LaplaceLoss", "PoissonGaussianLoss",
                             "PrivacyLoss", "poisson_sampled_loss"],
    "dpnotes.mechanisms": [
        "AboveThreshold", "DiscreteGaussian", "DiscreteLaplace", "ExponentialMechanism", "Gaussian", "GridLaplace", "Laplace",
        "Mechanism", "PermuteAndFlip", "PoissonSampled", "RandomizedResponse", "Released", "ReportNoisyMax",
        "SampledWithoutReplacement", "ShuffledRandomizedResponse", "SparseVector", "ThresholdedCount", "UnaryEncoding",
        "bounded_sum", "clamp", "histogram_sensitivity", "mean_sensitivity", "private_histogram", "private_mean",
        "private_quantile", "private_sum", "private_variance", "sum_sensitivity", "variance_sensitivity", "vector_sensitivity",
    ],
    "dpnotes.accountants": [
        "GDP", "RDP", "ZCDP", "Accountant", "AdvancedAccountant", "ApproxDP", "BasicFilter", "FullyAdaptiveFilter",
        "GDPAccountant", "Guarantee", "NumericalAccountant", "Parallel", "PureAccountant", "PureDP", "Refused",
        "RenyiAccountant", "RenyiFilter", "ZCDPAccountant", "ZCDPOdometer", "q_for", "sigma_for", "times_for",
    ],
    "dpnotes.exchange_table": ["compare", "exchange"],
    "dpnotes.ex_post": ["AboveThresholdCheck", "AccuracyFirst", "ApproximateExPost", "Bounded", "BrownianMechanism", "Filter",
                        "FinitePair", "GaussianCheck", "LaplaceReduction", "LinearBoundary", "Odometer", "OneSidedMixture",
                        "ProbabilisticExPost", "PureExPost", "ReducedAboveThresholdCheck", "RenyiExPost", "StitchedBoundary",
                        "TwoSidedMixture"],
    "dpnotes.information_density": ["ClaytonMixture", "GaussianNoise", "JointLaw", "LaplaceNoise", "best_channel", "bettor",
                                    "burglar", "most_informative_channel"],
    "dpnotes.data": ["load_adult"],
    "dpnotes.exercises": ["check"],
    "dpnotes.explorer": ["explore", "show"],
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}
# What is not exported by name is found in these: dp.conversions.pure_to_zcdp, dp.mechanisms.broken, dp.ex_post.doubling.
_PACKAGES = {"accountants", "conversions", "dp_sgd", "ex_post", "figures", "information_density", "mechanisms",
             "privacy_loss"}
__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return importlib.import_module(f"dpnotes.{name}")
    if name not in _HOME_OF:
        raise AttributeError(f"module 'dpnotes' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_PACKAGES})
