"""The privacy-loss random variable L = log(dP/dQ) under P, and its readings."""

from dpnotes.privacy_loss._base import PrivacyLoss
from dpnotes.privacy_loss._closed_forms import DiscreteLoss, GaussianLoss, LaplaceLoss
from dpnotes.privacy_loss._sampled import PoissonGaussianLoss
from dpnotes.privacy_loss._sums import IndependentSum, independent_sum

__all__ = ["DiscreteLoss", "GaussianLoss", "IndependentSum", "LaplaceLoss", "PoissonGaussianLoss", "PrivacyLoss", "independent_sum"]
