"""One object with what TRL's `GRPOTrainer` needs: data set, rollouts, rewards."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import cached_property, partial
from typing import Any

import gymnasium as gym
import numpy as np
from datasets import Dataset  # type: ignore[import-untyped]  # it has no stubs

from wmrl_gym.agents.llm.dialogue import Dialogue, Prompt
from wmrl_gym.agents.llm.language import AgentLanguage, ChatLanguage
from wmrl_gym.agents.llm.ranks import Ranks
from wmrl_gym.agents.llm.rollout import Lengths, TokenEpisode, open_episodes, play_turn
from wmrl_gym.agents.llm.scorer import GroupScorer
from wmrl_gym.agents.llm.scores import Score
from wmrl_gym.agents.llm.trl_generation import context_length, generate
from wmrl_gym.outcomes import Source, WorldModel

WEIGHT = "wmrl_weight"
"""Field of a sample with the weight of its group."""
REWARD = "wmrl_reward"
"""Field of a sample with its reward, or `None`."""
_LOGGED = ("group", "weight", "source", "anchor", "predicted", "calibrated", "true")


class WMRLSpec:
    """What `GRPOTrainer` needs to train on text episodes with a world model and anchors.

    Pass it to `WMRLTrainer`, which also weighs the groups. Its three properties fit TRL's own
    trainer too: `GRPOTrainer(train_dataset=spec.train_dataset, rollout_func=spec.rollout_func,
    reward_funcs=spec.reward_funcs, ...)` trains on the same rewards with all weights 1.

    Every rollout batch plays its episodes turn by turn. The executions of a turn, of all
    samples and ranks, are one batch on the main process, which alone holds the world model,
    the correction and the sandboxes. After the batch the anchors are fed back.

    Args:
        tasks: Names of the tasks to train on; `[""]` for an environment that has none.
        groups: Groups of the whole training, which is the length of the data set.
        env: Id of an environment that takes and gives text.
        env_options: Further arguments of the environment, `max_turns` say.
        world_model: A name (see `register_world_model`) or an object.
        anchor_fraction: Share of groups that are executed for real, in `[0, 1]`.
        seed: Seed of the anchors and of the order of the tasks.
        correction_options: Further arguments of `RewardCorrection`.
        language: How the agent is asked and understood.
        episodes: Most samples of a generation batch, over all ranks.
        turn_tokens: Longest action; `None` for what the whole completion may take.
        max_prompt_tokens: Longest prompt; a longer one loses its middle.
        max_observation_tokens: Longest answer of the environment, likewise.

    Raises:
        UnsupportedEnvironmentError: If the environment has no executor, or takes no text.
        ValueError: If an argument is out of its range, or two tasks have the same prompt.
    """

    def __init__(
        self,
        tasks: Sequence[str],
        *,
        groups: int,
        env: str = "WMRL-MLE-v0",
        env_options: Mapping[str, Any] | None = None,
        world_model: str | WorldModel = "surrogate",
        anchor_fraction: float = 0.1,
        seed: int = 0,
        correction_options: Mapping[str, Any] | None = None,
        language: AgentLanguage | None = None,
        episodes: int = 1024,
        turn_tokens: int | None = None,
        max_prompt_tokens: int = 4096,
        max_observation_tokens: int = 1024,
    ) -> None:
        if not tasks:
            raise ValueError("tasks=[] must name at least one task")
        if groups < 1:
            raise ValueError(f"groups={groups} must be at least 1")
        self.tasks = tuple(tasks)
        self.groups = groups
        self.seed = seed
        self.language: AgentLanguage = ChatLanguage() if language is None else language
        self.turn_tokens = turn_tokens
        self.max_prompt_tokens = max_prompt_tokens
        self.max_observation_tokens = max_observation_tokens
        options = dict(env_options or {})
        if any(tasks):
            options["tasks"] = list(tasks)
        self.scorer = GroupScorer(
            partial(gym.make, env, disable_env_checker=True, **options),
            episodes=episodes,
            world_model=world_model,
            anchor_fraction=anchor_fraction,
            seed=seed,
            correction_options=correction_options,
        )
        self.diagnostics: dict[str, float] = {}
        """What the latest `update` said."""

    @property
    def train_dataset(self) -> Dataset:
        """`groups` rows of prompt and task; each run of `len(tasks)` rows holds every task."""
        rng = np.random.default_rng(self.seed)
        cycles = -(-self.groups // len(self.tasks))
        order = np.concatenate([rng.permutation(len(self.tasks)) for _ in range(cycles)])
        tasks = [self.tasks[i] for i in order[: self.groups]]
        return Dataset.from_dict({"prompt": [self.prompts[t] for t in tasks], "task": tasks})

    @property
    def reward_funcs(self) -> list[Callable[..., list[float | None]]]:
        """The reward function; it reads and logs what the rollout has found."""
        return [wmrl_score]

    @cached_property
    def prompts(self) -> Mapping[str, Prompt]:
        """Prompt of each task."""
        return {t: self.language.prompt(t, self.scorer.first_observation(t)) for t in self.tasks}

    @cached_property
    def _task_of(self) -> Mapping[str, str]:
        # TRL hands a rollout function the prompts and nothing else of a row.
        known = {_key(prompt): task for task, prompt in self.prompts.items()}
        if len(known) < len(self.tasks):
            raise ValueError(f"tasks={list(self.tasks)}: two of them have the same prompt")
        return known

    def rollout_func(self, prompts: Sequence[Prompt], trainer: Any) -> dict[str, Any]:
        """Play and score one generation batch; called by TRL.

        Args:
            prompts: `[B]` prompts of this rank, those of a group side by side.
            trainer: The `GRPOTrainer`.

        Returns:
            Token sequences, their mask, and the fields of `Score` as `wmrl_...`.

        Raises:
            ValueError: If the trainer evaluates: real scores come from `wmrl-gym evaluate`.
        """
        if not trainer.model.training:
            raise ValueError(
                "eval_dataset: this rollout trains; evaluate with `wmrl-gym evaluate` instead"
            )
        ranks = Ranks(trainer.accelerator)
        dialogue, lengths = self._dialogue(trainer), self._lengths(trainer)
        tasks = [self._task_of[_key(prompt)] for prompt in prompts]
        episodes = open_episodes(prompts, dialogue, lengths)
        self._start(ranks, tasks, trainer.num_generations)
        while ranks.any(not episode.done for episode in episodes):
            play_turn(
                episodes,
                dialogue,
                lengths,
                generate=partial(generate, trainer),
                read_action=lambda i, text: self.language.action(tasks[i], text),
                step=partial(ranks.step, self.scorer),
            )
        scores = ranks.scatter(self.scorer.scores)
        self.diagnostics = ranks.broadcast(self.scorer.update)
        return {
            **_tokens(episodes, trainer),
            **_fields(scores),
            "wmrl_diagnostics": [self.diagnostics for _ in scores],
        }

    def state_dict(self) -> dict[str, Any]:
        """All that a resumed run needs, as picklable data."""
        return self.scorer.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict()`."""
        self.scorer.load_state_dict(state)

    def close(self) -> None:
        """Close the environments, the sandboxes and the world model; safe to call twice."""
        self.scorer.close()

    def _start(self, ranks: Ranks, tasks: Sequence[str], group_size: int) -> None:
        def start(tasks: list[str]) -> None:
            # A group may lie on two ranks: rows are counted over all of them.
            groups = self.scorer.next_groups(len(tasks) // group_size)
            self.scorer.start(tasks, np.repeat(groups, group_size).tolist())

        ranks.on_main(start, tasks)

    def _dialogue(self, trainer: Any) -> Dialogue:
        return Dialogue(
            trainer.processing_class,
            max_prompt_tokens=self.max_prompt_tokens,
            max_observation_tokens=self.max_observation_tokens,
            end_tokens=trainer.eos_token_ids,
            template_options=trainer.chat_template_kwargs,
        )

    def _lengths(self, trainer: Any) -> Lengths:
        completion = trainer.max_completion_length
        turn = completion if self.turn_tokens is None else min(self.turn_tokens, completion)
        return Lengths(turn=turn, completion=completion, context=context_length(trainer))


def wmrl_score(
    *,
    prompts: Sequence[Any],
    log_extra: Callable[[str, list[Any]], None] | None = None,
    log_metric: Callable[[str, float], None] | None = None,
    **fields: Any,
) -> list[float | None]:
    """The rewards that the rollout has found; logs weights, sources and the correction.

    Raises:
        ValueError: If the samples were not played by `WMRLSpec.rollout_func`.
    """
    if REWARD not in fields:
        raise ValueError("these samples have no score: pass rollout_func=spec.rollout_func too")
    rewards: list[float | None] = fields[REWARD]
    if log_extra is not None:
        for name in _LOGGED:
            log_extra(f"wmrl_{name}", fields[f"wmrl_{name}"])
    if log_metric is not None:
        for name, value in _metrics(rewards, fields).items():
            log_metric(f"wmrl/{name}", value)
    return rewards


def _metrics(rewards: Sequence[float | None], fields: Mapping[str, Any]) -> dict[str, float]:
    real = [source == Source.REAL.name.lower() for source in fields["wmrl_source"]]
    return {
        "unscorable": float(np.mean([reward is None for reward in rewards])),
        "share_real": float(np.mean(real)),
        "weight_max": float(np.max(fields[WEIGHT])),
        **fields["wmrl_diagnostics"][0],
    }


def _tokens(episodes: Sequence[TokenEpisode], trainer: Any) -> dict[str, Any]:
    return {
        "prompt_ids": [episode.prompt for episode in episodes],
        "completion_ids": [episode.completion for episode in episodes],
        "logprobs": [e.logprobs for e in episodes] if trainer.use_vllm else None,
        "env_mask": [episode.mask for episode in episodes],
    }


def _fields(scores: Sequence[Score]) -> dict[str, list[Any]]:
    rows = [{**asdict(score), "source": score.source.name.lower()} for score in scores]
    return {f"wmrl_{name}": [row[name] for row in rows] for name in ("reward", *_LOGGED)}


def _key(prompt: Prompt) -> str:
    return prompt if isinstance(prompt, str) else prompt[-1]["content"]
