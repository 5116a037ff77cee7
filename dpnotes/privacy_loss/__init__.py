"""The privacy-loss random variable L = log(dP/dQ) under P, and its readings."""

from dpnotes.privacy_loss._base import PrivacyLoss
from dpnotes.privacy_loss._closed_forms import DiscreteLoss, GaussianLoss, LaplaceLoss
from dpnotes.privacy_loss._lattice import DiscreteGaussianLoss
from dpnotes.privacy_loss._sampled import PoissonGaussianLoss, poisson_sampled_loss
from dpnotes.privacy_loss._sums import IndependentSum, independent_sum

__all__ = ["DiscreteGaussianLoss", "DiscreteLoss", "GaussianLoss", "IndependentSum", "LaplaceLoss", "PoissonGaussianLoss",
           "PrivacyLoss", "independent_sum", "poisson_sampled_loss"]
