"""Mechanisms: randomized functions of the data, each with its privacy loss."""

from dpnotes.mechanisms._additive import Gaussian, Laplace
from dpnotes.mechanisms._base import Mechanism
from dpnotes.mechanisms._discrete import DiscreteGaussian, DiscreteLaplace, GridLaplace
from dpnotes.mechanisms._local import RandomizedResponse
from dpnotes.mechanisms._threshold import ThresholdedCount

__all__ = ["DiscreteGaussian", "DiscreteLaplace", "Gaussian", "GridLaplace", "Laplace", "Mechanism", "RandomizedResponse",
           "ThresholdedCount"]
