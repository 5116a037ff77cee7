"""The data that ships with the book: UCI Adult, packed (source and licence in ADULT.md beside this file)."""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files

import numpy as np

from dpnotes._validate import fail

_TRAINING_ROWS = 32_561


@lru_cache(maxsize=1)
def _columns() -> dict[str, np.ndarray]:
    with (files("dpnotes.data") / "adult.npz").open("rb") as stream, np.load(stream, allow_pickle=False) as packed:
        stored = dict(packed)
    columns = {}
    for name in [name for name in stored if not name.endswith("_names")]:
        names = stored.get(f"{name}_names")
        columns[name] = stored[name].astype(np.int64) if names is None else names[stored[name]]
        columns[name].flags.writeable = False
    return columns


def load_adult(part: str = "all") -> dict[str, np.ndarray]:
    """UCI Adult ("Census Income"), one row a person: a dict of 15 columns, whole numbers or text; "?" marks a missing entry.

    Parameters
    ----------
    part : "all" for the 48,842 rows, "train" for the first 32,561 (adult.data), "test" for the other 16,281 (adult.test).

    References
    ----------
    Becker and Kohavi (1996), Adult, UCI Machine Learning Repository, DOI 10.24432/C5XW20, licence CC BY 4.0.

    >>> int((load_adult()["sex"] == "Female").sum())
    16192
    """
    parts = {"all": slice(None), "train": slice(_TRAINING_ROWS), "test": slice(_TRAINING_ROWS, None)}
    if not isinstance(part, str) or part not in parts:
        raise fail("part", part, " or ".join(map(repr, parts)))
    return {name: values[parts[part]] for name, values in _columns().items()}
