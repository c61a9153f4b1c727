"""Group relative policy optimisation (GRPO) on stable-baselines3.

GRPO (https://arxiv.org/abs/2402.03300) plays several episodes, a group, from the same start
and compares them with each other: the advantage of an episode is its score minus the mean
of its group, over the group's standard deviation. No value function is learned.

One batch is collected (whole groups), then the correction of the environment is updated if
it has one, then the policy is trained. The scores and weights of a batch all come from the
map and weight from before that update.
"""

from __future__ import annotations

import copy
import sys
import time
from typing import Any, ClassVar, Literal, Self

import gymnasium as gym
import numpy as np
import torch as th
from gymnasium import spaces
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.policies import (
    ActorCriticCnnPolicy,
    ActorCriticPolicy,
    BasePolicy,
    MultiInputActorCriticPolicy,
)
from stable_baselines3.common.type_aliases import MaybeCallback, Schedule
from stable_baselines3.common.utils import obs_as_tensor, safe_mean
from stable_baselines3.common.vec_env import VecEnv

from wmrl_gym.agents.fused_advantages import fused_advantages
from wmrl_gym.agents.group_starts import own_starts, require_restartable, start_episodes
from wmrl_gym.agents.groups import IDLE, EpisodeSlots, batch_randomness, group_seed
from wmrl_gym.agents.loss import kl_estimate, weighted_surrogate
from wmrl_gym.agents.rollout import GroupBatch, GroupRollout, Observations, take
from wmrl_gym.agents.vec_env import (
    bridged,
    executable,
    require_finite_rewards,
    require_one_correction,
    update_correction,
)
from wmrl_gym.correction import degenerate_groups

_ACTION_SPACES = (spaces.Box, spaces.Discrete, spaces.MultiDiscrete, spaces.MultiBinary)


