"""Texts for a language model of characters: a context and the character that follows it.

Hidden contexts lie so far apart that no context shows the answer of another. Their texts are
masked in every sandbox (`wmrl_gym.sandboxes.runtime`).
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd

CONTEXT = 64
"""Characters of a context."""
_APART = CONTEXT + 33
"""Characters from one hidden answer to the next: a gap of 32 remains that nobody sees."""
_TRAINED = 5000
"""Contexts to train on."""
_KNOWN = frozenset({"\t", *map(chr, range(32, 127))})
HIDDEN_PACKAGES = ("wsgiref", "xmlrpc")
"""Packages of the standard library whose sources are hidden."""
_HIDDEN_SHARE = 0.4


def python_source(paths: tuple[Path, ...]) -> pd.DataFrame:
    """Sources of the standard library; two whole packages of it are hidden."""
    texts = {path: path.read_text(encoding="utf-8") for path in paths}
    hidden = [text for path, text in texts.items() if path.parent.name in HIDDEN_PACKAGES]
    shown = [text for path, text in texts.items() if path.parent.name not in HIDDEN_PACKAGES]
    return _frame(shown, hidden)


def python_manual(paths: tuple[Path, ...]) -> pd.DataFrame:
    """Pages of the language's manual; some of them are hidden, by a hash of their names."""
    tree = ast.parse(paths[0].read_text(encoding="utf-8"))
    value = next(node.value for node in tree.body if isinstance(node, ast.Assign))
    pages: dict[str, str] = ast.literal_eval(value)
    names = sorted(pages, key=lambda name: hashlib.sha256(name.encode()).hexdigest())
    count = round(len(names) * _HIDDEN_SHARE)
    return _frame([pages[n] for n in names[count:]], [pages[n] for n in names[:count]])


def _frame(shown: Sequence[str], hidden: Sequence[str]) -> pd.DataFrame:
    test = [row for text in hidden for row in _rows(_clean(text), _APART)]
    total = sum(map(len, shown))
    train = [row for text in shown for row in _rows(_clean(text), max(1, total // _TRAINED))]
    frame = pd.DataFrame([*test, *train], columns=["context", "next"])
    frame["split"] = ["test"] * len(test) + ["train"] * len(train)
    return frame.drop_duplicates("context")  # the first stays, which is the hidden one


def _rows(text: str, step: int) -> Iterable[tuple[str, int]]:
    """Contexts that end `step` characters apart, and the code point of what follows."""
    places = range(CONTEXT, len(text), step)
    return [(text[place - CONTEXT : place], ord(text[place])) for place in places]


def _clean(text: str) -> str:
    """Tabs in the place of line breaks, so that a row is a line, and nothing beyond ASCII."""
    lines = text.expandtabs(4).replace("\n", "\t")
    return "".join(character if character in _KNOWN else "?" for character in lines)
