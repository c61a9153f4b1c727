"""Which prompts are worked through together, and what of them only once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from wmrl_gym.world_models.language.backend import Prompt
from wmrl_gym.world_models.language.backends.chat import Encoded

_SHORTEST_PREFIX = 16


@dataclass(frozen=True)
class Group:
    """Prompts that begin alike."""

    prefix: list[int]
    """Tokens that all of them begin with; may be empty."""
    batches: list[list[int]]
    """Indices of the prompts, in batches of similar length."""


class Rows:
    """Rows that go through the model together, behind a prefix that they share."""

    def __init__(
        self,
        indices: list[int],
        encoded: Sequence[Encoded],
        prefix: int,
        layers: Sequence[tuple[Any, Any]],
    ) -> None:
        self.indices = indices
        self.prefix = prefix
        self.rows = [one.ids[prefix:] for one in encoded]
        self.mask: Any = None
        self.places: Any = None
        self._encoded = encoded
        self._layers = layers

    def cache(self) -> Any:
        """A cache of its own with the prefix expanded to all rows; `None` without a prefix."""
        from transformers import DynamicCache

        if not self._layers:
            return None
        cache = DynamicCache()
        for index, (keys, values) in enumerate(self._layers):
            size = (len(self.rows), -1, -1, -1)
            cache.update(keys.expand(*size), values.expand(*size), index)
        return cache

    def own_spans(self) -> list[tuple[int, int]]:
        """Where the own tokens of each row are among its padded ones."""
        width = max(map(len, self.rows))
        spans = []
        for row, one in zip(self.rows, self._encoded, strict=True):
            shift = width - len(row) - self.prefix
            spans.append((one.own_start + shift, one.own_end + shift))
        return spans


def shared_groups(
    prompts: Sequence[Prompt], encoded: Sequence[Encoded], *, rows: int, whole_own: bool = False
) -> Iterator[Group]:
    """Group `[B]` prompts by what they share.

    Args:
        prompts: `[B]`.
        encoded: `[B]` their tokens.
        rows: Most prompts in a batch.
        whole_own: Leave everything of `Prompt.own` out of the prefix, even what is equal.

    Yields:
        Groups; each prompt is in one batch of one of them.
    """

    def key(index: int) -> tuple[str, str]:
        return prompts[index].system, prompts[index].label

    for _, members in groupby(sorted(range(len(prompts)), key=key), key=key):
        indices = sorted(members, key=lambda index: len(encoded[index].ids))
        prefix = _common([encoded[index].ids for index in indices])
        if whole_own:
            prefix = prefix[: min(encoded[index].own_start for index in indices)]
        worth = len(indices) > 1 and len(prefix) >= _SHORTEST_PREFIX
        cuts = range(0, len(indices), rows)
        yield Group(prefix if worth else [], [indices[cut : cut + rows] for cut in cuts])


def _common(sequences: Sequence[list[int]]) -> list[int]:
    """What all begin with, leaving each at least one token of its own."""
    first, last = min(sequences), max(sequences)  # in lexical order: all others are between
    limit = min(len(sequence) for sequence in sequences) - 1
    length = next((i for i in range(limit) if first[i] != last[i]), limit)
    return first[:length]
