"""Exchange of episodes, outcomes, submissions and reports with other projects."""

from wmrl_gym.interchange.messages import to_messages
from wmrl_gym.interchange.outcomes import (
    OutcomeRecord,
    OutcomeSet,
    OutcomeWriter,
    read_outcomes,
    shipped_outcomes,
)
from wmrl_gym.interchange.recording import RecordTrajectories
from wmrl_gym.interchange.recording_vector import RecordTrajectoriesVector
from wmrl_gym.interchange.trajectories import Trajectory, TrajectoryStep, read_trajectories

__all__ = [
    "OutcomeRecord",
    "OutcomeSet",
    "OutcomeWriter",
    "RecordTrajectories",
    "RecordTrajectoriesVector",
    "Trajectory",
    "TrajectoryStep",
    "read_outcomes",
    "read_trajectories",
    "shipped_outcomes",
    "to_messages",
]
