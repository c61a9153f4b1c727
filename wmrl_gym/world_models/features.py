"""Numbers that describe a script, for surrogates.

Read from the syntax tree, so that comments and layout do not matter. They hold for any
Python text: what it mentions, which numbers it passes under which name, and how long it is.
"""

from __future__ import annotations

import ast
import math
import warnings
from collections import Counter
from collections.abc import Iterator

_LONGEST_WORD = 40


def parse(script: str) -> ast.Module | None:
    """The syntax tree of `script`; `None` if it is empty or would not compile."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a script may hold an invalid escape and still run
        try:
            tree = ast.parse(script)
            # finds what the parser lets through, `return` outside a function say
            compile(tree, "script.py", "exec", dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None
    return tree if tree.body else None


def script_features(tree: ast.Module) -> dict[str, float]:
    """Numbers by name.

    Args:
        tree: The syntax tree of a script.

    Returns:
        `word/<identifier or short string>`: log(1 + how often it occurs);
        `number/<name>`: the largest number given under that name, as sign * log(1 + |x|);
        `size/nodes`: log of the number of nodes of the tree.
    """
    words: Counter[str] = Counter()
    features: dict[str, float] = {}
    nodes = 0
    for node in ast.walk(tree):
        nodes += 1
        words.update(word for word in _words(node) if len(word) <= _LONGEST_WORD)
        for name, value in _named_values(node):
            for number in _numbers(value):
                key = f"number/{name}"
                features[key] = max(number, features.get(key, -math.inf))
    features.update({f"word/{word}": math.log1p(count) for word, count in words.items()})
    features["size/nodes"] = math.log(nodes)
    return features


def _words(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Name(id=word) | ast.Attribute(attr=word) | ast.FunctionDef(name=word):
            yield word
        case ast.alias(name=word):
            yield word
        case ast.keyword(arg=str(word)):
            yield word
        case ast.Constant(value=str(text)) if text.isidentifier():
            yield text


def _named_values(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """What is given under a name: a keyword, a variable, an entry of a dict, a loop over values."""
    match node:
        case ast.keyword(arg=str(name), value=value):
            yield name, value
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            yield name, value
        case ast.For(target=ast.Name(id=name), iter=value):
            yield name, value
        case ast.comprehension(target=ast.Name(id=name), iter=value):
            yield name, value
        case ast.Dict(keys=keys, values=values):
            for key, value in zip(keys, values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    yield key.value, value


def _numbers(value: ast.expr) -> Iterator[float]:
    """Numbers in `value`, on a scale where 10 and 100 are as far apart as 100 and 1000."""
    for node in ast.walk(value):
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            number = float(min(max(node.value, -1e300), 1e300))
            yield math.copysign(math.log1p(abs(number)), number)
