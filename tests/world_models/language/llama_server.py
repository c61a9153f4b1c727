"""Serves SmolLM2 with llama.cpp until its input ends.

python llama_server.py NAME [PORT]
"""

from __future__ import annotations

import sys

from wmrl_gym.world_models.language.weights.smollm2 import smollm2_gguf


def main() -> None:
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(smollm2_gguf())
    parameters.model_alias = {sys.argv[1]}
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    parameters.n_parallel = 2
    parameters.n_ctx = 8192
    server = xllamacpp.Server(parameters)
    print(f"listening {server.listening_address}", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
