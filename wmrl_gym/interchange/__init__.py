"""Exchange of episodes, submissions and reports with other projects."""

from wmrl_gym.interchange.messages import to_messages
from wmrl_gym.interchange.recording import RecordTrajectories
from wmrl_gym.interchange.recording_vector import RecordTrajectoriesVector
from wmrl_gym.interchange.trajectories import Trajectory, TrajectoryStep, read_trajectories

__all__ = [
    "RecordTrajectories",
    "RecordTrajectoriesVector",
    "Trajectory",
    "TrajectoryStep",
    "read_trajectories",
    "to_messages",
]
