"""The checks behind the exercises: `check(name, answer)` says right or wrong and why, and never shows the answer.

An exercise holds a function that computes the right answer, so that no answer is typed anywhere, and the mistakes worth
telling apart, each as a wrong answer that a slip would give. What a reader sees is worded here, from a code. One module
a chapter holds its exercises.
"""

from __future__ import annotations

import difflib
import importlib
import pkgutil
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from dpnotes._validate import fail
from dpnotes.exercises._exercise import Exercise

EXERCISES: dict[str, Exercise] = {}
for _module in sorted(module.name for module in pkgutil.iter_modules(__path__) if module.name.startswith("chapter")):
    EXERCISES |= importlib.import_module(f"dpnotes.exercises.{_module}").EXERCISES


@dataclass(frozen=True)
class Verdict:
    """What `check` says. `code` is "open", "right", "near", "mistake" or "wrong"."""

    name: str
    code: str
    why: str = ""

    def __str__(self) -> str:
        words = {"open": "not answered yet", "right": "right", "near": "nearly: give at least four digits",
                 "mistake": "not yet", "wrong": "not yet"}[self.code]
        return f"{self.name}: {words}. {self.why}".strip()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        sign = {"open": "○", "right": "✓", "near": "≈"}.get(self.code, "✗")
        return f'<div class="dp-verdict dp-verdict-{self.code}"><span aria-hidden="true">{sign}</span> {escape(str(self))}</div>'


def check(name: str, answer: Any = None) -> Verdict:
    """Check an answer to the exercise `name`: a number, a tuple or array of numbers, or a function, as the question asks.

    With no answer (None or ...) it says so and does not raise. Numbers are compared to a relative 1e-4, so four right
    digits pass. An unknown name is a ValueError that suggests the nearest one.
    """
    if not isinstance(name, str) or name not in EXERCISES:
        near = difflib.get_close_matches(str(name), EXERCISES, n=1)
        raise fail("name", name, "the name of an exercise" + (f" (did you mean {near[0]!r}?)" if near else ""))
    exercise = EXERCISES[name]
    if answer is None or answer is ...:
        return Verdict(name, "open")
    truth = exercise.answer()
    try:
        given = _values(answer, exercise)
    except Exception as error:  # the reader's own function may raise anything
        return Verdict(name, "wrong", f"The answer could not be read: {type(error).__name__}: {error}.")
    expected = _values(truth, exercise)
    if given.shape != expected.shape:
        wanted = {0: "one number"}.get(expected.ndim, f"{expected.size} numbers")
        return Verdict(name, "wrong", f"The answer should be {wanted}.")
    if _close(given, expected, 1e-4):
        return Verdict(name, "right")
    for why, mistake in exercise.mistakes.items():
        if _close(given, _values(mistake(), exercise), 1e-3):
            return Verdict(name, "mistake", why)
    if _close(given, expected, 2e-2):
        return Verdict(name, "near")
    return Verdict(name, "wrong", exercise.hint)


def _values(answer: Any, exercise: Exercise) -> np.ndarray:
    if exercise.arguments is not None:
        if not callable(answer):
            raise TypeError("a function is asked for")
        answer = answer(*exercise.arguments)
    if np.asarray(answer).dtype.kind not in "iufO":  # neither True nor "1" is the number 1 here
        raise TypeError("real numbers are asked for")
    return np.asarray(answer, dtype=float)


def _close(given: np.ndarray, expected: np.ndarray, tolerance: float) -> bool:
    return bool(np.allclose(given, expected, rtol=tolerance, atol=1e-9))
