"""The data sets that come with scikit-learn."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from wmrl_gym.envs.mle.sources.exact import read_headless


def breast_cancer(paths: tuple[Path, ...]) -> pd.DataFrame:
    """Thirty measurements of cell nuclei and the diagnosis."""
    measured = "radius texture perimeter area smoothness compactness concavity concave_points"
    measures = [*measured.split(), "symmetry", "fractal_dimension"]
    names = [f"{kind}_{name}" for kind in ("mean", "error", "worst") for name in measures]
    return read_headless(paths[0], [*names, "diagnosis"], skiprows=1)


def wine(paths: tuple[Path, ...]) -> pd.DataFrame:
    """Chemical measurements and the cultivar."""
    names = (
        "alcohol malic_acid ash alcalinity_of_ash magnesium total_phenols flavanoids "
        "nonflavanoid_phenols proanthocyanins color_intensity hue od280_od315 proline cultivar"
    )
    return read_headless(paths[0], names.split(), skiprows=1)


def digits(paths: tuple[Path, ...]) -> pd.DataFrame:
    """Images of 8 x 8 pixels and the digit."""
    pixels = [f"pixel_{row}_{column}" for row in range(8) for column in range(8)]
    return read_headless(paths[0], [*pixels, "digit"])


def diabetes(paths: tuple[Path, ...]) -> pd.DataFrame:
    """Ten measurements, and the progression from a file of its own."""
    names = ["age", "sex", "bmi", "blood_pressure", *(f"s{k}" for k in range(1, 7))]
    frame = read_headless(paths[0], names, sep=r"\s+")
    # Four digits were measured; the file in scikit-learn 1.4 has 5.3660000000000005 and the like.
    progression = read_headless(paths[1], ["progression"])["progression"]
    return frame.round({"s5": 4}).assign(progression=progression)
