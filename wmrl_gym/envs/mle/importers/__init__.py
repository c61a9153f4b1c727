"""Tasks of other benchmarks, read from the directories that these benchmarks use.

A task is named by its path: `/data/spaceship-titanic`, or, in a directory of several,
`/data::spaceship-titanic`. Any process that sees the files can load it by that name. `register`,
or `wmrl-gym tasks import`, gives short names and remembers what the files do not say. The
layouts are listed in `layouts`, each in a module of its own; none needs the benchmark's package,
a container engine or a network.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from wmrl_gym.envs.mle.importers import registry
from wmrl_gym.envs.mle.importers.layouts import (
    Found,
    ImportOptions,
    Loader,
    find_tasks,
)
from wmrl_gym.envs.mle.task import Task
from wmrl_gym.errors import TaskError

MEMBER = "::"
"""Stands between a path and the name of one of several tasks."""

_listed: dict[str, Loader] = {}
"""Loaders of names that were just listed, so that each of many does not search them all again."""

__all__ = [
    "ImportOptions",
    "Registered",
    "imported_names",
    "is_imported",
    "is_path",
    "load_imported",
    "names_at",
    "register",
]


@dataclass(frozen=True)
class Registered:
    """What `register` made of the tasks of a directory."""

    layout: str
    tasks: Mapping[str, Task]
    """The tasks that have names now, by name."""
    problems: Mapping[str, str]
    """Why the others cannot be loaded, by the name of their directory."""


def is_path(reference: str) -> bool:
    """Whether a reference names a place on disk rather than a task.

    A path has a separator in it, or begins with `.` or `~`; `./mine` is one and `mine` is not.
    """
    return "/" in reference or reference.startswith((".", "~"))


def names_at(path: str) -> tuple[str, ...]:
    """Names of all tasks at a path, for `load_imported`.

    Args:
        path: A directory, or one task in it as `directory::name`.

    Raises:
        TaskError: If there is none; says for each layout what was missing.
    """
    directory, member = _split(path)
    found = find_tasks(directory)
    if member:
        _check_member(found, directory, member)
        return (f"{directory}{MEMBER}{member}",)
    if len(found.tasks) == 1:
        return (str(directory),)
    named = {f"{directory}{MEMBER}{name}": loader for name, loader in found.tasks.items()}
    _listed.update(named)
    return tuple(named)


def imported_names() -> tuple[str, ...]:
    """Names that `register` has given, sorted."""
    return tuple(sorted(registry.entries()))


def is_imported(name: str) -> bool:
    """Whether `load_imported` knows the name, or should: a path is a path, if a wrong one."""
    return is_path(name) or name in registry.entries()


def load_imported(name: str) -> Task:
    """The imported task of that name.

    Args:
        name: A name that `register` gave, or a path of one task.

    Raises:
        TaskError: If there is no such task, or its files are broken.
        MissingDependencyError: If reading it needs a package that is not installed.
    """
    if loader := _listed.pop(name, None):
        return loader(name)
    if is_path(name):
        directory, member = _split(name)
        return _load(find_tasks(directory), directory, member, name)
    entry = registry.entries().get(name)
    if entry is None:
        raise TaskError(f"task={name!r} is no imported task")
    directory = Path(entry.path)
    return _load(
        find_tasks(directory, entry.options, layout=entry.layout), directory, entry.member, name
    )


def register(
    path: str,
    *,
    options: ImportOptions | None = None,
    layout: str | None = None,
    name: str | None = None,
    taken: Collection[str] = (),
) -> Registered:
    """Give short names to all tasks at a path, and remember the options.

    A task gets the name of its directory; where that is taken, it is prefixed by its layout.
    Registering a task again changes its options. A task that cannot be loaded gets no name.

    Args:
        path: A directory, or one task in it as `directory::name`.
        options: What the files do not say.
        layout: Name of the layout; `None` to find out.
        name: Another name, for a single task.
        taken: Names that no task may have, such as those of built-in tasks.

    Returns:
        The tasks, loaded, in the order of the directory, and the problems of others.

    Raises:
        TaskError: If there is no task, or none can be loaded.
        MissingDependencyError: If reading them needs a package that is not installed.
        ValueError: If `name` is taken, or given for several tasks.
    """
    options = options or ImportOptions()
    directory, member = _split(path)
    found = find_tasks(directory, options, layout=layout)
    if member:
        _check_member(found, directory, member)
    members = [member] if member else list(found.tasks)
    if name is not None:
        _check_name(name, members, taken)
    problems = {each: problem for each in members if (problem := _problem(found, each))}
    if len(problems) == len(members):
        raise TaskError("\n".join(problems.values()))
    tasks = {}
    with registry.changed() as known:
        for each in (each for each in members if each not in problems):
            entry = registry.Entry(str(directory), each, found.layout, options)
            given = name or _free_name(entry, known, taken)
            known[given] = entry
            tasks[given] = found.tasks[each](given)
    return Registered(found.layout, tasks, problems)


def _problem(found: Found, member: str) -> str:
    """Why a task cannot be loaded; empty if it can."""
    try:
        found.tasks[member](member)
    except TaskError as error:
        return str(error)
    return ""


def _split(path: str) -> tuple[Path, str]:
    """The directory, absolute, and the name of a task in it; empty for whatever there is."""
    directory, _, member = path.partition(MEMBER)
    return Path(directory).expanduser().resolve(), member


def _load(found: Found, directory: Path, member: str, name: str) -> Task:
    if not member and len(found.tasks) == 1:
        member = next(iter(found.tasks))
    _check_member(found, directory, member)
    return found.tasks[member](name)


def _check_member(found: Found, directory: Path, member: str) -> None:
    if member in found.tasks:
        return
    shown = ", ".join(list(found.tasks)[:10]) + (", ..." if len(found.tasks) > 10 else "")
    which = f"has no task {member!r}; it has" if member else "has several tasks; name one of"
    raise TaskError(f"{directory} {which} {shown} (as {directory}{MEMBER}NAME)")


def _check_name(name: str, members: Collection[str], taken: Collection[str]) -> None:
    if len(members) > 1:
        raise ValueError(f"name={name!r} is for one task, and there are {len(members)}")
    if name in taken:
        raise ValueError(f"name={name!r} is that of a built-in task")
    if is_path(name) or MEMBER in name or not name.strip():
        raise ValueError(f"name={name!r} must not look like a path")


def _free_name(
    entry: registry.Entry, known: dict[str, registry.Entry], taken: Collection[str]
) -> str:
    """The name of its directory, as far as it is free or its own already."""
    plain, prefixed = entry.member, f"{entry.layout}-{entry.member}"
    numbered = (f"{prefixed}-{number}" for number in range(2, len(known) + 3))
    for candidate in (plain, prefixed, *numbered):
        owner = known.get(candidate)
        is_own = owner is not None and (owner.path, owner.member) == (entry.path, entry.member)
        if candidate not in taken and not is_path(candidate) and (owner is None or is_own):
            return candidate
    raise AssertionError("there are more numbers than names")
