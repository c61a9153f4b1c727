"""The default dynamics model: an ensemble of perceptrons that predict how the state changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
import torch

from wmrl_gym.episodes import EpisodeRecord
from wmrl_gym.world_models.dynamics.imagination import replay
from wmrl_gym.world_models.dynamics.linear_part import fit_linear
from wmrl_gym.world_models.dynamics.memory import Replay
from wmrl_gym.world_models.dynamics.network import DynamicsNetwork
from wmrl_gym.world_models.dynamics.protocol import ImaginedStep
from wmrl_gym.world_models.dynamics.rewards import (
    least_gain,
    states_tell_returns,
    summed_reward,
)
from wmrl_gym.world_models.dynamics.scaling import Scaling
from wmrl_gym.world_models.dynamics.spaces import (
    action_size,
    observation_size,
    require_task,
)
from wmrl_gym.world_models.dynamics.training import (
    TrainingPlan,
    train_judgement,
    train_motion,
)

FORMAT = 2
"""Version of the files that `EnsembleDynamics.save` writes."""
_GROWN = 1.5
"""Steps of the replay, against those of the last training from the start, that ask for another."""
_UNREADABLE = (
    OSError,
    RuntimeError,
    EOFError,
    LookupError,
    TypeError,
    ValueError,
    UnpicklingError,
)


class EnsembleDynamics:
    """Imagines steps of an environment from what its real episodes showed.

    Members of different initial weights and training windows predict the change of the
    state, the reward, and whether a state is a success or the end. What they say together
    is their mean, of the end the least; how far they disagree is the uncertainty: the standard
    deviation of their next states, in units of the data's own, root mean square over the
    dimensions that move.

    Three measures keep imagined episodes on course, each because the model was worse than
    useless without it: dimensions that never vary are hidden from the network, states stay
    within the range of the data, and training rolls the states forward for `chunk` steps.

    What a state means and tells is learned from single states: real ones, and those of the same
    episodes as the model imagines them, which look a little different.

    Rewards are told in one of two ways, whichever is nearer to the returns of held-out episodes:
    step by step, or as the change of the return that a state tells has been gained, which is the
    least that a member says (`rewards`).

    `learn` is made for calls between batches: mostly `online_updates` gradient steps from the
    present weights. Whenever the replay has grown by half, or the data have outgrown the units
    (something moves that did not before), all is trained anew with `updates`.

    On a CPU the result is the same for the same seed, episodes and number of threads.

    Args:
        observation_size: D, of the flat observations.
        action_size: A, of the flat actions.
        members: M >= 1.
        hidden: Width of the two hidden layers.
        chunk: Steps that training rolls states forward.
        updates: Most gradient steps of a training from the start.
        online_updates: Most gradient steps of a `learn` in between; 0 only trains anew.
        batch_size: Windows of each member in a gradient step.
        learning_rate: At the start of each training.
        min_episodes: Episodes that there have to be, in all to train, of a task to be ready.
        replay_steps: Steps that are remembered; the oldest episodes are forgotten.
        device: Where torch computes, for instance `"cuda"`.
        seed: Of the initial weights and the windows.

    Raises:
        ValueError: If an argument is out of its range, or the device does not exist.
    """

    def __init__(
        self,
        observation_size: int,
        action_size: int,
        *,
        members: int = 5,
        hidden: int = 128,
        chunk: int = 8,
        updates: int = 1000,
        online_updates: int = 100,
        batch_size: int = 64,
        learning_rate: float = 2e-3,
        min_episodes: int = 10,
        replay_steps: int = 100_000,
        device: str = "cpu",
        seed: int = 0,
    ) -> None:
        self._arguments: dict[str, Any] = {
            "observation_size": observation_size,
            "action_size": action_size,
            "members": members,
            "hidden": hidden,
            "chunk": chunk,
            "updates": updates,
            "online_updates": online_updates,
            "batch_size": batch_size,
            "learning_rate": learning_rate,
            "min_episodes": min_episodes,
            "replay_steps": replay_steps,
            "seed": seed,
        }
        _require_positive(self._arguments)
        self.observation_size = observation_size
        self.action_size = action_size
        self.min_episodes = min_episodes
        self.device = _usable(device)
        self.held_out_loss = np.nan
        """Of the last training, at the weights that it kept; NaN without held-out episodes."""
        self._replay = Replay(replay_steps)
        self._network: DynamicsNetwork | None = None
        self._scaling: Scaling | None = None
        self._states_tell_returns = False
        self._latest: tuple[torch.Tensor, torch.Tensor] | None = None
        """States and what they tell of the return: those after a step are mostly the next one's."""
        self._trainings = 0
        self._steps_at_start = 0
        self._trained_episodes: dict[str, int] = {}

    @classmethod
    def for_spaces(
        cls,
        observation_space: gym.Space[Any],
        action_space: gym.Space[Any],
        **arguments: Any,
    ) -> EnsembleDynamics:
        """A model for these spaces.

        Raises:
            UnsupportedEnvironmentError: If the spaces are not flat boxes of numbers.
        """
        return cls(observation_size(observation_space), action_size(action_space), **arguments)

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks that it was trained on."""
        return tuple(sorted(self._trained_episodes))

    def ready(self, task: str) -> bool:
        """Whether it is trained, on enough episodes of `task` among others."""
        return self._trained_episodes.get(task, 0) >= self.min_episodes

    def require_task(self, task: str) -> None:
        """Raise `ValueError` if it was trained, but never on `task`."""
        require_task(task, self.tasks)

    def fit(self, episodes: Sequence[EpisodeRecord]) -> EnsembleDynamics:
        """Forget everything, and train on `[N]` episodes from the start; return itself.

        Raises:
            ValueError: If there are fewer than `min_episodes`, or their sizes are not the model's.
        """
        if len(episodes) < self.min_episodes:
            raise ValueError(
                f"{len(episodes)} episodes are fewer than min_episodes={self.min_episodes}: "
                "record more"
            )
        self._require_sizes(episodes)
        self._replay = Replay(self._replay.capacity)
        self._replay.add(episodes)
        self._trainings = 0
        self._train_anew(Scaling.of(self._replay.split()[0]))
        return self

    def learn(self, episodes: Sequence[EpisodeRecord]) -> None:
        """Add `[N]` real episodes and train; see the class for how long.

        Raises:
            ValueError: If their sizes are not the model's.
        """
        self._require_sizes(episodes)
        self._replay.add(episodes)
        if not episodes or len(self._replay) < self.min_episodes:
            return
        measured = Scaling.of(self._replay.split()[0])
        grown = self._replay.steps >= _GROWN * self._steps_at_start
        if self._scaling is None or grown or self._scaling.outgrown_by(measured.to(self.device)):
            self._train_anew(measured)
        else:
            self._scaling = self._scaling.widened(measured.to(self.device))
            self._train(self._arguments["online_updates"])

    def step(
        self, observations: npt.NDArray[np.float32], actions: npt.NDArray[np.float32]
    ) -> ImaginedStep:
        """Imagine one step from `[B, D]` observations under `[B, A]` actions.

        Raises:
            ValueError: If the shapes do not fit, or nothing was learned yet.
        """
        states = self._batch("observations", observations, self.observation_size)
        commands = self._batch("actions", actions, self.action_size)
        if len(states) != len(commands):
            raise ValueError(f"{len(states)} observations came with {len(commands)} actions")
        network, scaling = self._trained()
        with torch.inference_mode():
            step = network.step(states[None], commands[None], scaling)
            mean = step.states.mean(dim=0)
            # A mean of equal numbers may differ from them in the last bit.
            following = scaling.clamp(torch.where(scaling.moving, mean, states))
            logits = network.judge(following[None], scaling) + scaling.log_odds
            success, termination = logits.sigmoid().unbind(dim=-1)
            if self._states_tell_returns:
                before = self._gained(network, states, scaling)
                rewards = self._gained(network, following, scaling) - before
            else:
                rewards = summed_reward(step, scaling)
            numbers = torch.stack(
                [
                    rewards,
                    success.mean(dim=0),
                    # A policy would come to rest where one member takes the task for done.
                    termination.amin(dim=0),
                    _disagreement(step.states, mean, scaling),
                ]
            )
        reward, achieved, ended, uncertainty = numbers.double().cpu().numpy()
        return ImaginedStep(following.cpu().numpy(), reward, achieved, uncertainty, ended)

    def state_dict(self) -> dict[str, Any]:
        """Weights, units, replay and counters, as tensors and plain values."""
        return {**self._model_state(), "replay": self._replay.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict()`.

        Raises:
            ValueError: If it is of a model of other sizes.
        """
        for name in ("observation_size", "action_size", "members", "hidden"):
            if state["arguments"][name] != self._arguments[name]:
                raise ValueError(
                    f"the state is of a model with {name}={state['arguments'][name]!r}, but this "
                    f"one has {name}={self._arguments[name]!r}"
                )
        self._latest = None
        self._trainings = state["trainings"]
        self._steps_at_start = state["steps_at_start"]
        self._trained_episodes = dict(state["trained_episodes"])
        self.held_out_loss = state["held_out_loss"]
        self._states_tell_returns = state["states_tell_returns"]
        if state["network"] is not None:
            self._network = self._new_network()
            self._network.load_state_dict(state["network"])
            self._scaling = Scaling.from_state_dict(state["scaling"]).to(self.device)
        if "replay" in state:
            self._replay.load_state_dict(state["replay"])

    def save(self, path: str | Path) -> None:
        """Write the trained model to a file, without the episodes that it learned from.

        Raises:
            ValueError: If nothing was learned yet.
        """
        self._trained()
        torch.save({"format": FORMAT, **self._model_state()}, path)

    @classmethod
    def load(cls, path: str | Path, *, device: str = "cpu") -> EnsembleDynamics:
        """Read what `save` wrote; nothing in the file is executed.

        Raises:
            ValueError: If it is no such file.
        """
        try:
            state = torch.load(path, map_location="cpu", weights_only=True)
            known = state["format"] == FORMAT
        except _UNREADABLE as error:
            raise ValueError(f"path={path} is no saved EnsembleDynamics: {error}") from error
        if not known:
            raise ValueError(f"path={path} has the format {state['format']!r}, not {FORMAT}")
        model = cls(**state["arguments"], device=device)
        model.load_state_dict(state)
        return model

    def _train_anew(self, scaling: Scaling) -> None:
        self._scaling = scaling.to(self.device)
        self._network = self._new_network()
        fit_linear(self._network, self._scaling, self._replay.split()[0])
        self._steps_at_start = self._replay.steps
        self._train(self._arguments["updates"])

    def _train(self, updates: int) -> None:
        network, scaling = self._trained()
        training, held_out = self._replay.split()
        self._trainings += 1
        self._trained_episodes = dict(self._replay.tasks)
        if updates == 0:
            return
        plan = TrainingPlan(
            updates=updates,
            batch_size=self._arguments["batch_size"],
            chunk=self._arguments["chunk"],
            learning_rate=self._arguments["learning_rate"],
        )
        rng = np.random.default_rng((self._arguments["seed"], self._trainings))
        self.held_out_loss = train_motion(network, scaling, training, held_out, plan, rng)
        train_judgement(
            network,
            scaling,
            [*training, *self._imagined(training)],
            [*held_out, *self._imagined(held_out)],
            plan,
            rng,
        )
        self._states_tell_returns = states_tell_returns(network, scaling, held_out)
        self._latest = None

    def _imagined(self, episodes: Sequence[EpisodeRecord]) -> list[EpisodeRecord]:
        """`[N]` episodes as the model imagines them: the same, but for the observations."""
        if not episodes:
            return []
        starts = np.stack([episode.observations[0] for episode in episodes])
        actions = [episode.actions for episode in episodes]
        imagined = replay(self, starts, actions, threshold=np.inf).observations
        return [
            replace(episode, observations=states[: episode.length + 1])
            for episode, states in zip(episodes, imagined, strict=True)
        ]

    def _gained(
        self, network: DynamicsNetwork, states: torch.Tensor, scaling: Scaling
    ) -> torch.Tensor:
        """`[B, D]` states -> `[B]` return so far; nothing is computed for the latest ones."""
        if self._latest is None or not torch.equal(self._latest[0], states):
            self._latest = states, least_gain(network, states, scaling)
        return self._latest[1]

    def _new_network(self) -> DynamicsNetwork:
        generator = torch.Generator().manual_seed(self._arguments["seed"])
        return DynamicsNetwork(
            self.observation_size,
            self.action_size,
            members=self._arguments["members"],
            hidden=self._arguments["hidden"],
            generator=generator,
        ).to(self.device)

    def _trained(self) -> tuple[DynamicsNetwork, Scaling]:
        if self._network is None or self._scaling is None:
            raise ValueError("the model has learned nothing yet: call fit or learn first")
        return self._network, self._scaling

    def _model_state(self) -> dict[str, Any]:
        weights = None
        if self._network is not None:
            weights = {k: v.detach().cpu().clone() for k, v in self._network.state_dict().items()}
        return {
            "arguments": dict(self._arguments),
            "network": weights,
            "scaling": None if self._scaling is None else self._scaling.state_dict(),
            "trainings": self._trainings,
            "steps_at_start": self._steps_at_start,
            "trained_episodes": dict(self._trained_episodes),
            "held_out_loss": self.held_out_loss,
            "states_tell_returns": self._states_tell_returns,
        }

    def _batch(self, name: str, values: npt.ArrayLike, width: int) -> torch.Tensor:
        array = np.ascontiguousarray(values, dtype=np.float32)
        if array.ndim != 2 or array.shape[1] != width:
            raise ValueError(f"{name} have the shape {array.shape}; the model needs [B, {width}]")
        return torch.from_numpy(array).to(self.device)

    def _require_sizes(self, episodes: Sequence[EpisodeRecord]) -> None:
        for index, episode in enumerate(episodes):
            sizes = episode.observations.shape[1], episode.actions.shape[1]
            if sizes != (self.observation_size, self.action_size):
                raise ValueError(
                    f"episode {index} has observations of size {sizes[0]} and actions of size "
                    f"{sizes[1]}, but the model has observation_size={self.observation_size} and "
                    f"action_size={self.action_size}"
                )


def _disagreement(states: torch.Tensor, mean: torch.Tensor, scaling: Scaling) -> torch.Tensor:
    """`[M, B, D]` next states of the members and their `[B, D]` mean -> `[B]`."""
    # Not `var`, which takes as long as all the layers on a dimension of 5.
    spread = (states - mean).square().mean(dim=0) * (scaling.inverse**2 * scaling.moving)
    return (spread.sum(dim=-1) / scaling.moving.sum().clamp(min=1)).sqrt()


def _require_positive(arguments: Mapping[str, Any]) -> None:
    for name, value in arguments.items():
        lowest = 0 if name in ("online_updates", "seed") else 1
        if name == "learning_rate":
            valid = 0.0 < value < np.inf
        else:
            valid = isinstance(value, int | np.integer) and value >= lowest
        if not valid:
            raise ValueError(f"{name}={value!r} must be a positive number")


def _usable(device: str) -> str:
    try:
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError) as error:
        raise ValueError(f"device={device!r} cannot be used: {error}") from error
    return device
