"""What every mechanism offers."""

from __future__ import annotations

from abc import ABC, abstractmethod

from dpnotes._validate import fail
from dpnotes.privacy_loss import PrivacyLoss

NEIGHBORS = ("add/remove one record", "replace one record")


def neighbor_relation(value: str) -> str:
    if not isinstance(value, str) or value not in NEIGHBORS:
        raise fail("neighbors", value, " or ".join(map(repr, NEIGHBORS)))
    return value


class Mechanism(ABC):
    """A randomized function of the data with a known privacy loss.

    `neighbors` names the relation under which the loss holds. `privacy_losses` gives the loss of every direction that no
    other one dominates; `privacy_loss` is the short way where one entry speaks for all.
    """

    neighbors: str = NEIGHBORS[0]

    @abstractmethod
    def privacy_losses(self) -> dict[str, PrivacyLoss]:
        """The privacy losses by direction of the change; a guarantee takes the largest reading of them."""

    def privacy_loss(self) -> PrivacyLoss:
        """The one privacy loss that covers every ordered pair of neighbors, where there is one; ValueError where not."""
        losses = self.privacy_losses()
        if len(losses) > 1:
            raise ValueError(f"{self!r} has a privacy loss for each of {', '.join(losses)}, and none covers the others: "
                             "read all of privacy_losses() and keep the largest value.")
        return next(iter(losses.values()))
