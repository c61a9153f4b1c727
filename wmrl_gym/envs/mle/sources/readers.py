"""Every reader, by the name that a task gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

import pandas as pd

from wmrl_gym.envs.mle.sources import (
    characters,
    exact,
    films,
    images,
    scikit_learn,
    series,
    tables,
    texts,
)

Reader = Callable[[tuple[Path, ...]], pd.DataFrame]

READERS: Mapping[str, Reader] = MappingProxyType(
    {
        "csv": exact.read_plain,
        "indexed-csv": exact.read_indexed,
        "adult": tables.adult,
        "affairs": tables.affairs,
        "airports": tables.airports,
        "ames": tables.ames,
        "anes": tables.anes,
        "arff": tables.arff,
        "bananas": tables.bananas,
        "breast-cancer": scikit_learn.breast_cancer,
        "carbon-dioxide": series.carbon_dioxide,
        "cars": tables.cars,
        "city-days": series.city_days,
        "denoising": images.denoising,
        "diabetes": scikit_learn.diabetes,
        "digits": scikit_learn.digits,
        "docstrings": texts.docstrings,
        "el-nino": series.el_nino,
        "film-box-office": films.film_box_office,
        "film-genres": films.film_genres,
        "film-reviews": films.film_reviews,
        "fuel-economy": tables.fuel_economy,
        "glucose": series.glucose,
        "hypoglycaemia": series.hypoglycaemia,
        "life-expectancy": tables.life_expectancy,
        "mnist": images.mnist,
        "pyramids": series.pyramids,
        "python-manual": characters.python_manual,
        "python-source": characters.python_source,
        "sentences": texts.sentences,
        "super-resolution": images.super_resolution,
        "surnames": texts.surnames,
        "textures": images.textures,
        "travel-mode": tables.travel_mode,
        "valence": texts.valence,
        "water-flow": series.water_flow,
        "wine": scikit_learn.wine,
    }
)
"""How to read the files of a source into one frame."""

_IMAGES = ("PIL",)
NEEDS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"denoising": _IMAGES, "super-resolution": _IMAGES, "textures": _IMAGES}
)
"""Modules that a reader needs beyond what the library requires."""
