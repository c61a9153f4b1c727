"""Language models measured: every mode, side by side with a stack and with a re-ranking."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.world_models.tiny_models import tiny_llama
from wmrl_gym.benchmark.calibration import CalibrationSettings, calibrate
from wmrl_gym.benchmark.folds import HELD_OUT, SEEN
from wmrl_gym.interchange.outcomes import OutcomeRecord
from wmrl_gym.outcomes import Execution, Outcome, Status, WorldModel
from wmrl_gym.world_models.language import LanguageWorldModel
from wmrl_gym.world_models.language.backends.transformers import TransformersBackend
from wmrl_gym.world_models.language.model import MODES
from wmrl_gym.world_models.stacked import StackedWorldModel
from wmrl_gym.world_models.surrogate import SurrogateWorldModel


def records() -> list[OutcomeRecord]:
    """Three tasks of two groups of two scripts, some of which fail."""
    rng = np.random.default_rng(0)
    made = []
    for number in range(12):
        fails = number % 3 == 2
        status = Status.CRASHED if fails else Status.COMPLETED
        score = 0.1 if fails else 0.5 + 0.5 * rng.random()
        ending = "raise ValueError" if fails else "save(x)"
        run = Execution(f"task-{number // 4}", f"x = fit({number})\n{ending}\n")
        made.append(OutcomeRecord(run, Outcome(status, score, seconds=0.1), group=number // 2))
    return made


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_every_mode_a_stack_and_a_reranking(tmp_path: Path) -> None:
    backend = TransformersBackend(tiny_llama(tmp_path), rows=16)

    def made(**options: object) -> LanguageWorldModel:
        short = {"max_tokens": 8, "min_outcomes": 4, "min_mass": 0.0, **options}
        return LanguageWorldModel(backend, **short)  # type: ignore[arg-type]  # as they are named

    models: dict[str, WorldModel] = {mode: made(mode=mode) for mode in MODES}
    models["reranked"] = made(mode="expected", rerank="listwise")
    top = SurrogateWorldModel(min_outcomes=4, min_outcomes_per_task=0)
    models["stacked"] = StackedWorldModel(top, [made(mode="head")])
    settings = CalibrationSettings(folds=3, resamples=5)
    found = calibrate(records(), models, settings=settings).models
    assert list(found) == [*MODES, "reranked", "stacked"]
    for regime in (SEEN, HELD_OUT):
        for model in found.values():
            quality = model.qualities[regime]
            assert quality.counts["asked"] == 12
            assert quality.unscored_share == 0.0
        plain, reranked = (found[n].qualities[regime].figures for n in ("expected", "reranked"))
        # Other members of a group have its scores; none is another's, so p_completed stays.
        assert reranked["rank_correlation"].estimate != plain["rank_correlation"].estimate
        assert reranked["completion_auc"].estimate == plain["completion_auc"].estimate
