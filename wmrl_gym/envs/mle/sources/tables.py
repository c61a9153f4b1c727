"""Tables that need a touch before they are what a task describes."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pandas as pd

from wmrl_gym.envs.mle.sources.exact import read_exact, read_headless, read_indexed


def adult(paths: tuple[Path, ...]) -> pd.DataFrame:
    """Answers to a census, in which `?` stands for none."""
    return read_exact(paths[0], skipinitialspace=True, na_values="?").iloc[:, 1:]


def affairs(paths: tuple[Path, ...]) -> pd.DataFrame:
    """Time spent in affairs as whether there was any."""
    frame = read_exact(paths[0])
    return frame.assign(affairs=(frame["affairs"] > 0).astype(int))


def airports(paths: tuple[Path, ...]) -> pd.DataFrame:
    """Airports of the states that have ten or more: fewer would leave next to none hidden."""
    frame = read_exact(paths[0]).query("country == 'USA'").dropna(subset="state")
    return frame[frame.groupby("state")["state"].transform("size") >= 10]


def ames(paths: tuple[Path, ...]) -> pd.DataFrame:
    """House sales, without the numbers of sale and parcel, which say when and where it was."""
    frame: pd.DataFrame = pd.read_pickle(paths[0]).drop(columns=["Order", "PID"])
    return frame.rename(columns=lambda name: str(name).lower().replace(" ", "_"))


def anes(paths: tuple[Path, ...]) -> pd.DataFrame:
    """Tab-separated survey."""
    return read_exact(paths[0], sep="\t", quotechar="'")


def arff(paths: tuple[Path, ...]) -> pd.DataFrame:
    """A table in Weka's format, whose header names the columns."""
    lines = paths[0].read_text(encoding="utf-8").splitlines()
    names = [line.split()[1] for line in lines if line.lower().startswith("@attribute")]
    start = next(k for k, line in enumerate(lines) if line.lower().startswith("@data"))
    return read_headless(
        paths[0], names, skiprows=start + 1, quotechar="'", comment="%", skipinitialspace=True
    )


def bananas(paths: tuple[Path, ...]) -> pd.DataFrame:
    """Two coordinates and whether the point is in the banana, from an archive."""
    with zipfile.ZipFile(paths[0]) as archive:
        lines = archive.read("banana.all.txt").decode().splitlines()
    rows = [line.split() for line in lines]
    return pd.DataFrame(
        {
            "x": [float(row[1].removeprefix("1:")) for row in rows],
            "y": [float(row[2].removeprefix("2:")) for row in rows],
            "banana": [int(row[0] == "1") for row in rows],
        }
    )


def cars(paths: tuple[Path, ...]) -> pd.DataFrame:
    """Cars with the year of their date only."""
    frame = pd.DataFrame(json.loads(paths[0].read_text(encoding="utf-8")))
    return frame.assign(Year=[int(date[:4]) for date in frame["Year"]])


def fuel_economy(paths: tuple[Path, ...]) -> pd.DataFrame:
    """Cars of 1999 and 2008 with the kind of gear, without the number of gears."""
    frame = read_indexed(paths)
    gears = [text.partition("(")[0] for text in frame["trans"]]
    return frame.assign(trans=gears)


def life_expectancy(paths: tuple[Path, ...]) -> pd.DataFrame:
    """Countries by year, with the region that a second file names."""
    frame, regions = (read_exact(path) for path in paths)
    return frame.merge(regions, left_on="country", right_on="Country", how="left")


def travel_mode(paths: tuple[Path, ...]) -> pd.DataFrame:
    """One row for each traveller in the place of one for each alternative."""
    frame = read_exact(paths[0], sep=";")
    modes = {1: "air", 2: "train", 3: "bus", 4: "car"}
    frame = frame.assign(mode=frame["mode"].map(modes))
    chosen = frame[frame["choice"] == 1].set_index("individual")
    wide = frame.pivot(index="individual", columns="mode", values=["ttme", "invc", "invt"])
    wide.columns = wide.columns.map("{0[1]}_{0[0]}".format)
    return wide.astype(int).assign(**chosen[["hinc", "psize", "mode"]]).reset_index(drop=True)
