#!/usr/bin/env python3
"""Compares the calibration fits with scipy and scikit-learn on the same data.

Needs numpy, scipy and scikit-learn. Fails if a parameter differs by more than 1e-3.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from scipy.optimize import minimize_scalar
from sklearn.calibration import _SigmoidCalibration
from sklearn.linear_model import LogisticRegression

ROOT = Path(__file__).resolve().parent.parent
TOLERANCE = 1e-3


def logit(p):
    p = np.clip(p, 1e-10, 1 - 1e-10)
    return np.log(p / (1 - p))


def data_sets():
    """Judges that are overconfident, underconfident, biased, and calibrated."""
    rng = np.random.default_rng(20240517)
    for size in (20, 60, 400, 3000):
        for slope, intercept in ((1.0, 0.0), (0.4, 0.0), (2.0, 0.0), (0.7, -0.8), (1.3, 0.9)):
            p = rng.uniform(0.34, 0.995, size)
            truth = 1 / (1 + np.exp(-(slope * logit(p) + intercept)))
            y = (rng.uniform(size=size) < truth).astype(int)
            if 0 < y.sum() < size:
                yield p, y


def temperature(p, y):
    z = logit(p)

    def loss(steepness):
        return np.sum(np.logaddexp(0, steepness * z) - y * steepness * z)

    found = minimize_scalar(loss, bounds=(1 / 20, 20), method="bounded", options={"xatol": 1e-10})
    return 1 / found.x


def platt(p, y):
    """scikit-learn's own Platt scaling, which uses the opposite signs."""
    fitted = _SigmoidCalibration().fit(logit(p), y)
    return -fitted.a_, -fitted.b_


def platt_again(p, y):
    """The same as a weighted logistic regression: each row once as right, once as wrong."""
    right, wrong = y.sum(), (1 - y).sum()
    target = np.where(y == 1, (right + 1) / (right + 2), 1 / (wrong + 2))
    z = logit(p).reshape(-1, 1)
    model = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-12, max_iter=1000)
    model.fit(
        np.vstack([z, z]),
        np.concatenate([np.ones(len(y)), np.zeros(len(y))]),
        sample_weight=np.concatenate([target, 1 - target]),
    )
    return model.coef_[0, 0], model.intercept_[0]


def ours(sets):
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump([[[float(a), int(b)] for a, b in zip(p, y)] for p, y in sets], file)
        file.flush()
        command = ["cargo", "test", "-q", "-p", "lyra-core", "--features", "http", "--test", "core", "--"]
        command += ["--ignored", "--nocapture", "--exact", "calibration::fits_for_comparison"]
        environment = {**os.environ, "LYRA_CALIBRATION_DATA": file.name}
        run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    fits = [json.loads(line[7:]) for line in run.stdout.splitlines() if line.startswith("fitted ")]
    if len(fits) != len(sets):
        sys.exit(f"{len(fits)} fits of {len(sets)} came back\n{run.stdout}\n{run.stderr}")
    return fits


def main():
    sets = list(data_sets())
    worst = {"temperature": 0.0, "platt, scikit-learn": 0.0, "platt, logistic": 0.0}
    for (p, y), (by_temperature, by_platt) in zip(sets, ours(sets)):
        a, b = by_platt["a"], by_platt["b"]
        differences = {
            "temperature": abs(by_temperature["temperature"] - temperature(p, y)),
            "platt, scikit-learn": max(abs(np.array(platt(p, y)) - (a, b))),
            "platt, logistic": max(abs(np.array(platt_again(p, y)) - (a, b))),
        }
        for name, difference in differences.items():
            worst[name] = max(worst[name], float(difference))
    print(f"{len(sets)} data sets of 20 to 3000 outcomes; largest difference of a parameter:")
    for name, difference in worst.items():
        print(f"  {name}: {difference:.2e}")
    if max(worst.values()) > TOLERANCE:
        sys.exit(f"more than {TOLERANCE}")


if __name__ == "__main__":
    main()
