"""Time series, cut into rows.

Rows with lagged values are a trap: the next row's lags hold this row's answer. Hidden rows lie so
far apart that none of them, and no row to train on, shows a value that another has to predict.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from wmrl_gym.envs.mle.sources.exact import read_exact

_HIDDEN_SHARE = 0.4
_MONTHS = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"]

_LAGS, _HORIZON = 24, 12
"""Readings of glucose, five minutes apart: two hours are known, the next hour is not."""
_LOW = 70
"""Glucose below this is hypoglycaemia, in mg/dl."""


def carbon_dioxide(paths: tuple[Path, ...]) -> pd.DataFrame:
    """Weekly concentrations with their date as numbers."""
    frame = read_exact(paths[0]).dropna()
    dates = pd.to_datetime(frame["date"].astype(str), format="%Y%m%d")
    day = dates.dt.day_of_year
    years = (dates.dt.year + (day - 1) / 365.25).round(4)
    return pd.DataFrame({"decimal_year": years, "day_of_year": day, "co2": frame["co2"]})


def el_nino(paths: tuple[Path, ...]) -> pd.DataFrame:
    """Monthly temperatures in one column, from one line a year."""
    frame = read_exact(paths[0])
    months = frame.melt(id_vars="YEAR", value_vars=_MONTHS, var_name="month", value_name="temp")
    number = months["month"].map(_MONTHS.index)
    months = months.assign(decimal_year=(months["YEAR"] + number / 12).round(4))
    return months.sort_values("decimal_year").drop(columns="YEAR").reset_index(drop=True)


def water_flow(paths: tuple[Path, ...]) -> pd.DataFrame:
    """Hourly flow with the time as numbers."""
    frame = read_exact(paths[0])
    # Local time with the offset that holds then: the clock that the consumers live by.
    local = pd.to_datetime(frame["Time"].str[:19])
    start = local.min()
    return pd.DataFrame(
        {
            "hours": ((local - start).dt.total_seconds() // 3600).astype(int),
            "hour_of_day": local.dt.hour,
            "weekday": local.dt.day_of_week,
            "flow": frame["Water flow [l/s]"],
        }
    )


def city_days(paths: tuple[Path, ...]) -> pd.DataFrame:
    """Days of hourly temperatures in two cities, and the month of each."""
    parts = [_days(read_exact(path), city) for path, city in zip(paths, ("A", "B"), strict=True)]
    return pd.concat(parts, ignore_index=True)


def _days(frame: pd.DataFrame, city: str) -> pd.DataFrame:
    hours = pd.to_datetime(frame["date"].str[:16])
    frame = frame.assign(day=hours.dt.date, hour=hours.dt.hour)
    wide = frame.pivot_table(index="day", columns="hour", values="temp", aggfunc="first")
    wide.columns = pd.Index([f"hour_{hour}" for hour in wide.columns])
    months = pd.to_datetime(pd.Series(wide.index)).dt.month_name().tolist()
    return wide.dropna().assign(city=city, month=pd.Series(months, index=wide.index))


def glucose(paths: tuple[Path, ...]) -> pd.DataFrame:
    """Two hours of readings and the one an hour later, with their split."""
    windows = _windows(_readings(paths[0]))
    return windows.assign(target=windows["ahead"].map(lambda ahead: ahead[-1])).drop(
        columns="ahead"
    )


def hypoglycaemia(paths: tuple[Path, ...]) -> pd.DataFrame:
    """Two hours of readings, and whether one of the next hour is low, with their split."""
    windows = _windows(_readings(paths[0]))
    windows = windows[windows["glucose_0"] >= _LOW]
    low = windows["ahead"].map(lambda ahead: "low" if min(ahead) < _LOW else "fine")
    return windows.assign(target=low).drop(columns="ahead")


def _readings(path: Path) -> pd.Series[Any]:
    """Glucose on a grid of five minutes, NaN where there is no reading."""
    frame = read_exact(path)
    times = pd.to_datetime(frame["datetime"]).dt.round("5min")
    readings = pd.Series(frame["glucose"].to_numpy(dtype=float), index=times)
    return readings[~readings.index.duplicated()].asfreq("5min")


def _windows(readings: pd.Series[Any]) -> pd.DataFrame:
    """Complete windows, each with its split."""
    values = readings.to_numpy()
    length = _LAGS + _HORIZON
    border = round(len(values) * (1 - _HIDDEN_SHARE))
    starts = {
        "train": range(0, border - length, 6),
        "test": range(border, len(values) - length, length),
    }
    rows = [
        _window(values[start : start + length], readings.index[start + _LAGS - 1], part)
        for part, places in starts.items()
        for start in places
        if not np.isnan(values[start : start + length]).any()
    ]
    return pd.DataFrame(rows)


def _window(values: NDArray[np.float64], time: pd.Timestamp, part: str) -> dict[str, Any]:
    known, ahead = values[:_LAGS].astype(int).tolist(), values[_LAGS:].astype(int).tolist()
    lags = {f"glucose_{5 * (_LAGS - 1 - k)}": value for k, value in enumerate(known)}
    return {"hour": time.hour, **lags, "ahead": ahead, "split": part}


def pyramids(paths: tuple[Path, ...]) -> pd.DataFrame:
    """The shares of age groups and sexes in a country, and its growth over the next ten years.

    Countries are wholly hidden or not at all, by their codes, which are not shown.
    """
    frame = pd.read_csv(paths[0])  # whole numbers and words: nothing is rounded
    frame = frame[frame["Sex"].isin(["Male", "Female"]) & (frame["Year"] <= 2020)]
    group = frame["Sex"].str.lower() + "_" + frame["AgeGrpStart"].astype(str)
    people = frame.assign(group=group).pivot_table(
        index=["LocID", "Year"], columns="group", values="Value", aggfunc="sum"
    )
    total = people.sum(axis="columns")
    later = total.rename(index=lambda year: year - 10, level="Year")
    growth = ((later.reindex(total.index) / total - 1) * 100).round(4)
    shares = (people.div(total, axis="index") * 100).round(3)
    codes = np.asarray(shares.index.get_level_values("LocID"))
    part = np.where(codes * 2654435761 % 2**32 < _HIDDEN_SHARE * 2**32, "test", "train")
    return shares.assign(growth=growth, split=part).reset_index(drop=True)
