"""A small reward model that is trained on recorded episodes, from frames or from states."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch.nn import functional

from wmrl_gym.episodes import EpisodeRecord
from wmrl_gym.world_models.progress.network import ProgressNetwork, hash_words, shrink
from wmrl_gym.world_models.progress.prediction import ProgressPrediction, frames_of
from wmrl_gym.world_models.progress.samples import Moments, MomentSampler

FORMAT = 1
"""Version of the files that `ProgressModel.save` writes."""
_HELD_OUT_EVERY = 6
_PASS = 4096
"""States that go through the network at a time; 256 frames."""


class ProgressModel:
    """Scores real rollouts: how far the task has come, and whether it is achieved.

    Each moment is judged beside the episode's beginning and the instruction, so that one model
    serves many tasks. It learns success from every moment, rare as it is made to count as
    much as failure, and progress from episodes that succeeded: the share of the way to their
    first success, in steps. An episode's score is the highest probability of success that any
    of its moments has.

    Args:
        source: `"frames"` or `"states"`: what it sees.
        state_size: D of the observations, for states.
        hidden: Width of the hidden layers.
        updates: Most gradient steps of a training.
        batch_size: Episodes in a gradient step, with 8 moments each.
        learning_rate: At the start of a training.
        device: Where torch computes, for instance `"cuda"`.
        seed: Of the initial weights and the order of the episodes.

    Raises:
        ValueError: If the arguments contradict each other or are out of their range.
    """

    def __init__(
        self,
        source: Literal["frames", "states"],
        *,
        state_size: int | None = None,
        hidden: int = 128,
        updates: int = 1000,
        batch_size: int = 32,
        learning_rate: float = 3e-3,
        device: str = "cpu",
        seed: int = 0,
    ) -> None:
        if source not in ("frames", "states"):
            raise ValueError(f"source={source!r} must be 'frames' or 'states'")
        if (state_size is not None) != (source == "states"):
            raise ValueError(
                f"source={source!r} came with state_size={state_size!r}: states need their size, "
                "frames have none"
            )
        for name, value in (("hidden", hidden), ("updates", updates), ("batch_size", batch_size)):
            if value < 1:
                raise ValueError(f"{name}={value!r} must be at least 1")
        self.source = source
        self.state_size = state_size
        self.device = device
        self._arguments: dict[str, Any] = {
            "source": source,
            "state_size": state_size,
            "hidden": hidden,
            "updates": updates,
            "batch_size": batch_size,
            "learning_rate": learning_rate,
            "seed": seed,
        }
        self._network = self._new_network()
        size = state_size or 1
        self._mean, self._inverse = torch.zeros(size), torch.ones(size)
        self._fitted = False

    def fit(self, episodes: Sequence[EpisodeRecord]) -> ProgressModel:
        """Train on `[N]` episodes from the start, every sixth held out to stop by; return itself.

        Raises:
            ValueError: If there are no episodes, all succeeded, none did, or they lack what the
                model sees.
        """
        outcomes = {episode.success_once for episode in episodes}
        if outcomes != {False, True}:
            raise ValueError(
                f"{len(episodes)} episodes must hold successes and failures to learn from"
            )
        if self.source == "states":
            self._measure(episodes)
        inputs = [self._inputs(episode) for episode in episodes]
        last = _HELD_OUT_EVERY - 1
        held = [index for index in range(len(episodes)) if index % _HELD_OUT_EVERY == last]
        kept = [index for index in range(len(episodes)) if index % _HELD_OUT_EVERY != last]
        self._network = self._new_network()
        self._train(
            MomentSampler([episodes[i] for i in kept], [inputs[i] for i in kept]),
            MomentSampler([episodes[i] for i in held], [inputs[i] for i in held]) if held else None,
        )
        self._fitted = True
        return self

    def predict(self, episodes: Sequence[EpisodeRecord]) -> list[ProgressPrediction]:
        """Judge every moment of `[N]` episodes: F frames, or T + 1 states.

        Raises:
            ValueError: If the model is not trained, or an episode lacks what it sees.
        """
        if not self._fitted:
            raise ValueError("the model has learned nothing yet: call fit first")
        if not episodes:
            return []
        inputs = [self._inputs(episode) for episode in episodes]
        words = hash_words([episode.instruction for episode in episodes])
        lengths = [len(each) for each in inputs]
        owner = torch.repeat_interleave(torch.arange(len(inputs)), torch.tensor(lengths))
        first, moments = torch.stack([each[0] for each in inputs]), torch.cat(inputs)
        at_once = _PASS if self.source == "states" else _PASS // 16
        with torch.inference_mode():
            logits = torch.cat(
                [
                    self._judge(first[rows], moments[start : start + at_once, None], words[rows])
                    for start in range(0, len(owner), at_once)
                    for rows in (owner[start : start + at_once],)
                ]
            )[:, 0]
        judged = torch.split(logits.sigmoid().double().cpu(), lengths)
        return [ProgressPrediction(j[:, 0].numpy(), float(j[:, 1].max())) for j in judged]

    def score(self, episodes: Sequence[EpisodeRecord]) -> npt.NDArray[np.float64]:
        """Score `[N]` episodes; see `RewardModel`.

        Raises:
            ValueError: If the model is not trained, or an episode lacks what it sees.
        """
        return np.array([prediction.success for prediction in self.predict(episodes)])

    def state_dict(self) -> dict[str, Any]:
        """Weights and units, as tensors and plain values."""
        return {
            "arguments": dict(self._arguments),
            "network": {k: v.detach().cpu().clone() for k, v in self._network.state_dict().items()},
            "mean": self._mean,
            "inverse": self._inverse,
            "fitted": self._fitted,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a `state_dict()`.

        Raises:
            ValueError: If it is of a model of another make.
        """
        for name in ("source", "state_size", "hidden"):
            if state["arguments"][name] != self._arguments[name]:
                raise ValueError(
                    f"the state is of a model with {name}={state['arguments'][name]!r}, but this "
                    f"one has {name}={self._arguments[name]!r}"
                )
        self._network.load_state_dict(state["network"])
        self._mean, self._inverse = state["mean"], state["inverse"]
        self._fitted = state["fitted"]

    def save(self, path: str | Path) -> None:
        """Write the model to a file."""
        torch.save({"format": FORMAT, "kind": "progress", **self.state_dict()}, path)

    @classmethod
    def load(cls, path: str | Path, *, device: str = "cpu") -> ProgressModel:
        """Read what `save` wrote; nothing in the file is executed.

        Raises:
            ValueError: If it is no such file.
        """
        try:
            state = torch.load(path, map_location="cpu", weights_only=True)
            known = state["format"] == FORMAT and state["kind"] == "progress"
        except (OSError, RuntimeError, EOFError, KeyError, TypeError, ValueError) as error:
            raise ValueError(f"path={path} is no saved ProgressModel: {error}") from error
        if not known:
            raise ValueError(f"path={path} is no ProgressModel of format {FORMAT}")
        model = cls(**state["arguments"], device=device)
        model.load_state_dict(state)
        return model

    def _new_network(self) -> ProgressNetwork:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self._arguments["seed"])
            network = ProgressNetwork(self.state_size, self._arguments["hidden"])
        return network.to(self.device)

    def _measure(self, episodes: Sequence[EpisodeRecord]) -> None:
        states = torch.cat([torch.from_numpy(episode.observations) for episode in episodes])
        self._require_size(states.shape[1])
        spread = states.std(dim=0, correction=0)
        self._mean = states.mean(dim=0)
        self._inverse = torch.where(spread > 1e-6, 1.0 / spread, 0.0)

    def _inputs(self, episode: EpisodeRecord) -> torch.Tensor:
        """`[F, 3, P, P]` uint8 or `[T + 1, D]` float32."""
        if self.source == "frames":
            return shrink(frames_of(episode))
        self._require_size(episode.observations.shape[1])
        return (torch.from_numpy(episode.observations) - self._mean) * self._inverse

    def _require_size(self, size: int) -> None:
        if size != self.state_size:
            raise ValueError(
                f"observations have the size {size}, but the model has state_size={self.state_size}"
            )

    def _judge(
        self, first: torch.Tensor, moments: torch.Tensor, words: torch.Tensor
    ) -> torch.Tensor:
        device = self.device
        logits: torch.Tensor = self._network(first.to(device), moments.to(device), words.to(device))
        return logits

    def _train(self, training: MomentSampler, held_out: MomentSampler | None) -> None:
        updates = self._arguments["updates"]
        rng = np.random.default_rng(self._arguments["seed"])
        optimizer = torch.optim.AdamW(
            self._network.parameters(), lr=self._arguments["learning_rate"], weight_decay=1e-4
        )
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, updates)
        watched = held_out.every() if held_out is not None else None
        best, weights = np.inf, copy.deepcopy(self._network.state_dict())
        for update in range(1, updates + 1):
            loss = self._loss(training.draw(self._arguments["batch_size"], rng))
            optimizer.zero_grad()
            torch.autograd.backward(loss)
            optimizer.step()
            schedule.step()
            if watched is not None and (update % 50 == 0 or update == updates):
                with torch.inference_mode():
                    now = float(self._loss(watched))
                if now < best:
                    best, weights = now, copy.deepcopy(self._network.state_dict())
        if watched is not None:
            self._network.load_state_dict(weights)

    def _loss(self, moments: Moments) -> torch.Tensor:
        logits = self._judge(moments.first, moments.moments, moments.words)
        success, known = moments.success.to(self.device), moments.known.to(self.device)
        hits = success.sum().clamp(min=1.0)
        weight = ((success.numel() - hits) / hits).clamp(0.01, 100.0)
        right = functional.binary_cross_entropy_with_logits(
            logits[..., 1], success, pos_weight=weight
        ) * (success.numel() / (success.numel() - hits + hits * weight))
        distance = (logits[..., 0].sigmoid() - moments.progress.to(self.device)) ** 2
        return right + (distance * known).sum() / known.sum().clamp(min=1.0)
