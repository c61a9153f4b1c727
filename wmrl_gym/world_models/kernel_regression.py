"""Bayesian linear regression, in the form that needs inner products only.

Values are a linear function of the inputs with a normal prior, plus normal noise. How strong
the noise is beside the prior is chosen by the evidence, the probability of the values under
the model: Rasmussen and Williams, Gaussian Processes for Machine Learning (2006), chapters 2
and 5. One decomposition of the inner products serves every choice and every kind of value.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_NOISE = np.logspace(-3, 3, 25)
"""Variances of the noise that are tried, in units of that of the prior."""


class KernelRegression:
    """A fit of `[N, M]` values, column by column.

    Args:
        gram: `[N, N]` inner products of the inputs.
        values: `[N, M]` values, `N` at least 1.
    """

    def __init__(self, gram: Array, values: Array) -> None:
        eigenvalues, self._vectors = np.linalg.eigh(gram)
        self._eigenvalues = np.maximum(eigenvalues, 0.0)
        self._means = values.mean(axis=0)
        rotated = self._vectors.T @ (values - self._means)
        fits = [self._likeliest(column) for column in rotated.T]
        self._noise = np.array([noise for noise, _ in fits])
        self._scale = np.array([scale for _, scale in fits])
        shrunk = rotated / (self._eigenvalues[:, None] + self._noise)
        self._coefficients = self._vectors @ shrunk

    def predict(self, cross: Array, own: Array) -> tuple[Array, Array]:
        """Predict new values.

        Args:
            cross: `[B, N]` inner products of the new inputs and those of the fit.
            own: `[B]` inner product of each new input with itself.

        Returns:
            `[B, M]` means, and `[B, M]` standard deviations of what the values would be
            without noise.
        """
        rotated = (cross @ self._vectors) ** 2
        known = rotated @ (1.0 / (self._eigenvalues[:, None] + self._noise))
        variance = self._scale * np.maximum(own[:, None] - known, 0.0)
        return self._means + cross @ self._coefficients, np.sqrt(variance)

    def _likeliest(self, rotated: Array) -> tuple[float, float]:
        """Noise beside the prior, and the variance of the prior, of one column."""
        if not np.any(rotated):
            return float(_NOISE[-1]), 0.0
        variances = self._eigenvalues + _NOISE[:, None]
        scales = np.mean(rotated**2 / variances, axis=1)
        evidence = -len(rotated) * np.log(scales) - np.log(variances).sum(axis=1)
        best = int(np.argmax(evidence))
        return float(_NOISE[best]), float(scales[best])
