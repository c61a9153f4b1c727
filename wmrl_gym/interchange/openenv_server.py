"""An HTTP and WebSocket server of an environment, in the protocol of OpenEnv.

Every WebSocket connection (`/ws`) is a session with an environment of its own. Plain HTTP
(`/reset`, `/step`) is stateless there: every request is a session of its own.
"""

from __future__ import annotations

import signal
import socket

import gymnasium as gym
import uvicorn
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse
from openenv.core.env_server import (  # type: ignore[import-untyped]  # it has no types
    create_fastapi_app,
)
from openenv.core.env_server.types import (  # type: ignore[import-untyped]  # it has no types
    ConcurrencyConfig,
)
from starlette.routing import Route

from wmrl_gym.errors import RunError, WMRLError
from wmrl_gym.interchange.openenv_connections import SessionConnections
from wmrl_gym.interchange.openenv_environment import GymObservation
from wmrl_gym.interchange.openenv_served import ServedEnvironment

GRACE_S = 3
"""How long steps that are going on when the server ends may take to end by themselves."""
_MISUSE = (ValueError, RuntimeError, WMRLError, gym.error.Error)


def make_app(served: ServedEnvironment, *, max_sessions: int, idle_timeout_s: float) -> FastAPI:
    """The application, for a server of one's own.

    Args:
        served: What to serve.
        max_sessions: WebSocket sessions at a time; one more is refused with a message.
        idle_timeout_s: How long a session may hear nothing from its client, in seconds.

    Raises:
        ValueError: If a limit is out of its range.
    """
    if max_sessions < 1:
        raise ValueError(f"max_sessions={max_sessions} must be at least 1")
    if not idle_timeout_s > 0:
        raise ValueError(f"idle_timeout_s={idle_timeout_s} must be positive")
    app: FastAPI = create_fastapi_app(
        served.session,
        served.action_model,
        GymObservation,
        # Its own idle limit would also end sessions that are in the middle of a long step.
        concurrency_config=ConcurrencyConfig(
            max_concurrent_envs=max_sessions, session_timeout=None
        ),
    )
    app.add_middleware(SessionConnections, idle_timeout_s=idle_timeout_s)
    app.router.routes.insert(0, Route("/mcp", _no_tools, methods=["POST"]))
    for kind in _MISUSE:
        app.add_exception_handler(kind, _bad_request)
    return app


def listen(host: str, port: int) -> socket.socket:
    """A listening socket.

    Args:
        host: Address to listen at.
        port: Port to listen at; 0 for a free one.

    Raises:
        RunError: If that is impossible, because the port is in use for instance.
        ValueError: If `port` is none.
    """
    if not 0 <= port < 2**16:
        raise ValueError(f"port={port} must be from 0 to {2**16 - 1}")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise RunError(
            f"host={host} port={port} cannot be listened at: {error}; --port 0 finds a free port"
        ) from error


def run_until_interrupted(app: FastAPI, served: ServedEnvironment, listener: socket.socket) -> None:
    """Serve until Ctrl-C (SIGINT) or SIGTERM, then close everything."""
    config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=GRACE_S)
    # uvicorn ends in good order and then does what the signal would have done without it.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        uvicorn.Server(config).run(sockets=[listener])
    except KeyboardInterrupt:
        pass
    finally:
        served.close()


async def _no_tools(request: Request) -> JSONResponse:
    """Answer for OpenEnv, which would let a request open a session here that nobody ends."""
    error = {"code": -32601, "message": "this environment has no MCP tools"}
    return JSONResponse({"jsonrpc": "2.0", "id": None, "error": error})


async def _bad_request(request: Request, error: Exception) -> JSONResponse:
    return JSONResponse({"detail": str(error)}, status_code=400)
