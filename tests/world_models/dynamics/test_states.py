"""Single states of episodes."""

from __future__ import annotations

import numpy as np

from wmrl_gym.episodes import EpisodeBuilder, EpisodeRecord
from wmrl_gym.world_models.dynamics.states import States, StateSampler


def episode(first: float, rewards: list[float], *, success: bool) -> EpisodeRecord:
    """States count up from `first`; success ends it, if at all."""
    builder = EpisodeBuilder(np.array([first], np.float32))
    for number, reward in enumerate(rewards, start=1):
        last = number == len(rewards)
        builder.add(
            np.zeros(1, np.float32),
            np.array([first + number], np.float32),
            reward,
            terminated=last and success,
            truncated=last and not success,
            success=last and success,
        )
    return builder.build()


SAMPLER = StateSampler(
    [episode(0.0, [1.0, 2.0], success=True), episode(10.0, [5.0, 5.0, 5.0], success=False)], "cpu"
)
GAINS = {0.0: 0.0, 1.0: 1.0, 2.0: 3.0, 10.0: 0.0, 11.0: 5.0, 12.0: 10.0, 13.0: 15.0}


def known(drawn: States) -> dict[float, tuple[float, float, float]]:
    """Gain, success and termination by state."""
    rows = zip(
        drawn.states[..., 0].flatten().tolist(),
        drawn.gains.flatten().tolist(),
        drawn.meanings.flatten(0, -2).tolist(),
        strict=True,
    )
    return {state: (gain, *meaning) for state, gain, meaning in rows}


def test_gains_belong_to_their_states_and_first_states_have_none() -> None:
    drawn = SAMPLER.draw((3, 200), np.random.default_rng(0))
    assert drawn.states.shape == (3, 200, 1)
    assert {state: gain for state, (gain, *_) in known(drawn).items()} == GAINS
    first = np.isin(drawn.states.numpy(), [0.0, 10.0]).mean()
    assert abs(first - 0.125) < 0.05  # 3 standard errors: 0.04


def test_events_are_drawn_more_often_than_they_occur() -> None:
    drawn = SAMPLER.draw_meanings((1, 1000), np.random.default_rng(0))
    found = known(drawn)
    assert 0.0 not in found
    assert 10.0 not in found
    assert found[2.0] == (3.0, 1.0, 1.0)
    assert all(found[state][1:] == (0.0, 0.0) for state in (1.0, 11.0, 12.0, 13.0))
    share = (drawn.states == 2.0).float().mean()
    assert abs(float(share) - (0.25 + 0.75 / 5)) < 0.05  # 3 standard errors: 0.047


def test_without_events_all_later_states_are_drawn() -> None:
    sampler = StateSampler([episode(0.0, [1.0, 1.0], success=False)], "cpu")
    drawn = sampler.draw_meanings((2, 50), np.random.default_rng(0))
    assert set(known(drawn)) == {1.0, 2.0}


def test_every_state_after_a_step() -> None:
    assert SAMPLER.every(100).states[0, :, 0].tolist() == [1.0, 2.0, 11.0, 12.0, 13.0]
    assert SAMPLER.every(2).states[0, :, 0].tolist() == [1.0, 13.0]
