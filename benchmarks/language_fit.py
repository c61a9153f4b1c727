"""What fitting a language model is worth: some of the shipped outcomes, one task of them held out.

python benchmarks/language_fit.py head|lora [--groups 15] [--epochs 1] [--measured 3] [--json FILE]

The same groups are learned and measured with both methods. Processor seconds tell the work on
a machine that does other things besides.
"""

from __future__ import annotations

import argparse
import json
import platform
import tempfile
import time
from pathlib import Path
from typing import Any

from wmrl_gym.benchmark.folds import fewer_groups
from wmrl_gym.cli.fit_language import LanguageFit, fit_language_model
from wmrl_gym.interchange.outcomes import OutcomeWriter, shipped_outcomes
from wmrl_gym.world_models.language.fitted import FittedModel
from wmrl_gym.world_models.language.lora import LoraSettings


def fitted(arguments: argparse.Namespace, directory: Path) -> dict[str, Any]:
    """Fit in `directory`; what was found, as JSON."""
    shipped = shipped_outcomes()
    chosen, out = directory / "outcomes.jsonl.gz", directory / "fitted"
    with OutcomeWriter(chosen, shipped.provenance) as writer:
        writer.write(fewer_groups(shipped.records, arguments.groups))
    started, worked = time.perf_counter(), time.process_time()
    fit_language_model(
        LanguageFit(
            out=out,
            source=chosen,
            method=arguments.method,
            measured_groups=arguments.measured,
            device="cpu",
            lora=LoraSettings(epochs=arguments.epochs),
        )
    )
    spent = {"wall_s": time.perf_counter() - started, "cpu_s": time.process_time() - worked}
    model = FittedModel.read(out)
    assert model is not None
    found = {k: v for k, v in model.provenance.items() if k != "source_provenance"}
    return {**found, **{name: round(seconds, 1) for name, seconds in spent.items()}}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("method", choices=("head", "lora"))
    parser.add_argument("--groups", type=int, default=15)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--measured", type=int, default=3)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        found = {"machine": platform.processor() or platform.machine()}
        found |= fitted(arguments, Path(directory))
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
