"""Ledgers: each reads one history of mechanisms by one theory of composition."""

from dpnotes.accountants._base import Accountant
from dpnotes.accountants._calibration import q_for, sigma_for, times_for
from dpnotes.accountants._numerical import NumericalAccountant

__all__ = ["Accountant", "NumericalAccountant", "q_for", "sigma_for", "times_for"]
