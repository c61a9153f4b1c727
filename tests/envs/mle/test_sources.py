"""Reading data files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.envs.mle.toy_task import table_task
from wmrl_gym.envs.mle.catalog import task_names
from wmrl_gym.envs.mle.sources import READERS

SHAPES = {
    "abalone": (4177, 9),
    "adult-income": (32561, 14),
    "affairs": (6366, 9),
    "airport-state": (3339, 7),
    "ames-prices": (2930, 80),
    "anes96-party": (944, 10),
    "auto-mpg": (406, 9),
    "bananas": (5300, 3),
    "breast-cancer": (569, 31),
    "cancer-recurrence": (686, 10),
    "city-latitude": (45065, 3),
    "diabetes": (442, 11),
    "diamonds": (53940, 10),
    "digits": (1797, 65),
    "el-nino": (732, 3),
    "film-box-office": (2760, 11),
    "film-genres": (17472, 16),
    "film-reviews": (13665, 11),
    "forensic-glass": (214, 10),
    "fuel-economy": (234, 11),
    "german-credit": (1000, 21),
    "glucose-forecast": (5090, 27),
    "heart-disease": (303, 14),
    "hypoglycaemia": (4956, 27),
    "image-denoising": (8480, 80),
    "image-segments": (2310, 19),
    "image-upscaling": (4339, 52),
    "leader-tenure": (1808, 12),
    "life-expectancy": (12200, 8),
    "mauna-loa-co2": (2225, 3),
    "midwest-poverty": (437, 28),
    "mnist-small": (5000, 197),
    "penguin-sex": (344, 8),
    "phishing": (1250, 10),
    "population-growth": (3990, 44),
    "rand-visits": (20190, 10),
    "recidivism": (432, 9),
    "seattle-weather": (1461, 6),
    "sentence-language": (5945, 2),
    "solar-flares": (1066, 13),
    "temperature-month": (728, 26),
    "texas-housing": (8602, 9),
    "texture-patches": (5292, 145),
    "titanic": (1313, 5),
    "travel-mode": (210, 15),
    "trump-approval": (1001, 7),
    "water-flow": (1268, 4),
    "wine-cultivar": (178, 14),
    "word-valence": (7520, 2),
    "yeast-functions": (2417, 117),
}
"""Rows and columns of the tables that do not depend on the version of their package."""
VARYING = {"docstring-module", "python-manual", "python-source", "surname-language"}


def test_numbers_are_read_to_the_last_digit(tmp_path: Path) -> None:
    path = tmp_path / "numbers.csv"
    path.write_text("a,b,c,d\n1,0.1000000000000000055,x,1\n2,5e-324,y,\n")
    frame = READERS["csv"]((path,))
    assert [frame[name].dtype.kind for name in "abd"] == ["i", "f", "f"]
    assert frame["b"].tolist() == [0.1, 5e-324]
    assert frame["c"].tolist() == ["x", "y"]
    assert frame["d"].isna().tolist() == [False, True]


def test_every_table_has_a_known_shape() -> None:
    assert set(task_names()) == {*SHAPES, *VARYING}


@pytest.mark.parametrize("name", SHAPES)
def test_the_whole_table_is_read(name: str) -> None:
    assert table_task(name).source.read().shape == SHAPES[name]


def first(name: str) -> pd.Series:
    return table_task(name).source.read().iloc[0]


def test_the_first_rows_are_as_published() -> None:
    assert first("digits")[["pixel_0_2", "pixel_0_3", "digit"]].tolist() == [5, 13, 0]
    assert first("bananas").tolist() == [1.617466, -0.919233, 0.0]
    assert first("diabetes")[["age", "bmi", "progression"]].tolist() == [59.0, 32.1, 151.0]
    car = first("auto-mpg")
    assert (car["miles_per_gallon"], car["year"], car["origin"]) == (18.0, 1970, "USA")
    cancer = first("breast-cancer")
    assert (cancer["mean_radius"], cancer["diagnosis"]) == (17.99, "malignant")


def test_the_first_rows_of_further_tables_are_as_published() -> None:
    assert first("diamonds")[["carat", "cut", "price"]].tolist() == [0.23, "Ideal", 326]
    assert first("german-credit")[["duration", "housing", "risk"]].tolist() == [6, "own", "good"]
    assert first("adult-income")[["age", "workclass", "income"]].tolist() == [
        *(39, "State-gov", "<=50K")
    ]
    assert first("mauna-loa-co2").tolist() == [1958.2382, 88, 316.1]
    assert first("el-nino").tolist() == ["JAN", 23.11, 1950.0]
    traveller = first("travel-mode")
    assert traveller[["air_waiting", "car_time", "mode"]].tolist() == [69, 180, "car"]
    assert first("ames-prices")["price"] == 215_000
    assert first("word-valence").tolist() == ["$:", -1.5]
    assert first("film-genres")[["title", "is_documentary", "is_drama"]].tolist() == [
        *("We Live in Public", 1, 0)
    ]


def test_affairs_are_counted_as_yes_or_no() -> None:
    frame = table_task("affairs").source.read()
    assert frame["had_affair"].value_counts().to_dict() == {0: 4313, 1: 2053}


def test_texts_have_the_classes_that_their_task_names() -> None:
    for name in ("docstring-module", "sentence-language", "surname-language"):
        task = table_task(name)
        assert set(task.source.read()[task.target]) == set(task.classes)


def test_surnames_are_found_however_the_source_writes_them(tmp_path: Path) -> None:
    path = tmp_path / "de_DE" / "__init__.py"
    path.parent.mkdir()
    path.write_text(
        "class Provider:\n"
        "    first_names = ('Anna',)\n"
        "    last_names_male = OrderedDict((('Maier', 0.1),))\n"
        "    last_names: Sequence[str] = last_names_male + ('Huber',)\n"
    )
    frame = READERS["surnames"]((path,))
    assert frame.to_dict("list") == {"surname": ["Huber", "Maier"], "language": ["German"] * 2}


def test_images_are_cut_and_made_small_by_hand() -> None:
    from PIL import Image

    task = table_task("image-upscaling")
    grey = np.asarray(Image.open(task.source.paths[0]).convert("L"), dtype=float)
    row = task.source.read().iloc[0]
    assert row["coarse_2_2"] == np.rint(grey[4:6, 4:6].mean())
    assert [row["detail_0_0"] + row["coarse_2_2"], row["detail_3_3"] + row["coarse_3_3"]] == [
        *(grey[4, 4], grey[7, 7])
    ]


def test_noise_has_the_deviation_that_was_told_and_never_changes() -> None:
    frame = table_task("image-denoising").source.read()
    assert frame.iloc[0, :3].tolist() == [187, 233, 214]
    clean = frame["clean_0_0"]
    grey = (clean > 100) & (clean < 155)  # where next to nothing is cut off
    noise = (frame["noisy_2_2"] - clean)[grey]
    assert abs(noise.mean()) < 4 * 25 / np.sqrt(len(noise))
    assert noise.std() == pytest.approx(25, rel=0.05)


# --- no hidden answer is shown by another row ---


def test_windows_of_glucose_show_no_answer(tmp_path: Path) -> None:
    path = tmp_path / "readings.csv"
    times = pd.date_range("2020-01-01", periods=3000, freq="5min").astype(str)
    readings = pd.DataFrame({"isig": 1.0, "datetime": times, "glucose": range(3000)})
    readings.drop(index=[500, 2000]).to_csv(path, index=False)
    frame = READERS["glucose"]((path,))
    test = frame[frame["split"] == "test"]
    answers = set(test["target"])
    known = {n for row in frame.filter(like="glucose_").to_numpy().tolist() for n in row}
    assert len(answers) == len(test) > 20
    assert not answers & known
    assert frame[frame["split"] == "train"]["target"].max() < min(test["glucose_115"])
    assert not {500, 2000} & (known | set(frame["target"]))
    assert (frame["target"] - frame["glucose_0"]).unique().tolist() == [12]


def test_contexts_show_no_answer(tmp_path: Path) -> None:
    path = tmp_path / "topics.py"
    pages = {f"page {k}": "".join(f"{k}x{n:03d}" for n in range(400)) for k in range(5)}
    path.write_text(f"topics = {pages!r}\n")
    frame = READERS["python-manual"]((path,))
    test = frame[frame["split"] == "test"]
    texts = {
        context[:2]: text
        for context in test["context"]
        for text in pages.values()
        if context in text
    }
    assert len(texts) >= 2
    places = [
        (key, text.index(row.context) + 64)
        for row in test.itertuples()
        for key, text in pages.items()
        if row.context in text
    ]
    assert len(places) == len(test)
    shown = {(key, place - k) for key, place in places for k in range(1, 65)}
    assert not shown & set(places)
    assert all(ord(pages[key][place]) in set(test["next"]) for key, place in places)
    assert not set(test["context"]) & set(frame[frame["split"] == "train"]["context"])


def test_a_page_is_hidden_or_not(tmp_path: Path) -> None:
    path = tmp_path / "topics.py"
    pages = {f"page {k}": chr(97 + k) * 500 for k in range(10)}
    path.write_text(f"topics = {pages!r}\n")
    frame = READERS["python-manual"]((path,))
    first_characters = frame["context"].str[0].groupby(frame["split"]).agg(set)
    assert not first_characters["test"] & first_characters["train"]
    assert len(first_characters["test"]) == 4


def test_hidden_sources_are_those_of_masked_packages() -> None:
    task = table_task("python-source")
    frame = task.source.read()
    hidden = "".join(
        p.read_text() for p in task.source.paths if p.parent.name in ("wsgiref", "xmlrpc")
    )
    contexts = frame[frame["split"] == "test"]["context"].str.replace("\t", "\n")
    plain = contexts[contexts.str.isascii() & ~contexts.str.contains("?", regex=False)]
    assert len(plain) > 1000
    assert all(context in hidden for context in plain)


def test_a_country_is_hidden_or_not(tmp_path: Path) -> None:
    path = tmp_path / "population.csv"
    rows = [
        (code, "somewhere", year, sex, "0-4", start, code if start == 0 else 1000)
        for code in range(1, 41)
        for year in (1990, 2000, 2010, 2020)
        for sex in ("Male", "Female")
        for start in (0, 5)
    ]
    names = ["LocID", "Location", "Year", "Sex", "AgeGrp", "AgeGrpStart", "Value"]
    pd.DataFrame(rows, columns=names).to_csv(path, index=False)
    frame = READERS["pyramids"]((path,))
    shares = frame["male_0"].groupby(frame["split"]).agg(set)
    assert not shares["test"] & shares["train"]
    assert 5 < len(shares["test"]) < 25
    assert frame["growth"].dropna().unique().tolist() == [0.0]
    assert frame["growth"].isna().sum() == 40  # nobody knows the growth from 2020 on
