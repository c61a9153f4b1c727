"""What can be said about a script without running it."""

from __future__ import annotations

import ast
import sys
import threading
import warnings

AVAILABLE_PACKAGES = ("numpy", "scipy", "pandas", "sklearn", "joblib")
"""Packages that a script can import beside the standard library."""


# Filters of warnings are global: two threads that change them would undo each other's.
_FILTERS = threading.Lock()


def syntax_error(script: str) -> str:
    """Why `script` is not a program; the empty string if it is one."""
    if not script.strip():
        return "There is no code to run."
    try:
        # What Python only warns about, an invalid escape say, is not an error.
        with _FILTERS, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(script, "main.py", "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        return f"The code does not compile: {error}"
    except (RecursionError, MemoryError):
        return "The code does not compile: it is nested too deeply."
    return ""


def check_script(script: str) -> list[str]:
    """What will probably go wrong with `script`: one sentence each, none if nothing was found."""
    error = syntax_error(script)
    if error:
        return [error]
    problems = [f"{name} cannot be imported here." for name in _missing_imports(script)]
    if "submission.csv" not in script:
        problems.append("It does not seem to write submission.csv.")
    if "input" not in script:
        problems.append("It does not seem to read from ../input.")
    return problems


def _missing_imports(script: str) -> list[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(script)):
        if isinstance(node, ast.Import):
            names.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names.add(node.module.partition(".")[0])
    return sorted(names - sys.stdlib_module_names - set(AVAILABLE_PACKAGES))
