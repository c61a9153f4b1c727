"""The back ends of language models as agents: dialogues, one draw for each attempt, counts."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.world_models.language.canned_server import Response, canned, chat, served_model
from wmrl_gym.agents.llm.conversation import Conversation, Speaker, fitted
from wmrl_gym.cli import main
from wmrl_gym.cli.llm_evaluation import make_speaker

TOLD = [{"role": "user", "content": "Say a number."}]


def test_a_server_is_asked_in_a_dialogue_with_a_seed_for_each_attempt() -> None:
    bodies: list[Mapping[str, Any]] = []
    lock = threading.Lock()

    def answer(body: Mapping[str, Any]) -> Response:
        with lock:
            bodies.append(body)
        response = chat("seven")
        return Response({**response.body, "usage": {"completion_tokens": 5}})

    with canned(served_model(answer)) as url:
        speaker: Speaker = make_speaker(f"openai:{url}#canned", deadline_s=30.0)
        conversation = Conversation(TOLD, exchanges=[("six", "No, more.")])
        prompt = fitted(conversation, speaker, answer_tokens=10)
        bodies.clear()
        said = speaker.generate([prompt] * 3, max_tokens=10, seed=40, temperature=0.9)
        speaker.close()
    assert [(one.text, one.tokens, one.error) for one in said] == [("seven", 5, "")] * 3
    assert sorted(body["seed"] for body in bodies) == [40, 41, 42]
    assert {body["temperature"] for body in bodies} == {0.9}
    # There is no system message, since nobody asked for one.
    assert bodies[0]["messages"] == [
        {"role": "user", "content": "Say a number."},
        {"role": "assistant", "content": "six"},
        {"role": "user", "content": "No, more."},
    ]


@pytest.mark.llm
@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_equal_prompts_get_different_draws() -> None:
    speaker = make_speaker("smollm2", deadline_s=300.0)
    prompt = Conversation(TOLD, exchanges=[("6", "No, a long text.")]).prompt()
    said = speaker.generate([prompt] * 3, max_tokens=8, seed=1, temperature=1.0)
    assert len({one.text for one in said}) > 1
    assert all(0 < one.tokens <= 8 for one in said)
    assert said == speaker.generate([prompt] * 3, max_tokens=8, seed=1, temperature=1.0)
    surest = speaker.generate([prompt] * 2, max_tokens=8)
    cold = speaker.generate([prompt] * 2, max_tokens=8, seed=1, temperature=1e-4)
    assert [one.text for one in cold] == [one.text for one in surest]


@pytest.mark.llm
@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_real_model_is_evaluated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tmp_path / "run"
    main(
        ["evaluate", "--agent", "llm", "--model", "smollm2", "--run", str(run),
         "--tasks", "wine-cultivar-micro", "--attempts", "2", "--max-turns", "2",
         "--turn-tokens", "24", "--timeout-s", "30"]
    )  # fmt: skip
    assert "wine-cultivar-micro" in capsys.readouterr().out
    found = json.loads((run / "result.json").read_text())["tasks"]["wine-cultivar-micro"]
    assert len(found["scores"]) == 2
    assert all(0.0 <= score <= 1.0 for score in found["scores"])
    assert 2 <= found["turns"] <= 4
    assert 0 < found["tokens"] <= 4 * 24
