"""The privacy-loss random variable L = log(dP/dQ) under P, and its readings."""

from dpnotes.privacy_loss._base import PrivacyLoss
from dpnotes.privacy_loss._closed_forms import DiscreteLoss, GaussianLoss, LaplaceLoss

__all__ = ["DiscreteLoss", "GaussianLoss", "LaplaceLoss", "PrivacyLoss"]
