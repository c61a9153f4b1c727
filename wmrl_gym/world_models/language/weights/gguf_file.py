"""Reading a GGUF file: its key-values and its tensors.

The whole file is read into memory and parsed once. The reader of the package `gguf` goes
through a memory map element by element, which takes half a minute for a vocabulary of 49 000;
of that package only the dequantisation is used here.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmrl_gym.errors import MissingDependencyError

_NUMBERS = {
    0: "<u1",
    1: "<i1",
    2: "<u2",
    3: "<i2",
    4: "<u4",
    5: "<i4",
    6: "<f4",
    7: "?",
    10: "<u8",
    11: "<i8",
    12: "<f8",
}
"""numpy type of a value by its code in the file."""
_STRING, _ARRAY = 8, 9
_VERSIONS = (2, 3)
_ALIGNMENT = 32


@dataclass(frozen=True)
class _Record:
    """Where a tensor lies in the file."""

    name: str
    shape: tuple[int, ...]
    """In the order of numpy: the last axis is contiguous."""
    quantisation: int
    offset: int


class GGUFFile:
    """The content of a GGUF file.

    Args:
        path: The file.

    Raises:
        ValueError: If it is no GGUF file of a version that is known.
    """

    def __init__(self, path: Path) -> None:
        self._bytes = path.read_bytes()
        self._at = 0
        magic, version = self._bytes[:4], self._numbers("<u4", 2)[1]
        if magic != b"GGUF" or version not in _VERSIONS:
            raise ValueError(f"path={path} is no GGUF file of version 2 or 3")
        tensors, pairs = (int(count) for count in self._numbers("<u8", 2))
        self.values: dict[str, Any] = dict(self._pair() for _ in range(pairs))
        self._records = [self._record() for _ in range(tensors)]
        alignment = int(self.values.get("general.alignment", _ALIGNMENT))
        self._start = -(-self._at // alignment) * alignment

    def tensors(self) -> Iterator[tuple[str, NDArray[np.float32]]]:
        """Name and dequantised float32 value of each tensor, in the order of the file.

        Raises:
            MissingDependencyError: If the package `gguf` is not installed.
        """
        for record in self._records:
            yield record.name, self._tensor(record)

    def _tensor(self, record: _Record) -> NDArray[np.float32]:
        quants, sizes, types = _gguf()
        kind = types(record.quantisation)
        block, size = sizes[kind]
        *outer, last = record.shape
        shape = (*outer, last // block * size)
        start = self._start + record.offset
        raw = np.frombuffer(self._bytes, np.uint8, int(np.prod(shape)), start).reshape(shape)
        values: NDArray[np.float32] = quants.dequantize(raw, kind)
        return values.reshape(record.shape)

    def _numbers(self, kind: str, count: int) -> NDArray[Any]:
        values = np.frombuffer(self._bytes, kind, count, self._at)
        self._at += values.nbytes
        return values

    def _string(self) -> str:
        (length,) = struct.unpack_from("<Q", self._bytes, self._at)
        start = self._at + 8
        self._at = start + length
        return self._bytes[start : self._at].decode("utf-8")

    def _pair(self) -> tuple[str, Any]:
        name = self._string()
        return name, self._value(int(self._numbers("<u4", 1)[0]))

    def _value(self, kind: int) -> Any:
        if kind == _STRING:
            return self._string()
        if kind != _ARRAY:
            return self._numbers(_NUMBERS[kind], 1)[0].item()
        inner = int(self._numbers("<u4", 1)[0])
        count = int(self._numbers("<u8", 1)[0])
        if inner in _NUMBERS:  # in one go: an array may have as many entries as the vocabulary
            return self._numbers(_NUMBERS[inner], count)
        return [self._value(inner) for _ in range(count)]

    def _record(self) -> _Record:
        name = self._string()
        axes = int(self._numbers("<u4", 1)[0])
        shape = tuple(int(size) for size in self._numbers("<u8", axes)[::-1])
        quantisation = int(self._numbers("<u4", 1)[0])
        return _Record(name, shape, quantisation, int(self._numbers("<u8", 1)[0]))


def _gguf() -> tuple[Any, Any, Any]:
    try:
        from gguf import constants, quants
    except ImportError as error:
        raise MissingDependencyError(
            f"{error}: weights in GGUF files need the package gguf; pip install 'wmrl-gym[llm]'"
        ) from error
    return quants, constants.GGML_QUANT_SIZES, constants.GGMLQuantizationType
