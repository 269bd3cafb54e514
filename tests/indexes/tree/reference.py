"""What is right: each node's problem written down in float64 and solved by scipy, one node at a time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import optimize


def primal(w: NDArray[np.float64], X, y, cost, loss: str) -> float:
    """|w|²/2 + sum of cost · loss(y · w.x)."""
    margin = y * (X @ w)
    if loss == "squared_hinge":
        values = np.maximum(0, 1 - margin) ** 2
    elif loss == "hinge":
        values = np.maximum(0, 1 - margin)
    else:
        values = np.logaddexp(0, -margin)
    return float(w @ w / 2 + cost @ values)


def _slopes(margin, loss: str):
    if loss == "squared_hinge":
        return -2 * np.maximum(0, 1 - margin)
    return -1 / (1 + np.exp(margin))


def _solve_smooth(X, y, cost, loss: str) -> NDArray[np.float64]:
    def gradient(w):
        return w + X.T @ (cost * y * _slopes(y * (X @ w), loss))

    found = optimize.minimize(
        primal, np.zeros(X.shape[1]), (X, y, cost, loss), jac=lambda w, *_: gradient(w), method="L-BFGS-B",
        options={"maxiter": 5000, "ftol": 1e-15, "gtol": 1e-10},
    )  # fmt: skip
    return found.x


def _solve_hinge(X, y, cost) -> NDArray[np.float64]:
    """Through the dual, a quadratic in a box: max sum(a) - |sum(a y x)|²/2, 0 <= a <= cost."""
    signed = X * y[:, None]

    def negative_dual(a):
        w = signed.T @ a
        return w @ w / 2 - a.sum(), signed @ w - 1

    found = optimize.minimize(
        negative_dual, np.zeros(len(y)), jac=True, method="L-BFGS-B", bounds=[(0, c) for c in cost],
        options={"maxiter": 20000, "maxfun": 40000, "ftol": 1e-16, "gtol": 1e-11},
    )  # fmt: skip
    return signed.T @ found.x


def solve(X, y, cost, loss: str) -> NDArray[np.float64]:
    """The minimizer of the primal."""
    return _solve_hinge(X, y, cost) if loss == "hinge" else _solve_smooth(X, y, cost, loss)


def dense_weights(layer, width: int) -> NDArray[np.float64]:
    """A layer's weights as nodes x (features + bias)."""
    nodes = len(layer.offsets) - 1
    dense = np.zeros((nodes, width + 1))
    dense[np.repeat(np.arange(nodes), np.diff(layer.offsets)), layer.features] = layer.values
    return dense
