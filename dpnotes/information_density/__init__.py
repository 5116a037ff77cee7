"""Information density i(x; y) = log P(x|y) / P(x): leakage is its largest value, cost its smallest, LDP their distance."""

from dpnotes.information_density._additive import GaussianNoise, LaplaceNoise, PointPrior, UniformPrior, mean_cost
from dpnotes.information_density._adversary import Adversary, bettor, burglar, doubter, guesser
from dpnotes.information_density._clayton import ClaytonMixture
from dpnotes.information_density._conversions import (
    alip_to_ldp,
    ldp_to_pmc,
    ldp_to_pml,
    pmc_to_pml,
    pml_to_pmc,
    randomized_response_maximal_leakage,
    randomized_response_pmc,
    randomized_response_pml,
)
from dpnotes.information_density._design import best_channel, most_informative_channel
from dpnotes.information_density._examples import (
    one_other,
    randomized_response,
    rarest_or_not,
    reveal,
    tight_pmc_to_pml,
    tight_pml_to_pmc,
    z_channel,
)
from dpnotes.information_density._joint import JointLaw

__all__ = ["Adversary", "ClaytonMixture", "GaussianNoise", "JointLaw", "LaplaceNoise", "PointPrior",
           "UniformPrior", "alip_to_ldp", "best_channel", "bettor", "burglar", "doubter", "guesser", "ldp_to_pmc",
           "ldp_to_pml", "mean_cost", "most_informative_channel", "one_other", "pmc_to_pml", "pml_to_pmc",
           "randomized_response", "randomized_response_maximal_leakage", "randomized_response_pmc",
           "randomized_response_pml", "rarest_or_not", "reveal", "tight_pmc_to_pml", "tight_pml_to_pmc",
           "z_channel"]
