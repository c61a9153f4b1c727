"""Making data of a script: what it does stays, what it says to its reader goes.

Comments, docstrings and prose in string literals do not change what a script does, but a
language model reads them. "# this reaches 0.99" must not be worth anything.
"""

from __future__ import annotations

import ast
import re
import warnings
from contextlib import suppress

_MOST_WORDS = 3
"""Words of a string literal that is kept; column names and paths have no more."""
_MOST_CHARACTERS = 60
_TOKENS = re.compile(r"<\|([^<>|]*)\|>|</?(s|think|start_of_turn|end_of_turn)>|\[/?INST\]", re.I)
"""What structures conversations in common chat formats."""
_FENCED = re.compile(r"(```+)([ \t]*\w*[^\n`]*)\n(.*?)(\n[ \t]*\1|\Z)", re.DOTALL)


def plain_script(script: str) -> str:
    """`script` without comments, docstrings, prose, and constants that nothing reads.

    Args:
        script: A program that compiles.

    Returns:
        An equivalent program in a uniform layout, but for the contents of long strings.

    Raises:
        ValueError: If it is nested too deeply to be written out again.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(script)
            tree = _Plain(_names_read(tree)).visit(tree)
        return plain_text(ast.unparse(ast.fix_missing_locations(tree)))
    except (RecursionError, MemoryError) as error:
        raise ValueError("the script is nested too deeply to be shown to a model") from error


def plain_text(text: str) -> str:
    """`text` with nothing in it that a chat format could take for its own markup."""
    return _TOKENS.sub(lambda found: re.sub(r"[<>|\[\]]", " ", found.group()), text)


def plain_conversation(text: str) -> str:
    """`text` with the scripts in its fenced blocks made plain."""
    return plain_text(_FENCED.sub(_plain_block, text))


def fenced(script: str) -> str:
    """`script` in a fence that it cannot close."""
    longest = max((len(run) for run in re.findall("`+", script)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}python\n{script}\n{fence}"


def _plain_block(found: re.Match[str]) -> str:
    fence, language, script, end = found.groups()
    with suppress(SyntaxError, ValueError):  # it may be no script: the output of one, say
        script = plain_script(script)
    return f"{fence}{language}\n{script}{end}"


class _Plain(ast.NodeTransformer):
    """Shortens strings and drops statements that do nothing but speak to their reader.

    Args:
        read: Names that the script reads somewhere.
    """

    def __init__(self, read: frozenset[str]) -> None:
        self._read = read

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        if not isinstance(node, ast.Module) and getattr(node, "body", None) == []:
            node.body = [ast.Pass()]  # type: ignore[attr-defined]  # it has one, as just seen
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        said = isinstance(node.value, ast.Constant | ast.JoinedStr)
        return None if said or _prints_a_constant(node.value) else self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> ast.AST | None:
        names = [target.id for target in node.targets if isinstance(target, ast.Name)]
        unread = len(names) == len(node.targets) and self._read.isdisjoint(names)
        if unread and isinstance(node.value, ast.Constant):
            return None
        return self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if isinstance(node.value, str | bytes) and _is_prose(node.value):
            return ast.Constant(f"({len(node.value)} characters)")
        return node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        said = " ".join(str(part.value) for part in node.values if isinstance(part, ast.Constant))
        if _is_prose(said):
            node.values = [part for part in node.values if not isinstance(part, ast.Constant)]
        return self.generic_visit(node)


def _names_read(tree: ast.AST) -> frozenset[str]:
    names = (node for node in ast.walk(tree) if isinstance(node, ast.Name))
    return frozenset(name.id for name in names if isinstance(name.ctx, ast.Load))


def _prints_a_constant(call: ast.expr) -> bool:
    if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name)):
        return False
    constant = all(isinstance(argument, ast.Constant) for argument in call.args)
    return call.func.id == "print" and constant and not call.keywords


def _is_prose(text: str | bytes) -> bool:
    return len(text) > _MOST_CHARACTERS or len(text.split()) > _MOST_WORDS
