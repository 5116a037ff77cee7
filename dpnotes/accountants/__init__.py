"""Ledgers: each reads one history of mechanisms by one theory of composition."""

from dpnotes.accountants._base import Accountant
from dpnotes.accountants._calibration import q_for, sigma_for, times_for
from dpnotes.accountants._filters import BasicFilter, FullyAdaptiveFilter, Refused, RenyiFilter, ZCDPOdometer
from dpnotes.accountants._guarantees import GDP, RDP, ZCDP, ApproxDP, Guarantee, Parallel, PureDP
from dpnotes.accountants._numerical import NumericalAccountant
from dpnotes.accountants._pure import AdvancedAccountant, PureAccountant
from dpnotes.accountants._renyi import GDPAccountant, RenyiAccountant, ZCDPAccountant

__all__ = [
    "GDP",
    "RDP",
    "ZCDP",
    "Accountant",
    "AdvancedAccountant",
    "ApproxDP",
    "BasicFilter",
    "FullyAdaptiveFilter",
    "GDPAccountant",
    "Guarantee",
    "NumericalAccountant",
    "Parallel",
    "PureAccountant",
    "PureDP",
    "Refused",
    "RenyiAccountant",
    "RenyiFilter",
    "ZCDPAccountant",
    "ZCDPOdometer",
    "q_for",
    "sigma_for",
    "times_for",
]
