from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.benchmark.arm_results import make_result
from wmrl_gym.benchmark.plots import plot_curves, plot_profiles, plot_scores, plot_sweep
from wmrl_gym.benchmark.results import ArmResult, StudyError
from wmrl_gym.benchmark.statistics import Interval
from wmrl_gym.benchmark.tables import compare, markdown, time_to_reach


def study() -> list[ArmResult]:
    real = [make_result("real", seed, score=0.70 + 0.01 * seed) for seed in range(3)]
    both = [
        make_result("both", seed, score=0.72 + 0.01 * seed, seconds=20.0, executions=51.0)
        for seed in range(4)
    ]
    return [*real, *both]


def test_arms_side_by_side_by_hand() -> None:
    real, both = compare(study(), reference="real")
    assert (real.arm, real.seeds, both.seeds) == ("real", (0, 1, 2), (0, 1, 2, 3))
    assert real.gain is None
    assert both.gain is not None
    np.testing.assert_allclose(both.gain, (0.02, 0.02, 0.02))  # paired: the seeds' luck cancels
    assert both.held_out_gain is not None
    np.testing.assert_allclose(both.held_out_gain, (0.01, 0.01, 0.01))
    assert both.speedup is not None
    assert both.speedup.estimate == pytest.approx(4.0)
    # Scores 0.72 to 0.75 against 0.70 to 0.72: 11 of 12 pairs won, one tied.
    assert both.improvement is not None
    assert both.improvement.estimate == pytest.approx((11 + 0.5) / 12)


def test_time_to_reach_by_hand() -> None:
    # The running mean of five of 0.45, 0.50, ... is 0.55 after batch 5, 0.60 after batch 6.
    assert time_to_reach(make_result("real", 0), 0.58) == 60.0
    assert np.isnan(time_to_reach(make_result("real", 0), 0.9))


def test_speedup_at_equal_score() -> None:
    results = [make_result("real", 0), make_result("both", 0, score=0.58, seconds=20.0)]
    assert compare(results, reference="real")[1].speedup_at_equal_score == pytest.approx(3.0)
    results[1] = make_result("both", 0, score=0.99)
    assert compare(results, reference="real")[1].speedup_at_equal_score is None


def test_a_missing_reference_is_refused() -> None:
    with pytest.raises(StudyError, match="reference='ideal'"):
        compare(study(), reference="ideal")


def test_markdown_has_a_line_for_each_arm() -> None:
    lines = markdown(compare(study(), reference="real")).splitlines()
    assert len(lines) == 4
    assert len({line.count("|") for line in lines}) == 1
    assert "**+0.020 [+0.020, +0.020]**" in lines[3]
    assert "4.0×" in lines[3]


def test_plots_are_written(tmp_path: Path) -> None:
    results = study()
    plot_scores(compare(results, reference="real"), tmp_path / "scores.png")
    plot_curves(results, tmp_path / "curves.png", over="executions", label="real executions")
    plot_profiles(results, tmp_path / "profiles.png")
    points = {"both": [(0.0, Interval(0.5, 0.4, 0.6)), (1.0, Interval(0.7, 0.6, 0.8))]}
    plot_sweep(points, tmp_path / "new" / "sweep.png", label="anchor fraction")
    assert all(file.stat().st_size > 5000 for file in tmp_path.rglob("*.png"))
    assert len(list(tmp_path.rglob("*.png"))) == 4
