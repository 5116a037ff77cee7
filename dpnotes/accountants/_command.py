"""``dpnotes epsilon``: the privacy statement of a training run, for someone who only wants the number."""

from __future__ import annotations

import argparse
from typing import Any

from dpnotes._validate import count, positive, probability, scalar
from dpnotes.accountants._base import Accountant
from dpnotes.accountants._guarantees import EITHER
from dpnotes.accountants._numerical import NumericalAccountant
from dpnotes.accountants._renyi import RenyiAccountant
from dpnotes.privacy_loss import GaussianLoss, PoissonGaussianLoss, PrivacyLoss

ROUTES = {"numerical": NumericalAccountant, "renyi": RenyiAccountant}


class SampledGaussianRun:
    """One step of noisy gradient descent, as the command line knows it: sigma, q and nothing else."""

    neighbors = "add/remove one record"

    def __init__(self, sigma: float, q: float) -> None:
        self.sigma, self.q = scalar("sigma", positive("sigma", sigma)), scalar("q", probability("q", q))

    def __repr__(self) -> str:
        return f"SampledGaussianRun(sigma={self.sigma:g}, q={self.q:g})"

    @property
    def sampling(self) -> str | None:
        """How the records of a step are chosen, for the statement."""
        return None if self.q == 1 else f"Poisson sampling q={self.q:g}"

    def privacy_losses(self) -> dict[str, PrivacyLoss]:
        """Both directions, or one where the record is always in the sample."""
        if self.q in (0, 1):
            return {EITHER: GaussianLoss(self.q / self.sigma)}
        return {direction: PoissonGaussianLoss(self.q, 1 / self.sigma, direction) for direction in ("remove", "add")}


def epsilon_ledger(sigma: float, q: float, steps: float, route: str = "numerical") -> Accountant:
    """The ledger of `steps` Gaussian steps with noise multiplier sigma on Poisson samples of rate q."""
    whole = int(steps) if isinstance(steps, float) and steps.is_integer() else steps  # 1e3 is a thousand
    return ROUTES[route]().add(SampledGaussianRun(sigma, q), count("steps", whole))


def epsilon_command(options: Any) -> int:
    """Print the statement for `options.sigma`, `q`, `steps`, `delta` and `route`; 0 when all went well.

    >>> epsilon_command(argparse.Namespace(sigma=2.0, q=1.0, steps=20, delta=1e-6, route="renyi"))
    (13.374, 1e-06)-DP, add/remove one record, upper bound
    0
    """
    delta = scalar("delta", probability("delta", options.delta))
    print(epsilon_ledger(options.sigma, options.q, options.steps, options.route).statement(delta=delta))
    return 0


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Add the command ``epsilon`` to an argparse object's subparsers; its `run` default is `epsilon_command`."""
    parser = subparsers.add_parser("epsilon", help="the (epsilon, delta) of Gaussian steps on Poisson samples (DP-SGD)")
    parser.add_argument("--sigma", type=float, required=True, help="noise multiplier: standard deviation over clipping norm")
    parser.add_argument("--q", type=float, default=1.0, help="sampling rate: expected batch size over records (1: no sampling)")
    parser.add_argument("--steps", type=float, required=True, help="number of noisy steps, epochs / q; 1e3 is fine")
    parser.add_argument("--delta", type=float, required=True, help="between 0 and 1, well below 1 / number of records")
    parser.add_argument("--route", choices=tuple(ROUTES), default="numerical", help="how to add up: numerical is the sharpest")
    parser.set_defaults(run=epsilon_command)
    return parser
