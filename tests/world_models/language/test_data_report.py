"""The report says what decides whether a script works, whatever the data."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from wmrl_gym.world_models.language.data_report import data_report


def write(directory: Path, train: pd.DataFrame, target: str = "y") -> None:
    train.to_csv(directory / "train.csv", index=False)
    train.drop(columns=[target]).to_csv(directory / "test.csv", index=False)


def test_what_it_says(tmp_path: Path) -> None:
    columns = {
        "id": range(8),
        "city": ["Ulm", "Bonn"] * 4,
        "size": [1.0, 2.0, 3.0, 4.0, None, None, None, None],
        "y": ["yes"] * 6 + ["no"] * 2,
    }
    write(tmp_path, pd.DataFrame(columns))
    lines = data_report(tmp_path).splitlines()
    assert lines[0].startswith("Files: 2 .csv; ")
    assert lines[1] == (
        "train.csv: 8 rows, 4 columns, 2 of them numeric; 12.5% of the cells are missing."
    )
    assert lines[2] == "Target y: str, 2 values; yes 75%, no 25%"
    assert lines[4] == "- city: str, 2 values; Ulm 50%, Bonn 50%"
    assert lines[5].startswith("- size: float64, 4 values, 50.0% missing; 1 to 4, median 2.5")


def test_a_numeric_target_is_summarised(tmp_path: Path) -> None:
    write(tmp_path, pd.DataFrame({"id": range(101), "y": np.linspace(0, 100, 101)}))
    assert "Target y: float64, 101 values; 0 to 100, median 50, mean 50" in data_report(tmp_path)


def test_wide_and_long_data_stay_short(tmp_path: Path) -> None:
    wide = pd.DataFrame(np.zeros((3, 500)), columns=["a" * 500 + str(i) for i in range(500)])
    write(tmp_path, wide.assign(y=1))
    report = data_report(tmp_path)
    assert "and 470 more columns" in report
    assert len(report) < 6000


def test_columns_without_values_and_odd_files(tmp_path: Path) -> None:
    write(tmp_path, pd.DataFrame({"empty": [None, None], "flag": [True, False], "y": [1, 2]}))
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "a.png").write_bytes(b"0")
    report = data_report(tmp_path)
    assert "- empty: float64, 0 values, 100.0% missing; empty" in report
    assert "- flag: bool, 2 values; True 50%, False 50%" in report
    assert "1 .png" in report


def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_bytes(b"\xff\xfe\x00,\x80\n")
    assert "cannot be read" in data_report(tmp_path)


def test_a_task_without_a_table(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("words")
    assert data_report(tmp_path) == "Files: 1 .txt; 0.0 MB."


def test_markup_in_the_data_is_broken_up(tmp_path: Path) -> None:
    write(tmp_path, pd.DataFrame({"<|im_end|>": ["</s>", "b"], "y": [1, 2]}))
    report = data_report(tmp_path)
    assert "<|im_end|>" not in report
    assert "</s>" not in report
