"""Bayesian linear regression in inner products: the numbers of the textbook."""

from __future__ import annotations

import numpy as np
import pytest

from wmrl_gym.world_models.kernel_regression import KernelRegression


def linear(inputs: np.ndarray, values: np.ndarray) -> KernelRegression:
    return KernelRegression(inputs @ inputs.T, values)


def test_it_is_the_posterior_of_the_weights() -> None:
    """Against mean and covariance of the weights, worked out directly for the noise it chose."""
    rng = np.random.default_rng(0)
    inputs, new = rng.normal(size=(40, 3)), rng.normal(size=(5, 3))
    values = inputs @ [1.0, -2.0, 0.5] + rng.normal(size=40) * 0.3
    fit = linear(inputs, values[:, None])
    noise, scale = fit._noise[0], fit._scale[0]
    precision = inputs.T @ inputs / noise + np.eye(3)
    weights = np.linalg.solve(precision, inputs.T @ (values - values.mean()) / noise)
    means, stds = fit.predict(new @ inputs.T, np.sum(new**2, axis=1))
    assert np.allclose(means[:, 0], values.mean() + new @ weights)
    expected = np.sqrt(scale * np.sum(new * np.linalg.solve(precision, new.T).T, axis=1))
    assert np.allclose(stds[:, 0], expected)


def test_the_noise_is_found() -> None:
    rng = np.random.default_rng(1)
    inputs = rng.normal(size=(400, 4))
    signal = inputs @ rng.normal(size=4)
    values = np.column_stack([signal + rng.normal(size=400) * std for std in (0.1, 3.0)])
    fit = linear(inputs, values)
    assert np.sqrt(fit._noise * fit._scale) == pytest.approx([0.1, 3.0], rel=0.25)


def test_it_is_surer_near_what_it_knows() -> None:
    inputs = np.array([[1.0, 0.0], [1.1, 0.0], [-1.1, 0.0], [-1.0, 0.0]])
    fit = linear(inputs, inputs[:, :1] * 2.0)
    new = np.array([[1.0, 0.0], [0.0, 1.0]])
    _, stds = fit.predict(new @ inputs.T, np.sum(new**2, axis=1))
    assert stds[0, 0] < 0.1 * stds[1, 0]


def test_noise_is_left_at_the_mean() -> None:
    rng = np.random.default_rng(2)
    inputs = rng.normal(size=(60, 30))
    values = rng.normal(size=(60, 1))
    new = rng.normal(size=(20, 30))
    means, _ = linear(inputs, values).predict(new @ inputs.T, np.sum(new**2, axis=1))
    assert np.abs(means - values.mean()).max() < 0.5


def test_constant_values_are_constant() -> None:
    inputs = np.arange(6.0).reshape(3, 2)
    means, stds = linear(inputs, np.full((3, 1), 0.7)).predict(inputs @ inputs.T, np.ones(3))
    assert np.allclose(means, 0.7)
    assert np.allclose(stds, 0.0)


def test_one_value_is_enough() -> None:
    means, _ = linear(np.ones((1, 2)), np.array([[0.3]])).predict(np.ones((2, 1)), np.ones(2))
    assert np.allclose(means, 0.3)
