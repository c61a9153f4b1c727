"""Executors that know nothing of a particular environment.

`PooledExecutor` runs real executions side by side and remembers them in an `OutcomeStore`;
`AnchoredExecutor` routes executions between a real executor and a world model.
"""

from wmrl_gym.executors.anchored import AnchoredExecutor
from wmrl_gym.executors.pool import PooledExecutor
from wmrl_gym.executors.store import OutcomeStore

__all__ = ["AnchoredExecutor", "OutcomeStore", "PooledExecutor"]
