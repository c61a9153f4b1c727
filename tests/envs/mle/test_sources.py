"""Reading data files, and that no script in a sandbox can read them."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from wmrl_gym.envs.mle.catalog import load_task, task_names
from wmrl_gym.envs.mle.sources import READERS
from wmrl_gym.sandboxes import Job, JobStatus, select_sandbox


def test_numbers_are_read_to_the_last_digit(tmp_path: Path) -> None:
    path = tmp_path / "numbers.csv"
    path.write_text("a,b,c,d\n1,0.1000000000000000055,x,1\n2,5e-324,y,\n")
    frame = READERS["csv"]((path,))
    assert [frame[name].dtype.kind for name in "abd"] == ["i", "f", "f"]
    assert frame["b"].tolist() == [0.1, 5e-324]
    assert frame["c"].tolist() == ["x", "y"]
    assert frame["d"].isna().tolist() == [False, True]


@pytest.mark.parametrize(
    ("name", "rows", "columns"),
    [
        ("abalone", 4177, 9),
        ("affairs", 6366, 9),
        ("airport-state", 3339, 7),
        ("anes96-party", 944, 10),
        ("auto-mpg", 406, 9),
        ("bananas", 5300, 3),
        ("breast-cancer", 569, 31),
        ("diabetes", 442, 11),
        ("digits", 1797, 65),
        ("heart-disease", 303, 14),
        ("image-segments", 2310, 19),
        ("penguin-sex", 344, 8),
        ("phishing", 1250, 10),
        ("rand-visits", 20190, 10),
        ("seattle-weather", 1461, 6),
        ("trump-approval", 1001, 7),
        ("wine-cultivar", 178, 14),
    ],
)
def test_the_whole_table_is_read(name: str, rows: int, columns: int) -> None:
    assert load_task(name).source.read().shape == (rows, columns)


def test_the_first_rows_are_as_published() -> None:
    digits = load_task("digits").source.read().iloc[0]
    assert digits[["pixel_0_2", "pixel_0_3", "digit"]].tolist() == [5, 13, 0]
    banana = load_task("bananas").source.read().iloc[0]
    assert banana.tolist() == [1.617466, -0.919233, 0.0]
    diabetes = load_task("diabetes").source.read().iloc[0]
    assert diabetes[["age", "bmi", "progression"]].tolist() == [59.0, 32.1, 151.0]
    car = load_task("auto-mpg").source.read().iloc[0]
    assert (car["miles_per_gallon"], car["year"], car["origin"]) == (18.0, 1970, "USA")
    cancer = load_task("breast-cancer").source.read().iloc[0]
    assert (cancer["mean_radius"], cancer["diagnosis"]) == (17.99, "malignant")


def test_affairs_are_counted_as_yes_or_no() -> None:
    frame = load_task("affairs").source.read()
    assert frame["had_affair"].value_counts().to_dict() == {0: 4313, 1: 2053}


def test_no_script_can_read_the_files_that_answers_come_from() -> None:
    paths = [str(path) for name in task_names() for path in load_task(name).source.paths]
    assert all(pd.Series(paths).map(lambda path: Path(path).is_file()))
    script = (
        f"for path in {paths!r}:\n"
        "    try:\n"
        "        open(path, 'rb').read(1)\n"
        "        print('readable:', path)\n"
        "    except OSError:\n"
        "        print('hidden')\n"
    )
    result = select_sandbox("auto").run(Job(files={"main.py": script.encode()}))
    assert result.status is JobStatus.OK, result
    assert result.stdout.split("\n")[:-1] == ["hidden"] * len(paths)
