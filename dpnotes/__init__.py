"""dpnotes: the privacy loss, the mechanisms that make it, the accountants that add it up.

The helper package of the book. Every public name is importable from here and is loaded on first use, so that
``import dpnotes as dp`` costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "dpnotes.privacy_loss": ["DiscreteLoss", "GaussianLoss", "LaplaceLoss", "PrivacyLoss"],
    "dpnotes.mechanisms": ["Gaussian", "Laplace", "RandomizedResponse", "ThresholdedCount"],
    "dpnotes.information_density": ["ClaytonMixture", "GaussianNoise", "JointLaw", "LaplaceNoise", "best_channel", "bettor",
                                    "burglar", "most_informative_channel"],
    "dpnotes.data": ["load_adult"],
    "dpnotes.exercises": ["check"],
    "dpnotes.explorer": ["explore", "show"],
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}
__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'dpnotes' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
