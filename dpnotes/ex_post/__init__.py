"""Ex-post privacy: mechanisms that return their own privacy bound, noise that can be reduced, and when to stop."""

from dpnotes.ex_post import not_anytime_valid
from dpnotes.ex_post._boundaries import Boundary, LinearBoundary, OneSidedMixture, StitchedBoundary, TwoSidedMixture
from dpnotes.ex_post._checks import (
    AboveThresholdCheck,
    Answer,
    Check,
    GaussianCheck,
    PrivateCheck,
    PublicCheck,
    ReducedAboveThresholdCheck,
    check_margin,
    reduced_above_threshold,
)
from dpnotes.ex_post._composition import Filter, Odometer
from dpnotes.ex_post._conversions import best_alpha, renyi_to_approximate, renyi_to_probabilistic
from dpnotes.ex_post._definitions import (
    ApproximateExPost,
    Bounded,
    ExPostDefinition,
    ProbabilisticExPost,
    PureExPost,
    RenyiExPost,
)
from dpnotes.ex_post._finite import FinitePair
from dpnotes.ex_post._loop import AccuracyFirst, Outcome, Step
from dpnotes.ex_post._reduction import BrownianMechanism, FreshLaplace, LaplaceReduction, ReducibleRelease, doubling, laplace_walk
from dpnotes.ex_post._simulation import Estimate, crossing_frequency, estimate_mean, simulate_stopping

__all__ = ["AboveThresholdCheck", "AccuracyFirst", "Answer", "ApproximateExPost", "Boundary", "Bounded", "BrownianMechanism",
           "Check", "Estimate", "ExPostDefinition", "Filter", "FinitePair", "FreshLaplace", "GaussianCheck", "LaplaceReduction",
           "LinearBoundary", "Odometer", "OneSidedMixture", "Outcome", "PrivateCheck", "ProbabilisticExPost", "PublicCheck",
           "PureExPost", "ReducedAboveThresholdCheck", "ReducibleRelease", "RenyiExPost", "Step", "StitchedBoundary",
           "TwoSidedMixture", "best_alpha", "check_margin", "crossing_frequency", "doubling", "estimate_mean", "laplace_walk",
           "not_anytime_valid", "reduced_above_threshold", "renyi_to_approximate", "renyi_to_probabilistic", "simulate_stopping"]
