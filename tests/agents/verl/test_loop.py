"""Episodes as the agent-loop worker of verl plays them, with a real tokenizer and a real model."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from verl.experimental.agent_loop.agent_loop import AgentLoopWorker

from tests.agents.llm.scripts import carry_out
from tests.agents.verl.configuration import configuration
from tests.agents.verl.digits import ScriptedServer, TransformersServer
from wmrl_gym import Execution
from wmrl_gym.agents.verl.actor import find_scorer, start_scorer
from wmrl_gym.agents.verl.options import read_options
from wmrl_gym.correction import AnchorSampler
from wmrl_gym.errors import RunError

pytestmark = pytest.mark.verl

DRAWN = AnchorSampler(fraction=0.5, seed=0).select(range(8)).tolist()
ANCHOR, PREDICTED = DRAWN.index(True), DRAWN.index(False)
LINES = ("I say 9", "no number", "I say 3 6")


@pytest.fixture(scope="module")
def scorer(ray_cluster: None) -> Iterator[Any]:
    import ray

    options = read_options(configuration())
    assert options is not None
    handle = start_scorer(options)
    yield handle
    ray.kill(handle)


def play(server: Any, *groups: int, **overrides: Any) -> list[Any]:
    """Plays one episode for each group in one agent-loop worker of verl."""
    config = configuration(*(f"{name}={value}" for name, value in overrides.items()))
    params = {"temperature": 1.0, "top_p": 1.0, "top_k": -1, "logprobs": True}

    class Worker(AgentLoopWorker):
        async def _agent_loop_postprocess(self, output: Any, validate: bool, **row: Any) -> Any:
            return output  # without the padding of the legacy trainer

    async def every() -> list[Any]:
        worker = Worker(config, server)
        info = {"step": 1, "sample_index": 0, "rollout_n": 0, "validate": False}
        runs = [
            worker._run_agent_loop(
                dict(params),
                info,
                agent_name="wmrl",
                trace=False,
                raw_prompt=[{"role": "user", "content": "Task a: say digits."}],
                extra_info={"index": 0, "task": "a"},
                index=0,
                uid=f"u{group}",
                wmrl_group=group,
            )
            for group in groups
        ]
        return await asyncio.gather(*runs)

    return asyncio.run(every())


def said(tokenizer: Any, output: Any) -> list[str]:
    """What the model said in each turn, by the mask."""
    turns: list[list[int]] = [[]]
    for token, own in zip(output.response_ids, output.response_mask, strict=True):
        if own:
            turns[-1].append(token)
        elif turns[-1]:
            turns.append([])
    return [tokenizer.decode(ids, skip_special_tokens=True) for ids in turns]


def best(lines: list[str]) -> float:
    scores = [carry_out(Execution("a", x)).score for x in lines if any(c.isdigit() for c in x)]
    return max((score for score in scores if score is not None), default=0.0)


def test_real_and_predicted_episodes(scorer: Any, tokenizer: Any) -> None:
    outputs = play(ScriptedServer(tokenizer, LINES), ANCHOR, ANCHOR, PREDICTED, PREDICTED)
    for output, real in zip(outputs, [True, True, False, False], strict=True):
        lines = said(tokenizer, output)
        assert len(lines) == 2
        assert set(lines) <= set(LINES)
        assert output.reward_score == pytest.approx(best(lines) * (1.0 if real else 0.5))
        assert output.extra_fields["reward_extra_info"]["wmrl_anchor"] == real
        assert output.extra_fields["wmrl_weight"] == 1.0
        assert output.num_turns == 4
        told = [
            t for t, own in zip(output.response_ids, output.response_mask, strict=True) if not own
        ]
        answer = tokenizer.decode(told)
        ran = any(c.isdigit() for c in lines[0])
        assert ("metric" if real else "predicted") * ran in answer
        assert ("nothing ran" in answer) != ran
        assert "I say" not in answer


def test_tokens_and_mask_make_the_conversation_of_the_template(scorer: Any, tokenizer: Any) -> None:
    (output,) = play(ScriptedServer(tokenizer, ("I say 9",)), ANCHOR)
    conversation = [
        {"role": "user", "content": "Task a: say digits."},
        {"role": "assistant", "content": "I say 9"},
        {"role": "user", "content": "metric 1.00"},
        {"role": "assistant", "content": "I say 9"},
    ]
    whole = tokenizer.apply_chat_template(conversation, tokenize=True, return_dict=False)
    # The template ends with a line break after the last turn, which the model does not say.
    assert whole[: len(output.prompt_ids + output.response_ids)] == (
        output.prompt_ids + output.response_ids
    )
    assert output.response_mask[0] == output.response_mask[-1] == 1
    spoken = sum(output.response_mask)
    assert spoken == 2 * len(tokenizer.encode("I say 9<|im_end|>", add_special_tokens=False))


def test_policy_versions_of_all_turns_are_told(scorer: Any, tokenizer: Any) -> None:
    (output,) = play(ScriptedServer(tokenizer, ("I say 9",), versions=(3, 5)), ANCHOR)
    assert output.extra_fields["min_global_steps"] == 3
    assert output.extra_fields["max_global_steps"] == 5


def test_what_has_no_score_leaves_no_trajectory(scorer: Any, tokenizer: Any) -> None:
    real, predicted, fine = play(
        ScriptedServer(tokenizer, ("broken 9",)), ANCHOR, PREDICTED, PREDICTED
    )
    assert real == predicted == fine == []
    (riddle,) = play(ScriptedServer(tokenizer, ("a riddle 9",)), PREDICTED)
    assert riddle == []


def test_a_turn_has_its_limit_and_the_response_too(scorer: Any, tokenizer: Any) -> None:
    server = ScriptedServer(tokenizer, ("I say 9 and then many other words " * 5,))
    (short,) = play(server, PREDICTED, **{"+wmrl.turn_tokens": 4})
    assert len(said(tokenizer, short)) == 2
    assert sum(short.response_mask) == 8
    (one,) = play(server, PREDICTED, **{"data.max_response_length": 20})
    assert len(one.response_ids) == 20
    assert one.response_mask == [1] * 20


def test_rows_without_a_group_are_refused_with_the_reason(scorer: Any, tokenizer: Any) -> None:
    from wmrl_gym.agents.verl import loop

    class NoGroup(loop.WMRLAgentLoop):  # type: ignore[misc]  # verl has no types
        def __init__(self) -> None:
            pass

    with pytest.raises(ValueError, match=r"this row has no group.*wmrl-gym evaluate"):
        asyncio.run(NoGroup().run({}, raw_prompt=[]))


def test_a_failing_server_leaves_no_episode_open(scorer: Any, tokenizer: Any) -> None:
    import ray

    class Broken(ScriptedServer):
        async def generate(self, *args: Any, **options: Any) -> Any:
            raise ConnectionError("the engine is gone")

    free = ray.get(scorer.open.remote("a", 0))
    ray.get(scorer.close_episode.remote(free))
    with pytest.raises(ConnectionError, match="the engine is gone"):
        play(Broken(tokenizer, LINES), PREDICTED)
    assert ray.get(scorer.open.remote("a", 0)) == free
    ray.get(scorer.close_episode.remote(free))


def test_log_probabilities_of_a_real_model_are_those_of_its_tokens(
    scorer: Any, tokenizer: Any
) -> None:
    from wmrl_gym.world_models.language.weights.smollm2 import smollm2_directory

    server = TransformersServer(str(smollm2_directory()))
    (output,) = play(server, PREDICTED, **{"+wmrl.turn_tokens": 8})
    with torch.no_grad():
        ids = torch.tensor([output.prompt_ids + output.response_ids])
        logits = server.model(ids).logits[0, len(output.prompt_ids) - 1 : -1]
    forced = logits.log_softmax(-1)[range(len(output.response_ids)), output.response_ids]
    mask = torch.tensor(output.response_mask, dtype=torch.bool)
    assert 2 <= int(mask.sum()) <= 16
    assert torch.allclose(forced[mask], torch.tensor(output.response_logprobs)[mask], atol=1e-3)
    assert (torch.tensor(output.response_logprobs)[~mask] == 0).all()


def test_what_is_wrong_with_the_options_is_told_at_the_start(
    scorer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wmrl_gym.agents.verl.actor._NAME", "of-another-training")
    options = read_options(configuration("wmrl.world_model=crystal-ball"))
    assert options is not None
    with pytest.raises(RunError, match=r"does not start: (?s:.*)crystal-ball"):
        start_scorer(options)


def test_no_scorer_is_said_so(ray_cluster: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wmrl_gym.agents.verl.actor._NAME", "never-started")
    with pytest.raises(RuntimeError, match="needs a section 'wmrl'"):
        find_scorer()
