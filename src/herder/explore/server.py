"""The server of the page: on the loopback address only, for those who have the token.

The token is new at each start. The address that opens the page carries it; the answer puts it into
a cookie and leads to the address without it, which can be shared. Every other request needs the
cookie. Names other than the loopback address in ``Host`` are refused, so that no page can reach
the server under a name of its own, and so are other pages in ``Origin``.
"""

import hmac
import secrets
import socket
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from urllib.parse import quote

from herder._errors import ParameterError
from herder.explore.session import MOST_BYTES, Session

try:
    import uvicorn
    import websockets  # noqa: F401  what uvicorn speaks to the page by
    from anyio.to_thread import run_sync
    from starlette.applications import Starlette
    from starlette.requests import HTTPConnection, Request
    from starlette.responses import PlainTextResponse, RedirectResponse, Response
    from starlette.routing import Mount, Route, WebSocketRoute
    from starlette.staticfiles import StaticFiles
    from starlette.types import ASGIApp, Receive, Scope, Send
    from starlette.websockets import WebSocket, WebSocketDisconnect
except ModuleNotFoundError:
    raise ModuleNotFoundError(
        "the explorer needs starlette, uvicorn and websockets, which are not all installed: "
        "pip install 'herder[explore]'"
    ) from None

__all__ = ["MOST_PAGES", "make_app", "serve"]

HOST = "127.0.0.1"

#: Pages that may be connected at once.
MOST_PAGES = 8

#: Codes by which a connection is refused or ended: "unsupported data", "policy violation", "try
#: again later".
NOT_TEXT, REFUSED, BUSY = 1003, 1008, 1013

PAGE = Path(__file__).parent / "page"

#: Nothing from elsewhere is loaded, and no other page may show this one.
HEADERS = {
    "Content-Security-Policy": "default-src 'self'; img-src 'self' blob: data:; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}


class _Guard:
    """Let through what comes from the page itself, with the token."""

    def __init__(self, app: ASGIApp, token: str, port: int) -> None:
        self.app, self.token, self.cookie = app, token, f"herder-{port}"
        self.hosts = {f"{HOST}:{port}", f"localhost:{port}"}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        fault = self.fault(HTTPConnection(scope))
        if fault and scope["type"] == "websocket":
            await WebSocket(scope, receive, send).close(REFUSED)
        elif fault:
            await PlainTextResponse(fault, 403, HEADERS)(scope, receive, send)
        elif scope["type"] == "http" and "token" in Request(scope).query_params:
            answer = RedirectResponse("/", 303, HEADERS)
            answer.set_cookie(self.cookie, self.token, httponly=True, samesite="strict")
            await answer(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    def fault(self, request: HTTPConnection) -> str:
        """Return why a request is refused; empty if it is not."""
        host, origin = request.headers.get("host", ""), request.headers.get("origin")
        if host not in self.hosts:
            return "This page is for the loopback address only."
        if origin != f"http://{host}" and (origin or request.scope["type"] == "websocket"):
            return "Other pages have no access."
        first = request.scope["type"] == "http" and request.url.path == "/"
        asked = request.query_params.get("token", "") if first else ""
        given = asked or request.cookies.get(self.cookie, "")
        if not hmac.compare_digest(given.encode(), self.token.encode()):
            return "Open the address that 'herder explore' has printed: it carries the token."
        return ""


def make_app(token: str, port: int) -> ASGIApp:
    """Return the application behind a port."""
    pages = 0
    turn = Lock()

    def answer(session: Session, message: str) -> bytes:
        with turn:  # one computation at a time: more would only slow each other down
            return session.answer(message)

    async def index(request: Request) -> Response:
        return Response((PAGE / "index.html").read_bytes(), 200, HEADERS, "text/html")

    async def talk(page: WebSocket) -> None:
        nonlocal pages
        if pages >= MOST_PAGES:
            await page.accept()
            await page.close(BUSY, f"at most {MOST_PAGES} pages at once")
            return
        pages += 1
        session = Session()
        try:
            await page.accept()
            while True:
                message = await page.receive_text()
                await page.send_bytes(await run_sync(answer, session, message))
        except WebSocketDisconnect:
            pass
        except KeyError:  # a message that is not text
            await page.close(NOT_TEXT)
        finally:
            pages -= 1

    static = StaticFiles(directory=PAGE)
    routes = [Route("/", index), WebSocketRoute("/talk", talk), Mount("/page", static)]
    return _Guard(Starlette(routes=routes), token, port)


def serve(port: int = 0, *, fragment: str = "", opened: Callable[[str], object] = print) -> None:
    """Serve the page until a signal ends it.

    Parameters
    ----------
    port : int
        Where; 0 for any that is free.
    fragment : str
        The view to open, as in the address of a page.
    opened : callable
        Called with the address of the page once it can be opened.
    """
    door = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        # otherwise the port stays taken for a minute after the last run
        door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            door.bind((HOST, port))
        except OSError as error:
            got = f"{port}: {error.strerror or error}".lower()
            raise ParameterError("port", "be free, or 0 for any that is", got=got) from None
        port, token = door.getsockname()[1], secrets.token_urlsafe(24)
        config = uvicorn.Config(
            make_app(token, port),
            log_level="warning",
            log_config=None,
            ws="websockets-sansio",
            ws_max_size=MOST_BYTES,
            ws_per_message_deflate=False,
            timeout_graceful_shutdown=1,
            server_header=False,
        )
        door.listen()
        view = quote(fragment.rpartition("#")[2], safe="=&,;:/.!~*'()+-_%")
        opened(f"http://{HOST}:{port}/?token={token}" + (f"#{view}" if view else ""))
        uvicorn.Server(config).run(sockets=[door])
    finally:
        door.close()
