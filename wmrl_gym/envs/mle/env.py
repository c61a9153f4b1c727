"""`WMRL-MLE-v0`: an ML-engineering task over several turns, text in and text out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gymnasium.spaces import Text

from wmrl_gym.envs.execution_env import ExecutionEnv
from wmrl_gym.envs.mle import briefing
from wmrl_gym.envs.mle.actions import Action, ActionKind, parse_action
from wmrl_gym.envs.mle.choice import TaskChoice, named_tasks
from wmrl_gym.envs.mle.executor import make_executor
from wmrl_gym.envs.mle.past_turn import past_turn
from wmrl_gym.envs.mle.script_check import check_script, syntax_error
from wmrl_gym.envs.mle.standing import Submissions
from wmrl_gym.envs.mle.task import Task
from wmrl_gym.outcomes import Execution, Outcome, Status

MAX_CHARACTERS = 32_768
NO_EXECUTION = -2
"""`info["status"]` of a step that executed nothing."""


class MLEEnv(ExecutionEnv[str, str]):
    """An agent improves a submission to a machine-learning task by running its own scripts.

    Observation: text. After `reset` the task, its data, the budget and the actions; after a
    step what a practitioner would see: how the script ended, its public score, the tails of
    stdout and stderr, and what is left of the budget.

    Action: text, one of `request_info`, `validate_code`, `execute_code`, `submit`, as fenced
    Python or as JSON (see `parse_action`). Text that cannot be read costs a turn and scores 0.

    Score: the ladder of the paper (malformed 0, crash 0.1, no valid submission 0.2, valid
    0.5 + 0.5 * position among the task's reference solutions), on the private answers. The
    agent is shown the metric on the public answers only. The episode's score is that of one
    submission: the one that `submit` names, else the one that is best in public, else, where a
    task has no public answers, the latest graded one. The reward of a step is by how much it
    changes the score of the submission that would be handed in now, so that an undiscounted
    return is the score; it is negative where the public answers mislead.

    The episode terminates at `submit` and after `max_turns`; it is truncated when the total
    execution time is used up. When `max_submissions` are graded, `execute_code` runs no more.

    `info`: `task_index` int, `turn` int, `status` int (a `Status`, or -2 if nothing was
    executed), `score` float (of the submission that would be handed in), `submissions` int
    (graded so far), `handed_in` int (which of them would be handed in, from 1 on; 0 for none).

    Args:
        tasks: Names or paths of the tasks to draw from; `None` for all built-in ones whose data
            are installed.
        task: One name or path, in the place of `tasks`; a directory in the layout of MLE-bench,
            MLE-Dojo, DSBench, MLGym or SandMLE, say.
        max_turns: Number of actions, at least 1.
        max_submissions: Submissions that are graded, at least 1; `None` for `max_turns`.
        timeout_s: Wall-clock limit of one execution, in seconds.
        total_s: Wall-clock limit of all executions of an episode together, in seconds.
        sandbox: Sandbox back end, or `"auto"`.
        executor: `"pool"` for this machine, `"ray"` for a Ray cluster.
        address: Address of that cluster; `None` to start Ray here.
        workers: Executions that run at once on this machine; `None` for as many as there are
            usable cores for.
        store: Path of a store of real outcomes; `None` to remember nothing.
        cpus: CPUs of one execution: threads that it is told to use, and what Ray reserves.
        memory_mb: Its memory limit, in MiB; Ray reserves that too.
        gpus: GPUs that it is given for itself; they need the back end "docker".
        render_mode: `"ansi"` or `None`.

    Raises:
        TaskError: If a task is unknown.
        ValueError: If a limit is out of its range.
    """

    metadata = {"render_modes": ["ansi"], "render_fps": 1}  # noqa: RUF012  # Gymnasium's convention

    def __init__(
        self,
        *,
        tasks: Sequence[str] | None = None,
        task: str | None = None,
        max_turns: int = 4,
        max_submissions: int | None = None,
        timeout_s: float = 60.0,
        total_s: float = 600.0,
        sandbox: str = "auto",
        executor: str = "pool",
        address: str | None = None,
        workers: int | None = None,
        store: str | None = None,
        cpus: int = 1,
        memory_mb: int = 2048,
        gpus: int = 0,
        render_mode: str | None = None,
    ) -> None:
        if max_turns < 1:
            raise ValueError(f"max_turns={max_turns} must be at least 1")
        if max_submissions is not None and max_submissions < 1:
            raise ValueError(f"max_submissions={max_submissions} must be at least 1, or None")
        if not (timeout_s > 0 and total_s > 0):
            raise ValueError(f"timeout_s={timeout_s} and total_s={total_s} must be positive")
        self._choice = TaskChoice(named_tasks(tasks, task))
        self.executor = make_executor(
            executor,
            address=address,
            sandbox=sandbox,
            workers=workers,
            store=store,
            cpus=cpus,
            memory_mb=memory_mb,
            gpus=gpus,
        )
        self.max_turns = max_turns
        self.max_submissions = max_turns if max_submissions is None else max_submissions
        self.timeout_s = timeout_s
        self.total_s = total_s
        self.render_mode = render_mode
        self.observation_space = Text(MAX_CHARACTERS, min_length=0, charset=briefing.CHARSET)
        self.action_space = Text(MAX_CHARACTERS, min_length=0, charset=briefing.CHARSET)
        self._task = self._choice.first
        self._history: list[str] = []
        self._told: list[str] = []
        """The same as world models are told."""
        self._turn = 0
        self._seconds = 0.0
        self._submissions = Submissions()

    @property
    def task(self) -> Task:
        """The task of this episode."""
        return self._task

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Start an episode on `options["task"]`, or on a task drawn at random.

        Raises:
            ValueError: If `options["task"]` is not among the tasks of this environment.
        """
        super().reset(seed=seed)
        self._task = self._choice.draw(self.np_random, options)
        self._turn, self._seconds, self._submissions = 0, 0.0, Submissions()
        parts = [
            briefing.overview(self.task),
            briefing.data_inventory(self.task),
            self._budget(),
            briefing.ACTIONS,
        ]
        self._history = ["\n\n".join(parts)]
        self._told = list(self._history)
        return self._observation(), self._info(NO_EXECUTION)

    def propose(self, action: str) -> Execution | None:
        """The script of `action`, if there is one and it compiles."""
        parsed = parse_action(action)
        runs = parsed.kind in (ActionKind.EXECUTE_CODE, ActionKind.SUBMIT)
        # What does not compile is judged here, at no cost, whoever executes the rest.
        if not runs or parsed.code is None or syntax_error(parsed.code) or self._used_up:
            return None
        return Execution(
            task=self.task.name,
            task_version=self.task.version,
            artifact=parsed.code,
            timeout_s=min(self.timeout_s, self.total_s - self._seconds),
            features={f"task/{name}": value for name, value in self.task.features().items()},
            context="\n\n".join(self._told),
        )

    def resolve(
        self, action: str, outcome: Outcome | None
    ) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Show what became of the action and pay by how much it changes the score."""
        parsed = parse_action(action)
        self._turn += 1
        before = self._submissions.score
        status, feedback = self._account(parsed, outcome)
        gained = self._submissions.score - before
        terminated = parsed.kind is ActionKind.SUBMIT or self._turn >= self.max_turns
        truncated = not terminated and self._seconds >= self.total_s
        self._history += [action, f"{feedback}\n\n{self._budget()}"]
        self._told += [past_turn(parsed, feedback), self._budget()]
        return self._observation(), gained, terminated, truncated, self._info(status)

    def render(self) -> str | None:
        """The conversation so far, for `render_mode="ansi"`."""
        return "\n\n".join(self._history) if self.render_mode == "ansi" else None

    def _account(self, action: Action, outcome: Outcome | None) -> tuple[int, str]:
        """Account for this step; its status and the feedback."""
        if outcome is not None:
            self._seconds += outcome.seconds
            return int(outcome.status), self._submissions.add(outcome)
        if action.kind is ActionKind.MALFORMED:
            feedback = f"This action cannot be read. {action.problem}\n\n{briefing.ACTIONS}"
            return int(Status.MALFORMED), feedback
        if action.kind is ActionKind.REQUEST_INFO:
            return NO_EXECUTION, self._answer(action.topic)
        if action.kind is ActionKind.VALIDATE_CODE:
            problems = check_script(action.code or "")
            return NO_EXECUTION, "\n".join(problems) or "No problem found."
        if action.code is None:
            return NO_EXECUTION, self._submissions.choose(action.choice)
        if problem := syntax_error(action.code):
            return int(Status.MALFORMED), problem
        return NO_EXECUTION, f"All {self.max_submissions} submissions are used: nothing was run."

    def _answer(self, topic: str) -> str:
        if topic == "data":
            return briefing.data_inventory(self.task)
        if topic == "sample_submission":
            return briefing.sample_submission(self.task)
        return self._budget() if topic == "budget" else briefing.overview(self.task)

    def _budget(self) -> str:
        return (
            f"Budget left: {self.max_turns - self._turn} of {self.max_turns} turns, "
            f"{max(0.0, self.total_s - self._seconds):.0f} of {self.total_s:g} s of execution, "
            f"at most {self.timeout_s:g} s each; {len(self._submissions)} of "
            f"{self.max_submissions} submissions graded. {self._submissions.standing}"
        )

    @property
    def _used_up(self) -> bool:
        return len(self._submissions) >= self.max_submissions

    def _observation(self) -> str:
        return briefing.to_charset(self._history[-1], MAX_CHARACTERS)

    def _info(self, status: int) -> dict[str, Any]:
        return {
            "task_index": self._choice.index(self.task.name),
            "turn": self._turn,
            "status": status,
            "score": self._submissions.score,
            "submissions": len(self._submissions),
            "handed_in": self._submissions.number,
        }
