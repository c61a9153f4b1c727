"""A real task: its data set of prompts, and its executions in sandboxes on the Ray cluster."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from tests.agents.verl.configuration import configuration
from wmrl_gym.agents.verl.actor import start_scorer
from wmrl_gym.agents.verl.options import read_options
from wmrl_gym.agents.verl.rows import write_rows

pytestmark = pytest.mark.verl

TASKS = ["wine-cultivar-micro", "diabetes-micro"]


def test_rows_of_a_data_set(tmp_path: Path) -> None:
    file = tmp_path / "train.parquet"
    write_rows(file, TASKS, groups=5, system="Be brief.")
    rows = pd.read_parquet(file)
    assert [row["index"] for row in rows["extra_info"]] == list(range(5))
    assert {row["task"] for row in rows["extra_info"][:2]} == set(TASKS)
    for prompt, info in zip(rows["prompt"], rows["extra_info"], strict=True):
        assert [message["role"] for message in prompt] == ["system", "user"]
        assert ("cultivar" in prompt[1]["content"]) == info["task"].startswith("wine")
    with pytest.raises(ValueError, match="groups=0 at least 1"):
        write_rows(file, TASKS, groups=0)


def test_verl_reads_them(tmp_path: Path, tokenizer: object) -> None:
    from verl.utils.dataset.rl_dataset import RLHFDataset

    file = tmp_path / "train.parquet"
    write_rows(file, TASKS, groups=2)
    row = RLHFDataset(str(file), tokenizer, configuration("data.max_prompt_length=4096").data)[0]
    assert row["extra_info"]["task"] in TASKS
    assert row["raw_prompt"][0]["role"] == "user"


def test_scripts_run_in_sandboxes_on_the_cluster(ray_cluster: None) -> None:
    import ray

    options = read_options(
        configuration(
            "wmrl.env=WMRL-MLE-v0",
            f"+wmrl.env_options={{tasks:[{','.join(TASKS)}],timeout_s:60}}",
            "wmrl.world_model=constant",
            "wmrl.anchor_fraction=1.0",
        )
    )
    assert options is not None
    scorer = start_scorer(options)
    slots = ray.get([scorer.open.remote(task, 0) for task in TASKS])
    script = "```python\nprint(6 * 7)\n```"
    turns = ray.get([scorer.act.remote(slot, script) for slot in slots])
    assert all("42" in turn.observation for turn in turns)
    scores = ray.get([scorer.close_episode.remote(slot) for slot in slots])
    # Both ran to their end and handed nothing in.
    assert [score.true for score in scores] == [0.2, 0.2]
    assert all(score.seconds > 0 for score in scores)
    ray.kill(scorer)
