"""The agent loop `wmrl`: one episode of several turns, as verl plays it."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from uuid import uuid4

import ray
from verl.experimental.agent_loop.agent_loop import AgentLoopBase, AgentLoopOutput, register
from verl.utils.profiler import simple_timer

from wmrl_gym.agents.llm.dialogue import Dialogue, Prompt
from wmrl_gym.agents.llm.rollout import Lengths, TokenEpisode, hear_turn, open_episodes
from wmrl_gym.agents.llm.scores import Score
from wmrl_gym.agents.verl.actor import find_scorer
from wmrl_gym.agents.verl.options import Options, read_options

GROUP = "wmrl_group"
"""Column with the id of the group."""
WEIGHT = "wmrl_weight"
"""Extra field of a sample with the weight of its group, as far as the sample knows it."""
_log = logging.getLogger(__name__)


@register("wmrl")
class WMRLAgentLoop(AgentLoopBase):  # type: ignore[misc]  # verl has no types
    """Plays an episode of the environment that the section `wmrl` names.

    The model writes, the scorer answers, until the episode or the room for tokens ends. An
    episode without a score leaves no trajectory: verl goes on with the rest of its group.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        known = read_options(self.config)
        self._options = Options() if known is None else known
        rollout = self.rollout_config
        self._dialogue = Dialogue(
            self.tokenizer,
            max_prompt_tokens=rollout.prompt_length,
            max_observation_tokens=self._options.max_observation_tokens,
            template_options=dict(self.apply_chat_template_kwargs),
        )
        response = rollout.response_length
        turn = min(self._options.turn_tokens or response, response)
        context = rollout.get("max_model_len") or rollout.prompt_length + response
        self._lengths = Lengths(turn=turn, completion=response, context=context)

    async def run(
        self, sampling_params: dict[str, Any], **row: Any
    ) -> AgentLoopOutput | list[AgentLoopOutput]:
        """Play one episode.

        Args:
            sampling_params: How to sample.
            row: A row of the data set, with the id of its group.

        Returns:
            Its trajectory; none at all if we failed to score it.

        Raises:
            ValueError: If the trainer has not numbered the groups.
        """
        if GROUP not in row:
            raise ValueError(
                "this row has no group: the agent loop wmrl trains with the trainers of verl that "
                "its plugin has registered, and a section wmrl in the configuration; to validate, "
                "use `wmrl-gym evaluate`"
            )
        scorer = find_scorer()
        slot = await scorer.open.remote(row["extra_info"]["task"], int(row[GROUP]))
        play = _Play(self, scorer, slot, sampling_params)
        try:
            episode = await play.episode(_prompt(row["raw_prompt"]))
        except BaseException:
            with suppress(ray.exceptions.RayError):
                await scorer.close_episode.remote(slot)
            raise
        return play.output(episode, await scorer.close_episode.remote(slot))


class _Play:
    """One episode, and what is to be told about it."""

    def __init__(self, loop: WMRLAgentLoop, scorer: Any, slot: int, params: dict[str, Any]) -> None:
        self._dialogue = loop._dialogue
        self._lengths = loop._lengths
        self._server = loop.server_manager
        self._scorer = scorer
        self._slot = slot
        self._params = params
        self._seconds: dict[str, float] = {}
        self._versions: list[Any] = []
        self._turns = 0
        self._request = uuid4().hex
        """One for the whole episode: its later turns go to the server that knows the earlier."""

    async def episode(self, prompt: Prompt) -> TokenEpisode:
        (episode,) = open_episodes([prompt], self._dialogue, self._lengths)
        while not episode.done:
            text = await self._say(episode)
            with simple_timer("tool_calls", self._seconds):
                turn = await self._scorer.act.remote(self._slot, text)
            hear_turn(episode, turn, self._dialogue, self._lengths)
        return episode

    async def _say(self, episode: TokenEpisode) -> str:
        room = min(self._lengths.turn, episode.room(self._lengths))
        with simple_timer("generate_sequences", self._seconds):
            said = await self._server.generate(
                request_id=self._request,
                prompt_ids=episode.prompt + episode.completion,
                sampling_params={**self._params, "max_tokens": room},
            )
        self._turns += 1
        self._versions += [said.extra_fields.get(f"{end}_global_steps") for end in ("min", "max")]
        ids = list(said.token_ids)[:room] or [self._dialogue.tokenizer.eos_token_id]
        known = said.log_probs if said.token_ids else None
        episode.say(ids, None if known is None else list(known)[:room])
        return self._dialogue.action(ids)

    def output(
        self, episode: TokenEpisode, score: Score
    ) -> AgentLoopOutput | list[AgentLoopOutput]:
        if score.reward is None:
            _log.warning("group %d: an episode has no score, and is left out", score.group)
            return []
        versions = [version for version in self._versions if version is not None]
        return AgentLoopOutput(
            prompt_ids=episode.prompt,
            response_ids=episode.completion,
            response_mask=episode.mask,
            response_logprobs=episode.logprobs if self._params.get("logprobs") else None,
            reward_score=score.reward,
            num_turns=2 * self._turns,
            metrics=self._seconds,
            extra_fields={
                "turn_scores": [],
                "tool_rewards": [],
                "reward_extra_info": _extra_info(score),
                WEIGHT: score.weight,
                GROUP: score.group,
                "min_global_steps": min(versions, default=None),
                "max_global_steps": max(versions, default=None),
            },
        )


def _extra_info(score: Score) -> dict[str, float]:
    """What verl logs beside the reward; NaN where there is no number."""
    numbers: Mapping[str, float | None] = {
        "wmrl_anchor": float(score.anchor),
        "wmrl_predicted": score.predicted,
        "wmrl_calibrated": score.calibrated,
        "wmrl_true": score.true,
    }
    return {name: float("nan") if n is None else float(n) for name, n in numbers.items()}


def _prompt(raw: Any) -> Prompt:
    return [{"role": str(m["role"]), "content": str(m["content"])} for m in raw]
