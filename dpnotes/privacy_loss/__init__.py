"""The privacy-loss random variable L = log(dP/dQ) under P, and its readings."""

from dpnotes.privacy_loss._base import PrivacyLoss
from dpnotes.privacy_loss._closed_forms import DiscreteLoss, GaussianLoss, LaplaceLoss
from dpnotes.privacy_loss._lattice import DiscreteGaussianLoss

__all__ = ["DiscreteGaussianLoss", "DiscreteLoss", "GaussianLoss", "LaplaceLoss", "PrivacyLoss"]
