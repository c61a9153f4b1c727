"""The space of instructions, whose text stays fresh in shared memory.

`AsyncVectorEnv` of Gymnasium 1.4 decodes the text in shared memory once, when it is made, and
then shows the first instruction for ever. For an `Instruction` it gets a view instead, which
decodes whenever it is copied or read. It can go when Gymnasium reads text after each step.
"""

from __future__ import annotations

import string
from collections.abc import Iterator, Sequence
from typing import Any, overload

import numpy as np
from gymnasium.spaces import Text
from gymnasium.vector.utils.shared_memory import read_from_shared_memory
from numpy.typing import NDArray

LONGEST_INSTRUCTION = 128
_CHARACTERS = string.ascii_letters + string.digits + string.punctuation + " "


class Instruction(Text):
    """Strings of up to `LONGEST_INSTRUCTION` printable ASCII characters.

    Examples:
        >>> "put the red cube on the tray" in Instruction()
        True
    """

    def __init__(self) -> None:
        super().__init__(LONGEST_INSTRUCTION, min_length=0, charset=_CHARACTERS)


class SharedInstructions(Sequence[str]):
    """The instructions that workers have written into shared memory, as they are now.

    Args:
        space: Says which number stands for which character.
        memory: `[N * max_length]` int32, a `SynchronizedArray`.
        count: `N`, the number of workers.
    """

    def __init__(self, space: Instruction, memory: Any, count: int) -> None:
        self._characters = space.character_list
        numbers: NDArray[np.int32] = np.frombuffer(memory.get_obj(), dtype=np.int32)
        self._numbers = numbers.reshape(count, space.max_length)

    def __len__(self) -> int:
        return len(self._numbers)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[str, ...]: ...
    def __getitem__(self, index: int | slice) -> str | tuple[str, ...]:
        """The instruction of one worker, or of several."""
        if isinstance(index, slice):
            return tuple(self._decoded(row) for row in self._numbers[index])
        return self._decoded(self._numbers[index])

    def __iter__(self) -> Iterator[str]:
        return iter(self[:])

    def __deepcopy__(self, memo: dict[int, Any]) -> tuple[str, ...]:
        # What AsyncVectorEnv hands out after each step.
        return self[:]

    def _decoded(self, row: NDArray[np.int32]) -> str:
        characters = self._characters
        return "".join(characters[number] for number in row if number < len(characters))


@read_from_shared_memory.register(Instruction)
def _read(space: Instruction, shared_memory: Any, n: int = 1) -> Any:
    return SharedInstructions(space, shared_memory, n)
