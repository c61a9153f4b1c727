"""Making data of a script: what it does stays, what it says to its reader goes.

Comments, docstrings and prose in string literals do not change what a script does, but a
language model reads them. "# this reaches 0.99" must not be worth anything. Nor must a variable
`best_answer_9`: names that the script gives are replaced unless they are made of a few usual words.
What cannot be told from data are names of what others made, and strings of one word.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from contextlib import suppress
from typing import TypeGuard

_MOST_CHARACTERS = 60
"""Of a word that is kept: a path, a column, an option."""
_PLACEHOLDER = "..."
_BETWEEN_WORDS = re.compile(r"[\s,;:!?]+")
_NAME_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+")
_WORDS = """
a ax b base batch c cat categorical cell clf cls col cols column columns count counts cv d data
dataset date df dict dtype e enc encode encoded encoder encoders epoch estimator estimators f feat
feature features fill fit fn fold folds frame func g grid h header i id ids idx imp impute imputed
imputer in index init input item items j k key keys kf kind l label labels le len line lines linear
list load lr m main make map mask mat matrix mean median missing mlp model models n na name names
nan new np num number numeric numerical oof oob out output p param params parts path pd pipe
pipeline pos pred predict prediction predictions preds prep preprocess preprocessor prob proba
probs q r random raw read reg regressor res rf ridge rng row rows s sample scale scaled scaler seed
select selected selector self series size skf sparse split std step steps sub submission submit sum
svc svd svm t table target targets tests test text tf tfidf tmp token tokens tr train transform
transformed transformer tree trees trn ts u v val valid valids value values vec vectorizer vectors
w weight weights word words work x y z
"""
_USUAL = frozenset(_WORDS.split())
"""Words of names that are kept. None of them praises, orders or counts."""
_TOKENS = re.compile(r"<\|([^<>|]*)\|>|</?(s|think|start_of_turn|end_of_turn)>|\[/?INST\]", re.I)
"""What structures conversations in common chat formats."""
_FENCED = re.compile(r"(```+)([ \t]*\w*[^\n`]*)\n(.*?)(\n[ \t]*\1|\Z)", re.DOTALL)


def plain_script(script: str, data: str = "") -> str:
    """`script` without comments, docstrings, prose, and constants that nothing reads.

    Args:
        script: A program that compiles.
        data: What is known of the data it reads. Strings that occur in there stay, so that names
            of columns and values may have several words.

    Returns:
        A program in a uniform layout that does the same, but for what it prints and for strings
        of several words.

    Raises:
        ValueError: If it is nested too deeply to be written out again.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(script)
            tree = ast.fix_missing_locations(_Plain(_names_read(tree), data).visit(tree))
        telling = {name for name in _names_given(tree) if not _usual(name) and name not in data}
        return plain_text(_without(telling, ast.unparse(tree)))
    except (RecursionError, MemoryError) as error:
        raise ValueError("the script is nested too deeply to be shown to a model") from error


def plain_text(text: str) -> str:
    """`text` with nothing in it that a chat format could take for its own markup."""
    return _TOKENS.sub(lambda found: re.sub(r"[<>|\[\]]", " ", found.group()), text)


def plain_conversation(text: str, data: str = "") -> str:
    """`text` with the scripts in its fenced blocks made plain, as `plain_script` does."""
    return plain_text(_FENCED.sub(lambda found: _plain_block(found, data), text))


def fenced(script: str) -> str:
    """`script` in a fence that it cannot close."""
    longest = max((len(run) for run in re.findall("`+", script)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}python\n{script}\n{fence}"


def _plain_block(found: re.Match[str], data: str) -> str:
    fence, language, script, end = found.groups()
    with suppress(SyntaxError, ValueError):  # it may be no script: the output of one, say
        script = plain_script(script, data)
    return f"{fence}{language}\n{script}{end}"


class _Plain(ast.NodeTransformer):
    """Shortens strings and drops statements that do nothing but speak to their reader.

    Args:
        read: Names that the script reads somewhere.
        data: Strings that occur in there stay.
    """

    def __init__(self, read: frozenset[str], data: str) -> None:
        self._read = read
        self._data = data

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        if not isinstance(node, ast.Module) and getattr(node, "body", None) == []:
            node.body = [ast.Pass()]  # type: ignore[attr-defined]  # it has one, as just seen
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        if isinstance(node.value, ast.Constant | ast.JoinedStr):
            return None
        if _is_print(node.value) and not _leave_out_constants(node.value):
            return None
        return self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> ast.AST | None:
        names = [target.id for target in node.targets if isinstance(target, ast.Name)]
        unread = len(names) == len(node.targets) and self._read.isdisjoint(names)
        if unread and isinstance(node.value, ast.Constant):
            return None
        return self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if isinstance(node.value, str | bytes) and self._is_prose(node.value):
            return ast.Constant(_PLACEHOLDER)
        return node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        said = " ".join(str(part.value) for part in node.values if isinstance(part, ast.Constant))
        if self._is_prose(said):
            node.values = [part for part in node.values if not isinstance(part, ast.Constant)]
        return self.generic_visit(node)

    def _is_prose(self, said: str | bytes) -> bool:
        text = said.decode("latin-1") if isinstance(said, bytes) else said
        words = [word for word in _BETWEEN_WORDS.split(text) if word]
        plain = len(words) <= 1 and len(text) <= _MOST_CHARACTERS and text.isascii()
        return not plain and text not in self._data


def _names_read(tree: ast.AST) -> frozenset[str]:
    names = (node for node in ast.walk(tree) if isinstance(node, ast.Name))
    return frozenset(name.id for name in names if isinstance(name.ctx, ast.Load))


def _names_given(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name
            case ast.ClassDef(name=name) | ast.arg(arg=name):
                yield name
            case ast.alias(asname=str(name)) | ast.ExceptHandler(name=str(name)):
                yield name


def _usual(name: str) -> bool:
    return name.isascii() and all(part.lower() in _USUAL for part in _NAME_PARTS.findall(name))


def _without(names: set[str], script: str) -> str:
    """`script` with `names` replaced by `v1`, `v2` and so on, in their order."""
    given: dict[str, str] = {}

    def rename(found: re.Match[str]) -> str:
        name = found.group()
        return given.setdefault(name, f"v{len(given) + 1}") if name in names else name

    return re.sub(r"\b[^\W\d]\w*", rename, script) if names else script


def _is_print(value: ast.expr) -> TypeGuard[ast.Call]:
    match value:
        case ast.Call(func=ast.Name(id="print"), keywords=[]):
            return True
    return False


def _leave_out_constants(call: ast.Call) -> list[ast.expr]:
    """What is left of the arguments of `call`: to print a constant is only to say it."""
    call.args = [argument for argument in call.args if not isinstance(argument, ast.Constant)]
    return call.args
