"""Mechanisms: randomized functions of the data, each with its privacy loss."""

from dpnotes.mechanisms._additive import Gaussian, Laplace
from dpnotes.mechanisms._base import Mechanism
from dpnotes.mechanisms._local import RandomizedResponse
from dpnotes.mechanisms._threshold import ThresholdedCount

__all__ = ["Gaussian", "Laplace", "Mechanism", "RandomizedResponse", "ThresholdedCount"]
