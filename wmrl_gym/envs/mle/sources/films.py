"""Films of Wikidata, from the database of bokeh-sampledata."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pandas as pd

GENRES = ("Action", "Comedy", "Crime", "Documentary", "Drama", "Horror", "Romance", "Sci-Fi")
_QUERY = """
    SELECT omdb.Title, omdb.Year, omdb.Runtime, omdb.Genre, omdb.Director, omdb."Cast",
           omdb.Language, omdb.Country, omdb.Oscars, tomatoes.Meter, tomatoes.Reviews,
           tomatoes.BoxOffice
    FROM omdb JOIN tomatoes USING (ID) ORDER BY ID
"""


def film_genres(paths: tuple[Path, ...]) -> pd.DataFrame:
    """Films with one column of 0 and 1 for each of eight genres."""
    films = _films(paths[0])
    listed = films["genre"].str.split(", ")
    labels = {f"is_{g.lower()}": [int(g in of) for of in listed] for g in GENRES}
    return films.drop(columns=["genre", "meter", "reviews", "boxoffice"]).assign(**labels)


def film_box_office(paths: tuple[Path, ...]) -> pd.DataFrame:
    """Films whose takings are known."""
    films = _films(paths[0]).dropna(subset="boxoffice")
    return films.assign(boxoffice=films["boxoffice"].astype(float)).drop(columns="meter")


def film_reviews(paths: tuple[Path, ...]) -> pd.DataFrame:
    """Films that ten or more critics reviewed."""
    films = _films(paths[0])
    return films[films["reviews"] >= 10].drop(columns="boxoffice")


def _films(path: Path) -> pd.DataFrame:
    connection = sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True)
    try:
        films = pd.read_sql_query(_QUERY, connection)
    finally:
        connection.close()
    return films.rename(columns=str.lower)
