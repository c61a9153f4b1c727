from __future__ import annotations

import multiprocessing
from copy import deepcopy

from gymnasium.vector.utils import batch_space
from gymnasium.vector.utils.shared_memory import (
    create_shared_memory,
    read_from_shared_memory,
    write_to_shared_memory,
)

from wmrl_gym.envs.vla.instruction_space import LONGEST_INSTRUCTION, Instruction


def test_what_it_contains() -> None:
    space = Instruction()
    assert "Put the red cube (on top) in zone 2!" in space
    assert "" in space
    assert "x" * LONGEST_INSTRUCTION in space
    assert "x" * (LONGEST_INSTRUCTION + 1) not in space
    assert "zwei\nZeilen" not in space
    space.seed(0)
    assert space.sample() in space


def test_shared_text_stays_fresh() -> None:
    space = Instruction()
    memory = create_shared_memory(space, n=2, ctx=multiprocessing.get_context("spawn"))
    shown = read_from_shared_memory(space, memory, n=2)
    write_to_shared_memory(space, 0, "push the cube", memory)
    write_to_shared_memory(space, 1, "open", memory)
    first = deepcopy(shown)
    assert first == ("push the cube", "open")
    assert first in batch_space(space, 2)
    write_to_shared_memory(space, 0, "stop", memory)
    assert list(shown) == ["stop", "open"]
    assert shown[0] == "stop"
    assert shown[-1:] == ("open",)
    assert len(shown) == 2
    assert first == ("push the cube", "open")
