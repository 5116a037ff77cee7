"""Train DP-SGD on Adult over and over; store the accuracies in dpnotes/data/dp_sgd_adult.csv. ``python tools/dp_sgd_table.py``.

The figure of privacy against accuracy reads the table, since it may not train a thousand models while a slider moves. A few
minutes on one core.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dpnotes import sigma_for
from dpnotes.dp_sgd import accuracy, adult_features, train

TABLE = Path(__file__).resolve().parents[1] / "dpnotes" / "data" / "dp_sgd_adult.csv"
EPSILONS, EPOCHS, SEEDS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, np.inf), range(1, 21), range(11)
BATCH, DELTA, RATE = 512, 1e-5, 2.0


def accuracies(epochs: int, epsilon: float, seeds: range = SEEDS) -> np.ndarray:
    """How often models trained for so many passes at this epsilon are right on Adult's test rows, one number a seed."""
    rows, test = adult_features("train"), adult_features("test")
    n = len(rows[1])
    steps = round(epochs * n / BATCH)
    noise = 0.0 if np.isinf(epsilon) else sigma_for(epsilon, DELTA, q=BATCH / n, times=steps)
    runs = [train(*rows, expected_batch=BATCH, steps=steps, noise_multiplier=noise, learning_rate=RATE,
                  rng=np.random.default_rng(seed)) for seed in seeds]
    return np.array([accuracy(run.weights, *test) for run in runs])


def main() -> None:
    lines = ["# Made by tools/dp_sgd_table.py: logistic regression on Adult, expected batch 512, clip norm 1, learning rate 2,",
             "# delta 1e-5. Accuracy on the test rows over 11 seeds; an epsilon of inf is no noise.",
             "epochs,epsilon,median,lowest,highest"]
    for epochs in EPOCHS:
        for epsilon in EPSILONS:
            found = accuracies(epochs, epsilon)
            lines.append(f"{epochs},{epsilon:g},{np.median(found):.4f},{found.min():.4f},{found.max():.4f}")
        print(epochs, "passes done", flush=True)
    TABLE.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
