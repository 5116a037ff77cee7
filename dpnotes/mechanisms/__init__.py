"""Mechanisms: randomized functions of the data, each with its privacy loss."""

from dpnotes.mechanisms import broken
from dpnotes.mechanisms._additive import Additive, Gaussian, Laplace
from dpnotes.mechanisms._base import Mechanism
from dpnotes.mechanisms._discrete import DiscreteGaussian, DiscreteLaplace, GridLaplace
from dpnotes.mechanisms._local import RandomizedResponse, UnaryEncoding
from dpnotes.mechanisms._queries import (
    Released,
    bounded_sum,
    clamp,
    histogram_sensitivity,
    mean_sensitivity,
    private_histogram,
    private_mean,
    private_quantile,
    private_sum,
    private_variance,
    sum_sensitivity,
    variance_sensitivity,
    vector_sensitivity,
)
from dpnotes.mechanisms._sampled import PoissonSampled, SampledWithoutReplacement
from dpnotes.mechanisms._selection import ExponentialMechanism, PermuteAndFlip, ReportNoisyMax, Selection
from dpnotes.mechanisms._shuffled import ShuffledRandomizedResponse
from dpnotes.mechanisms._sparse_vector import AboveThreshold, SparseVector
from dpnotes.mechanisms._threshold import ThresholdedCount

__all__ = [
    "AboveThreshold", "Additive", "DiscreteGaussian", "DiscreteLaplace", "ExponentialMechanism", "Gaussian", "GridLaplace",
    "Laplace", "Mechanism", "PermuteAndFlip", "PoissonSampled", "RandomizedResponse", "Released", "ReportNoisyMax",
    "SampledWithoutReplacement", "Selection", "ShuffledRandomizedResponse", "SparseVector", "ThresholdedCount", "UnaryEncoding",
    "bounded_sum", "broken", "clamp", "histogram_sensitivity", "mean_sensitivity", "private_histogram", "private_mean",
    "private_quantile", "private_sum", "private_variance", "sum_sensitivity", "variance_sensitivity", "vector_sensitivity",
]
