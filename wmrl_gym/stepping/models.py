"""Which world model serves an environment that only has `step`."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wmrl_gym.errors import MissingDependencyError, UnsupportedEnvironmentError
from wmrl_gym.stepping.spaces import FlatActions, FlatObservations
from wmrl_gym.world_models.dynamics import DynamicsModel
from wmrl_gym.world_models.progress import RewardModel
from wmrl_gym.world_models.registry import make_world_model

if TYPE_CHECKING:
    from wmrl_gym.world_models.dynamics.ensemble import EnsembleDynamics

DYNAMICS = "dynamics"
"""Name of an ensemble that learns the dynamics from the run's own real episodes."""
_ONLINE = {"members": 3, "hidden": 128, "updates": 500, "online_updates": 50}
"""That ensemble: smaller and trained for less than by default, since it is trained between all
batches of a run."""


def make_stepping_model(
    world_model: Any,
    observations: FlatObservations,
    actions: FlatActions,
    *,
    tasks: Collection[str],
    device: str,
    seed: int,
) -> DynamicsModel | RewardModel:
    """The model, checked against the spaces.

    Args:
        world_model: `"dynamics"`, the path of a saved ensemble, a registered name,
            `"package.module:factory"`, a `DynamicsModel` or a `RewardModel`.
        observations: The environment's observations.
        actions: Its actions.
        tasks: Names of the environment's tasks, as far as they are known yet.
        device: Where `"dynamics"` and saved ensembles run.
        seed: Seed of `"dynamics"`.

    Raises:
        UnsupportedEnvironmentError: If the model cannot serve such an environment.
        ValueError: If the model was made for other sizes or tasks, or its name is unknown.
    """
    model = _load(world_model, observations, actions, device=device, seed=seed)
    if isinstance(model, DynamicsModel):
        observations.require_imaginable()
        actions.require_vectors()
        _require_sizes(model, observations, actions)
        _require_tasks(model, tasks)
        return model
    if isinstance(model, RewardModel):
        return model
    raise UnsupportedEnvironmentError(
        f"the environment has no executor (it is no ExecutionEnv), only `step`, and "
        f"world_model={world_model!r} predicts executions: use 'dynamics', the path of a saved "
        "ensemble, a DynamicsModel or a RewardModel"
    )


def _load(
    world_model: Any,
    observations: FlatObservations,
    actions: FlatActions,
    *,
    device: str,
    seed: int,
) -> Any:
    if not isinstance(world_model, str | Path):
        return world_model
    if world_model == DYNAMICS:
        observations.require_imaginable()
        actions.require_vectors()
        return _ensemble()(observations.size, actions.size, device=device, seed=seed, **_ONLINE)
    if Path(world_model).exists():
        return _ensemble().load(world_model, device=device)
    if Path(world_model).suffix == ".pt":
        raise ValueError(
            f"world_model={str(world_model)!r} does not exist: give the path of the model.pt that "
            "`wmrl-gym fit --kind dynamics` wrote, or 'dynamics'"
        )
    return make_world_model(str(world_model))


def _require_sizes(
    model: DynamicsModel, observations: FlatObservations, actions: FlatActions
) -> None:
    wanted = (observations.size, actions.size)
    made_for = (model.observation_size, model.action_size)
    if made_for != wanted:
        raise ValueError(
            f"world_model={type(model).__name__} was made for observations of {made_for[0]} and "
            f"actions of {made_for[1]} numbers, but {observations.space} has {wanted[0]} and the "
            f"action space {wanted[1]}: it is the model of another environment"
        )


def _require_tasks(model: DynamicsModel, tasks: Collection[str]) -> None:
    """Refuse a trained model that knows none of the environment's tasks."""
    known = set(getattr(model, "tasks", ()))
    if known and tasks and known.isdisjoint(tasks):
        raise ValueError(
            f"world_model={type(model).__name__} was trained on {sorted(known)}, but the tasks of "
            f"the environment are {sorted(tasks)}: it is the model of another task"
        )


def _ensemble() -> type[EnsembleDynamics]:
    try:
        from wmrl_gym.world_models.dynamics.ensemble import EnsembleDynamics
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise MissingDependencyError(
            "an ensemble of dynamics models needs torch, which is not installed: "
            'pip install "wmrl-gym[vla]"'
        ) from error
    return EnsembleDynamics
