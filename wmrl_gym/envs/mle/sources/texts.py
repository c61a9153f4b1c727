"""Texts with a label or a number: lexicons, names, sentences, docstrings."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from wmrl_gym.envs.mle.sources.exact import read_headless

_LONGEST = 300
"""Characters of a docstring that are kept."""
_SHORTEST = 40
_LANGUAGES = {
    "cs_CZ": "Czech",
    "de_DE": "German",
    "en_US": "English",
    "es_ES": "Spanish",
    "fi_FI": "Finnish",
    "fr_FR": "French",
    "hu_HU": "Hungarian",
    "it_IT": "Italian",
    "nl_NL": "Dutch",
    "pl_PL": "Polish",
    "pt_BR": "Portuguese",
    "sv_SE": "Swedish",
}
"""Languages of surnames, by the locale that they are filed under."""


def valence(paths: tuple[Path, ...]) -> pd.DataFrame:
    """Words, signs and emoticons with the mean of ten people's ratings."""
    frame = read_headless(
        paths[0], ["term", "valence", "deviation", "ratings"], sep="\t", quoting=3, na_filter=False
    )
    return frame[["term", "valence"]]


def surnames(paths: tuple[Path, ...]) -> pd.DataFrame:
    """Surnames and their language, from the source of a package that makes up people."""
    rows = [
        (name, _LANGUAGES[path.parent.name]) for path in paths for name in sorted(_surnames(path))
    ]
    return pd.DataFrame(rows, columns=["surname", "language"])


def _surnames(path: Path) -> set[str]:
    """All texts in the assignments to `last_names` and the like."""
    values = _assigned(ast.parse(path.read_text(encoding="utf-8")), "last_names")
    nodes = (node for value in values for node in ast.walk(value))
    texts = (node.value for node in nodes if isinstance(node, ast.Constant))
    return {text for text in texts if isinstance(text, str)}


def _assigned(tree: ast.AST, name: str) -> Iterator[ast.expr]:
    """What is assigned to variables with `name` in theirs."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(isinstance(target, ast.Name) and name in target.id for target in targets):
                yield node.value


def sentences(paths: tuple[Path, ...]) -> pd.DataFrame:
    """Sentences of conversations and the language, which is the name of their directory."""
    rows = [(sentence, path.parent.name) for path in paths for sentence in sorted(_sentences(path))]
    return pd.DataFrame(rows, columns=["sentence", "language"])


def _sentences(path: Path) -> set[str]:
    """The one-line entries of a list of lists in YAML."""
    lines = re.findall(r"^\s*- (?:- )?(.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    said = (line.strip(" '\"-") for line in lines)
    return {text for text in said if " " in text and not text.startswith(("|", ">"))}


def docstrings(paths: tuple[Path, ...]) -> pd.DataFrame:
    """The beginnings of docstrings, and the directory below the package that they are in."""
    top = min((path.parent for path in paths), key=lambda path: len(path.parts)).parent
    rows = [
        (text, path.relative_to(top).parts[0])
        for path in paths
        if "tests" not in path.parts
        for text in _docstrings(path)
    ]
    return pd.DataFrame(rows, columns=["docstring", "module"]).drop_duplicates("docstring")


def _docstrings(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            text = " ".join(inspect.cleandoc(ast.get_docstring(node) or "").split())
            if len(text) >= _SHORTEST:
                yield text[:_LONGEST]
