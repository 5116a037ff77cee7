"""What an exercise holds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Exercise:
    """One question. `answer` computes the truth; each of `mistakes` maps a wrong value to what went wrong."""

    chapter: int
    answer: Callable[[], Any]
    hint: str
    mistakes: dict[str, Callable[[], Any]] = field(default_factory=dict)
    arguments: tuple | None = None  # given where the answer is a function: what to call it with
