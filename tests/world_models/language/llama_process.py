"""A llama.cpp server in a process of its own, which can be killed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any


class LlamaServer:
    """Serves SmolLM2 as `model` from its making to the end of its block.

    Args:
        model: What it calls it.
        port: Where; 0 for any port that is free.
    """

    def __init__(self, model: str, port: int = 0) -> None:
        program = Path(__file__).with_name("llama_server.py")
        command = [sys.executable, str(program), model, str(port)]
        self.child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.child.stdout is not None
        address = next(
            line.decode().removeprefix("listening ").strip()
            for line in self.child.stdout
            if line.startswith(b"listening ")
        )
        self.url = f"{address}/v1"
        self.port = int(address.rpartition(":")[2])

    def __enter__(self) -> LlamaServer:
        return self

    def __exit__(self, *_: Any) -> None:
        assert self.child.stdin is not None
        assert self.child.stdout is not None
        self.child.stdin.close()  # it ends with its input
        self.child.wait()
        self.child.stdout.close()

    def kill(self) -> None:
        """End it as a machine that fails would."""
        self.child.kill()
        self.child.wait()
