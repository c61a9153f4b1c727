"""Commands that are one for the user and several inside: `--agent` says which is meant.

Each has its own options, so that `wmrl-gym train --agent trl --help` lists what that agent
understands and nothing else. A run that goes on has its agent in its directory.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from wmrl_gym.training.directory import CONFIG_FILE


@dataclass(frozen=True)
class Variant:
    """One of the commands behind a name."""

    command: type[Any]
    """Dataclass of the arguments that all of them have, and `config`."""
    config: type[Any]
    """Dataclass of the arguments that this one has besides."""
    agents: tuple[str, ...]
    """Values of `--agent` that stand for it."""

    @property
    def options(self) -> frozenset[str]:
        """Names of its options."""
        return frozenset(
            field.name for kind in (self.command, self.config) for field in fields(kind)
        )


def chosen(variants: Sequence[Variant], arguments: Sequence[str]) -> Variant:
    """The variant that arguments ask for; the first one unless they say.

    Args:
        variants: All of the command.
        arguments: What follows the name of the command.

    Raises:
        ValueError: If there is no such agent, or an option belongs to another variant.
    """
    agent = _agent(arguments)
    agents = [name for one in variants for name in one.agents]
    if agent is not None and agent not in agents:
        raise ValueError(f"--agent {agent} is none of {', '.join(agents)}")
    found = next((one for one in variants if agent in one.agents), variants[0])
    for option in _options(arguments):
        owners = [name for one in variants if option in one.options for name in one.agents]
        if owners and option not in found.options:
            raise ValueError(
                f"--{option.replace('_', '-')} belongs to --agent {'|'.join(owners)}, "
                f"not to --agent {agent or found.agents[0]}"
            )
    return found


def value_of(option: str, arguments: Sequence[str]) -> str | None:
    """What arguments give for `--option`; `None` if nothing, or if they cannot be read."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    parser.add_argument(f"--{option}", dest="value", nargs="?")
    try:
        known, _ = parser.parse_known_args(arguments)
    except argparse.ArgumentError:  # the real parser says what is wrong
        return None
    value: str | None = known.value
    return value


def _agent(arguments: Sequence[str]) -> str | None:
    agent, run = value_of("agent", arguments), value_of("run", arguments)
    if agent is None and run is not None and "--resume" in arguments:
        agent = _recorded(Path(run) / CONFIG_FILE).get("agent")
    return agent


def _recorded(config: Path) -> Mapping[str, Any]:
    try:
        content: Mapping[str, Any] = json.loads(config.read_text())
    except (OSError, ValueError):  # whoever opens the run says what is wrong
        return {}
    return content


def _options(arguments: Sequence[str]) -> list[str]:
    names = [one.removeprefix("--").partition("=")[0] for one in arguments if one.startswith("--")]
    return [name.removeprefix("no-").replace("-", "_") for name in names]
