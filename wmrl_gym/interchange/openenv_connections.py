"""What the server adds to WebSocket connections: an idle limit, and quiet ends."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

GOING_AWAY = 1001
"""WebSocket close code of a server that gives up a connection."""


class SessionConnections:
    """ASGI middleware that ends connections whose client has gone quiet.

    Only the time that the application spends waiting for its client counts, so that no
    step is ever too long.

    Args:
        app: The application.
        idle_timeout_s: How long a client may say nothing, in seconds.
    """

    def __init__(self, app: App, idle_timeout_s: float) -> None:
        self._app = app
        self._idle_timeout_s = idle_timeout_s

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] != "websocket":
            await self._app(scope, receive, send)
            return

        async def receive_in_time() -> Message:
            try:
                return await asyncio.wait_for(receive(), self._idle_timeout_s)
            except TimeoutError:
                end = {"code": GOING_AWAY, "reason": f"nothing came for {self._idle_timeout_s:g} s"}
                await send({"type": "websocket.close", **end})
                return {"type": "websocket.disconnect", **end}

        async def send_quietly(message: Message) -> None:
            try:
                await send(message)
            except OSError:
                # The application closes a connection that its client has closed already.
                if message["type"] != "websocket.close":
                    raise

        try:
            await self._app(scope, receive_in_time, send_quietly)
        except asyncio.CancelledError:
            # The server ends and has closed the connection: there is nobody to tell.
            return