class GRPO(BaseAlgorithm):
    """GRPO with anchors, for environments that stable-baselines3 can train on.

    Each batch has `groups_per_batch` groups of `group_size` episodes. All episodes of group
    `g` start by `reset(seed=s, options={"group": g})` with one seed `s` that depends on
    (`seed`, `g`) only. Ids count up, also across `save` and `load`. A sub-environment starts
    its next episode as soon as one ends; choose `num_envs` so that it divides
    `group_size * groups_per_batch`, else the last round steps some of them for nothing.

    Scores are sums of rewards. Episodes whose last info has `wmrl/valid` False are left out
    of everything. `wmrl/weight` of the last info multiplies the loss of the episode, after
    the advantages are normalised and divided by the batch's mean weight. Without these keys
    it is plain GRPO. If the environment has a `WorldModelRewardWrapper`, its `update()` is
    called once a batch.

    The value head of the policy is not used and not trained, and `gamma` does not exist.

    All randomness of a batch comes from (`seed`, number of groups done): a run that is
    saved and loaded goes on exactly as if it had not been interrupted, given that its
    environment does too (`state_dict` of the reward wrapper).

    Args:
        policy: `"MlpPolicy"`, `"CnnPolicy"`, `"MultiInputPolicy"` or an `ActorCriticPolicy`.
        env: A `VecEnv`, an environment, an id, or a gymnasium vector environment with
            `autoreset_mode=AutoresetMode.DISABLED`.
        group_size: Episodes in a group, at least 2.
        groups_per_batch: Groups between two updates of the policy, at least 1.
        learning_rate: Learning rate, or a function of the remaining progress (1 to 0).
        n_epochs: Passes over a batch.
        minibatch_size: Transitions in a gradient step.
        clip_range: Clipping of the probability ratio, greater than 0.
        ent_coef: Coefficient of the entropy bonus.
        kl_coef: Coefficient of the divergence from the policy with which `learn` started.
        max_grad_norm: Largest norm of the gradient.
        normalize_advantage: `"std"` divides by the group's standard deviation, `"center"`
            only subtracts its mean.
        seed: Seed of everything, at least 0; `None` draws one.
        device: Device of the policy; `"auto"` takes a GPU if there is one.
        tensorboard_log: Directory of TensorBoard logs.
        verbose: 0 nothing, 1 logs to the terminal, 2 debug messages.
        policy_kwargs: Further arguments of the policy.

    Raises:
        UnsupportedEnvironmentError: If episodes of `env` cannot be started one by one, or its
            sub-environments have a reward wrapper each.
        ValueError: If a number is out of its range.

    Examples:
        >>> model = GRPO("MlpPolicy", "CartPole-v1", group_size=4, groups_per_batch=2, seed=0)
        >>> model.learn(total_timesteps=100).groups_done
        2
    """

    policy_aliases: ClassVar[dict[str, type[BasePolicy]]] = {
        "MlpPolicy": ActorCriticPolicy,
        "CnnPolicy": ActorCriticCnnPolicy,
        "MultiInputPolicy": MultiInputActorCriticPolicy,
    }
    policy: ActorCriticPolicy
    reference_policy: ActorCriticPolicy | None
    """What `kl_coef` keeps the policy close to; `None` if that is 0."""
    groups_done: int
    """Groups of all batches so far; also the id of the next group."""

    def __init__(
        self,
        policy: str | type[ActorCriticPolicy],
        env: VecEnv | gym.Env[Any, Any] | gym.vector.VectorEnv[Any, Any, Any] | str | None,
        *,
        group_size: int = 8,
        groups_per_batch: int = 8,
        learning_rate: float | Schedule = 3e-4,
        n_epochs: int = 4,
        minibatch_size: int = 64,
        clip_range: float = 0.2,
        ent_coef: float = 0.0,
        kl_coef: float = 0.0,
        max_grad_norm: float = 0.5,
        normalize_advantage: Literal["std", "center"] = "std",
        seed: int | None = None,
        device: th.device | str = "auto",
        tensorboard_log: str | None = None,
        verbose: int = 0,
        policy_kwargs: dict[str, Any] | None = None,
        _init_setup_model: bool = True,
    ) -> None:
        _require_at_least(2, group_size=group_size)
        _require_at_least(
            1, groups_per_batch=groups_per_batch, n_epochs=n_epochs, minibatch_size=minibatch_size
        )
        if not clip_range > 0.0:
            raise ValueError(f"clip_range={clip_range} must be greater than 0")
        if normalize_advantage not in ("std", "center"):
            raise ValueError(f"{normalize_advantage=} must be 'std' or 'center'")
        super().__init__(
            policy,
            env,  # type: ignore[arg-type]  # `_wrap_env` takes vector environments too
            learning_rate=learning_rate,
            policy_kwargs=policy_kwargs,
            tensorboard_log=tensorboard_log,
            verbose=verbose,
            device=device,
            support_multi_env=True,
            seed=seed,
            supported_action_spaces=_ACTION_SPACES,
        )
        self.group_size = group_size
        self.groups_per_batch = groups_per_batch
        self.n_epochs = n_epochs
        self.minibatch_size = minibatch_size
        self.clip_range = clip_range
        self.ent_coef = ent_coef
        self.kl_coef = kl_coef
        self.max_grad_norm = max_grad_norm
        self.normalize_advantage = normalize_advantage
        self.groups_done = 0
        # Kept apart from `seed`, so that an unseeded run continues its own groups too.
        self.group_seed = (
            int(np.random.SeedSequence().generate_state(1)[0]) if seed is None else seed
        )
        if _init_setup_model:
            self._setup_model()

    def learn(
        self,
        total_timesteps: int,
        callback: MaybeCallback = None,
        log_interval: int = 1,
        tb_log_name: str = "GRPO",
        reset_num_timesteps: bool = True,
        progress_bar: bool = False,
    ) -> Self:
        """Train for at least `total_timesteps` steps of sub-environments, in whole batches.

        Args:
            total_timesteps: Steps to train for, in this call.
            callback: Called at every step; it can stop the training, and the batch that it
                stops is dropped. Its groups are not repeated.
            log_interval: Batches between two log entries.
            tb_log_name: Name of the run in TensorBoard.
            reset_num_timesteps: False continues the count of steps, and the reference of
                `kl_coef`. Group ids always continue.
            progress_bar: Show one.
        """
        if self.env is None:
            raise ValueError("env=None: give the model an environment by `set_env` or `load`")
        total_timesteps, callback = self._setup_learn(
            total_timesteps, callback, reset_num_timesteps, tb_log_name, progress_bar
        )
        if reset_num_timesteps and self.reference_policy is not None:
            self.reference_policy.load_state_dict(self.policy.state_dict())
        callback.on_training_start(locals(), globals())
        iteration = 0
        while self.num_timesteps < total_timesteps:
            completed = self._play_and_train(self.env, callback, total_timesteps)
            self.groups_done += self.groups_per_batch
            if not completed:
                break
            iteration += 1
            if iteration % log_interval == 0:
                self.dump_logs(iteration)
        callback.on_training_end()
        return self

    def train(self, batch: GroupBatch, rng: np.random.Generator) -> None:
        """Update the policy on one batch.

        Args:
            batch: What was collected.
            rng: Shuffles the minibatches.
        """
        advantages, weights = fused_advantages(batch, normalize=self.normalize_advantage)
        self._record_batch(batch)
        usable = np.flatnonzero(batch.valid[batch.episodes.cpu().numpy()])
        if usable.size == 0:
            return
        per_episode = th.as_tensor(np.stack([advantages, weights]), dtype=th.float32)
        per_step = per_episode.to(self.device)[:, batch.episodes]
        self.policy.set_training_mode(True)
        self._update_learning_rate(self.policy.optimizer)
        statistics: list[dict[str, float]] = []
        for _ in range(self.n_epochs):
            shuffled = rng.permutation(usable)
            for start in range(0, len(shuffled), self.minibatch_size):
                rows = th.as_tensor(shuffled[start : start + self.minibatch_size]).to(self.device)
                statistics.append(self._gradient_step(batch, rows, *per_step[:, rows]))
            self._n_updates += 1
        for name in statistics[0]:
            self.logger.record(f"train/{name}", float(np.mean([s[name] for s in statistics])))
        self.logger.record("train/n_updates", self._n_updates, exclude="tensorboard")

    def dump_logs(self, iteration: int = 0) -> None:
        """Write the log entry of one batch.

        Args:
            iteration: Number of the batch in this call of `learn`.
        """
        assert self.ep_info_buffer is not None
        assert self.ep_success_buffer is not None
        elapsed = max((time.time_ns() - self.start_time) / 1e9, sys.float_info.epsilon)
        steps = self.num_timesteps - self._num_timesteps_at_start
        self.logger.record("time/iterations", iteration, exclude="tensorboard")
        self.logger.record("time/fps", int(steps / elapsed))
        self.logger.record("time/time_elapsed", int(elapsed), exclude="tensorboard")
        self.logger.record("time/total_timesteps", self.num_timesteps, exclude="tensorboard")
        self.logger.record("rollout/ep_rew_mean", safe_mean([e["r"] for e in self.ep_info_buffer]))
        self.logger.record("rollout/ep_len_mean", safe_mean([e["l"] for e in self.ep_info_buffer]))
        if self.ep_success_buffer:
            self.logger.record("rollout/success_rate", safe_mean(self.ep_success_buffer))
        self.logger.dump(step=self.num_timesteps)

    @staticmethod
    def _wrap_env(env: Any, verbose: int = 0, monitor_wrapper: bool = True) -> VecEnv:
        wrapped = BaseAlgorithm._wrap_env(bridged(env), verbose, monitor_wrapper)
        require_restartable(wrapped)
        require_one_correction(wrapped)
        return wrapped

    def _setup_model(self) -> None:
        self._setup_lr_schedule()
        self.set_random_seed(self.seed)
        policy: Any = self.policy_class(
            self.observation_space, self.action_space, self.lr_schedule, **self.policy_kwargs
        )
        self.policy = policy.to(self.device)
        self.reference_policy = copy.deepcopy(self.policy) if self.kl_coef > 0 else None

    def _get_torch_save_params(self) -> tuple[list[str], list[str]]:
        names = ["policy", "policy.optimizer"]
        return (names if self.reference_policy is None else [*names, "reference_policy"]), []

    def _play_and_train(self, env: VecEnv, callback: BaseCallback, total_timesteps: int) -> bool:
        with batch_randomness(self.group_seed, self.groups_done, self.device) as rng:
            with own_starts(env):
                batch = self._collect(env, callback)
            if batch is None:
                return False
            self._update_current_progress_remaining(self.num_timesteps, total_timesteps)
            update_correction(env, self.logger)
            self.train(batch, rng)
        return True

    def _collect(self, env: VecEnv, callback: BaseCallback) -> GroupBatch | None:
        """Play one batch of groups; `None` if the callback stopped it."""
        first = self.groups_done
        slots = EpisodeSlots(
            groups=np.arange(first, first + self.groups_per_batch, dtype=np.int64),
            group_size=self.group_size,
            num_slots=env.num_envs,
        )
        rollout = GroupRollout(slots.groups)
        self.policy.set_training_mode(False)
        callback.on_rollout_start()
        observations: Any = self._last_obs
        self._start(env, slots.refill(range(env.num_envs)), observations)
        while not rollout.complete:
            acted_on = obs_as_tensor(observations, self.device)
            with th.no_grad():
                actions, _, log_probs = self.policy(acted_on)
            observations, rewards, dones, infos = env.step(
                executable(actions, self.policy, self.action_space)
            )
            self.num_timesteps += env.num_envs
            callback.update_locals(locals())
            if not callback.on_step():
                return None
            require_finite_rewards(rewards, env)
            rollout.add(acted_on, actions, log_probs, slots.episode, rewards)
            ended = np.flatnonzero(dones)
            for slot in ended:
                self._finish(rollout, int(slots.episode[slot]), infos[slot])
            if not rollout.complete:
                self._start(env, slots.refill(ended.tolist()), observations)
        batch = rollout.batch()
        callback.update_locals(locals())
        callback.on_rollout_end()
        return batch

    def _start(self, env: VecEnv, starts: dict[int, list[int]], observations: Any) -> None:
        for group, slots in starts.items():
            seed = group_seed(self.group_seed, group)
            start_episodes(env, observations, slots=slots, seed=seed, group=group)

    def _finish(self, rollout: GroupRollout, episode: int, info: dict[str, Any]) -> None:
        if episode == IDLE:
            return
        rollout.finish(episode, info)
        assert self.ep_info_buffer is not None
        assert self.ep_success_buffer is not None
        # Monitors would also count the episodes of idle slots and those cut off by a reset.
        score, length = float(rollout.scores[episode]), int(rollout.lengths[episode])
        self.ep_info_buffer.append({"r": score, "l": length})
        if "is_success" in info:
            self.ep_success_buffer.append(info["is_success"])

    def _gradient_step(
        self,
        batch: GroupBatch,
        rows: th.Tensor,
        advantages: th.Tensor,
        weights: th.Tensor,
    ) -> dict[str, float]:
        observations, actions = take(batch.observations, rows), batch.actions[rows]
        _, log_prob, entropy = self.policy.evaluate_actions(observations, actions)
        log_ratio = log_prob - batch.log_probs[rows]
        policy_loss = weighted_surrogate(log_ratio, advantages, weights, self.clip_range)
        # Some squashed distributions have no entropy in closed form.
        entropy_loss = log_prob.mean() if entropy is None else -entropy.mean()
        loss = policy_loss + self.ent_coef * entropy_loss
        if self.reference_policy is not None:
            loss = loss + self.kl_coef * self._divergence(observations, actions, log_prob)
        self.policy.optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]  # torch has no annotation here
        th.nn.utils.clip_grad_norm_(self.policy.parameters(), self.max_grad_norm)
        self.policy.optimizer.step()
        with th.no_grad():
            clipped = (th.exp(log_ratio) - 1).abs() > self.clip_range
            return {
                "loss": loss.item(),
                "policy_gradient_loss": policy_loss.item(),
                "entropy_loss": entropy_loss.item(),
                "approx_kl": kl_estimate(-log_ratio, th.zeros_like(log_ratio)).item(),
                "clip_fraction": clipped.float().mean().item(),
            }

    def _divergence(
        self, observations: Observations, actions: th.Tensor, log_prob: th.Tensor
    ) -> th.Tensor:
        assert self.reference_policy is not None
        with th.no_grad():
            _, reference, _ = self.reference_policy.evaluate_actions(observations, actions)
        return kl_estimate(log_prob, reference)

    def _record_batch(self, batch: GroupBatch) -> None:
        degenerate = degenerate_groups(batch.scores, batch.groups, valid=batch.valid)
        self.logger.record("rollout/invalid", int((~batch.valid).sum()))
        self.logger.record("rollout/degenerate", len(degenerate))
        self.logger.record("rollout/groups_done", self.groups_done + self.groups_per_batch)


def _require_at_least(least: int, **values: int) -> None:
    for name, value in values.items():
        if value < least:
            raise ValueError(f"{name}={value} must be at least {least}")
