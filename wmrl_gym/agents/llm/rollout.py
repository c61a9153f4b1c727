"""Episodes of several turns as sequences of tokens, with a mask of what the model said."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from wmrl_gym.agents.llm.dialogue import Dialogue, Prompt
from wmrl_gym.agents.llm.scorer import Turn

Said = tuple[list[list[int]], list[list[float]] | None]
"""Tokens that a model said, and their log-probabilities if the engine gives them."""
Generate = Callable[[list[list[int]], int], Said]
"""Continues `[B]` token sequences by at most so many tokens."""
Step = Callable[[Mapping[int, str]], Mapping[int, Turn]]
"""Takes the actions of a turn in the environments, by index; see `GroupScorer.step`."""
ReadAction = Callable[[int, str], str]
"""What episode `i` does when its model says this."""


@dataclass(frozen=True, kw_only=True)
class Lengths:
    """How long a conversation may get, in tokens."""

    turn: int
    """Of one action."""
    completion: int
    """Of the whole conversation after the prompt, what the model is told included."""
    context: int
    """Of prompt and conversation together: what the model can read."""

    def __post_init__(self) -> None:
        for name in ("turn", "completion", "context"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}={getattr(self, name)} must be at least 1")


@dataclass
class TokenEpisode:
    """One conversation."""

    prompt: list[int]
    chat: bool
    completion: list[int] = field(default_factory=list)
    """Everything after the prompt."""
    mask: list[int] = field(default_factory=list)
    """1 for each token of `completion` that the model said, 0 for what it was told."""
    logprobs: list[float] = field(default_factory=list)
    """Of each token when it was sampled; 0 for what the model was told."""
    done: bool = False

    def room(self, lengths: Lengths) -> int:
        """Tokens that may follow."""
        context = lengths.context - len(self.prompt)
        return min(lengths.completion, context) - len(self.completion)

    def say(self, ids: Sequence[int], logprobs: Sequence[float] | None) -> None:
        """Add what the model said."""
        self.completion += ids
        self.mask += [1] * len(ids)
        self.logprobs += [0.0] * len(ids) if logprobs is None else logprobs

    def hear(self, ids: Sequence[int]) -> None:
        """Add what the model is told."""
        self.completion += ids
        self.mask += [0] * len(ids)
        self.logprobs += [0.0] * len(ids)


def open_episodes(
    prompts: Sequence[Prompt], dialogue: Dialogue, lengths: Lengths
) -> list[TokenEpisode]:
    """Conversations at their beginning.

    Raises:
        ValueError: If a prompt leaves no room in the context.
    """
    episodes = [TokenEpisode(dialogue.prompt(p), chat=not isinstance(p, str)) for p in prompts]
    longest = max((len(e.prompt) for e in episodes), default=0)
    if longest >= lengths.context:
        raise ValueError(
            f"a prompt of {longest} tokens fills the context of {lengths.context}: lower "
            f"max_prompt_tokens={dialogue.max_prompt_tokens}"
        )
    return episodes


def play_turn(
    episodes: Sequence[TokenEpisode],
    dialogue: Dialogue,
    lengths: Lengths,
    *,
    generate: Generate,
    read_action: ReadAction,
    step: Step,
) -> None:
    """Play one turn of all conversations that go on: one generation, one batch of executions.

    A conversation ends with its episode, or when there is no room for what the environment
    answered and one more token; the answer is left out then. It always ends with the model.
    """
    live = [i for i, episode in enumerate(episodes) if not episode.done]
    inputs = [episodes[i].prompt + episodes[i].completion for i in live]
    rooms = [min(lengths.turn, episodes[i].room(lengths)) for i in live]
    said, logprobs = generate(inputs, max(rooms)) if live else ([], None)
    actions: dict[int, str] = {}
    for row, (i, room) in enumerate(zip(live, rooms, strict=True)):
        ids = said[row][:room] or [dialogue.tokenizer.eos_token_id]
        known = None if logprobs is None or not said[row] else logprobs[row][:room]
        episodes[i].say(ids, known)
        actions[i] = read_action(i, dialogue.action(ids))
    for i, turn in step(actions).items():
        hear_turn(episodes[i], turn, dialogue, lengths)


def hear_turn(episode: TokenEpisode, turn: Turn, dialogue: Dialogue, lengths: Lengths) -> None:
    """Add what the environment answered to a conversation, or end it; see `play_turn`."""
    episode.done = turn.done
    if turn.done:
        return
    reply = dialogue.reply(episode.completion, turn.observation, chat=episode.chat)
    if episode.room(lengths) <= len(reply):
        episode.done = True
        return
    episode.hear(reply)
