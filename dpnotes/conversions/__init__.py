"""What a guarantee in one currency is worth in another.

Every function says whether it is exact, tight or loose and which way it bounds. Names read ``from_to_to``: `pure_to_zcdp`.
Where no conversion exists there is no function, and `dpnotes.exchange_table` says why. A known privacy loss converts to all
currencies by its own readings: `PrivacyLoss.delta`, `renyi`, `maximum`, `tail`.
"""

from dpnotes.conversions._composition import (
    advanced_composition,
    basic_composition,
    kov_closed_form,
    optimal_composition,
)
from dpnotes.conversions._curves import (
    best_order,
    rdp_curve_to_delta,
    rdp_curve_to_epsilon,
    rdp_curve_to_zcdp,
    zcdp_to_delta,
    zcdp_to_epsilon,
    zcdp_to_epsilon_bun_steinke,
    zcdp_to_rdp,
)
from dpnotes.conversions._gaussian import (
    approx_to_gdp_mu,
    approx_to_tradeoff,
    compose_gdp,
    delta_to_tradeoff,
    gdp_to_delta,
    gdp_to_epsilon,
    gdp_to_rdp,
    gdp_to_tradeoff,
    gdp_to_zcdp,
    tradeoff_to_delta,
    zcdp_to_gdp,
)
from dpnotes.conversions._pure import (
    amplify_by_sampling,
    approx_to_loss,
    approx_to_zcdp,
    membership_advantage,
    pure_to_delta,
    pure_to_epsilon,
    pure_to_gdp,
    pure_to_loss,
    pure_to_rdp,
    pure_to_zcdp,
    shuffle_epsilon,
)
from dpnotes.conversions._renyi import (
    rdp_to_delta,
    rdp_to_delta_cks,
    rdp_to_delta_mironov,
    rdp_to_epsilon,
    rdp_to_epsilon_cks,
    rdp_to_epsilon_mironov,
)

__all__ = [
    "advanced_composition", "amplify_by_sampling", "approx_to_gdp_mu", "approx_to_loss", "approx_to_tradeoff",
    "approx_to_zcdp", "basic_composition", "best_order", "compose_gdp", "delta_to_tradeoff", "gdp_to_delta", "gdp_to_epsilon",
    "gdp_to_rdp", "gdp_to_tradeoff", "gdp_to_zcdp", "kov_closed_form", "membership_advantage", "optimal_composition",
    "pure_to_delta", "pure_to_epsilon", "pure_to_gdp", "pure_to_loss", "pure_to_rdp", "pure_to_zcdp", "rdp_curve_to_delta",
    "rdp_curve_to_epsilon", "rdp_curve_to_zcdp", "rdp_to_delta", "rdp_to_delta_cks", "rdp_to_delta_mironov", "rdp_to_epsilon",
    "rdp_to_epsilon_cks", "rdp_to_epsilon_mironov", "shuffle_epsilon", "tradeoff_to_delta", "zcdp_to_delta", "zcdp_to_epsilon",
    "zcdp_to_epsilon_bun_steinke", "zcdp_to_gdp", "zcdp_to_rdp",
]
