"""The console: the files that were built into this package, with its one page at every address of it."""

import mimetypes
from pathlib import Path

from fastapi import APIRouter
from fastapi.responses import FileResponse, HTMLResponse, RedirectResponse, Response

from turnkeeper.errors import RouteNotFound
from turnkeeper.server.openapi import problems_of_a_page

router = APIRouter(tags=["house"])

FILES = Path(__file__).parent / "console_files"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; font-src 'self'; "
    "connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {"Content-Security-Policy": POLICY, "Referrer-Policy": "no-referrer"}
FOREVER = "public, max-age=31536000, immutable"
"""For files whose name has a hash of what is in them."""

UNBUILT = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>turnkeeper</title>
<h1>turnkeeper is running</h1>
<p>This copy has no console: it was installed from sources without building it. Build it with
<code>python web/build_console.py</code>, or start with <code>./dev run</code>.</p>
<p>Talk to it in a terminal with <code>turnkeeper chat</code>, or over HTTP with
<code>POST /api/v1/chat</code> and a bearer token. Every route can be read about and tried out at
<a href="/docs">/docs</a>.</p>
</html>
"""


@router.get(
    "/",
    name="welcome",
    status_code=307,
    response_class=RedirectResponse,
    responses={307: {"description": "Where the console is"}},
)
async def welcome() -> RedirectResponse:
    """Leads to the console; a browser takes the token behind the # of the printed link along."""
    return RedirectResponse("console/", headers=HEADERS)


@router.get(
    "/console/{path:path}",
    name="console",
    response_class=Response,
    responses={
        200: {"description": "The page of the console, or a file of it", "content": {"text/html": {}}},
        **problems_of_a_page(RouteNotFound),
    },
)
async def read_console(path: str) -> Response:
    """The page of the console, whatever it is to show, and what it is made of."""
    if not Path(path).suffix:
        return _page()
    file = _files().get(path)
    if file is None:
        raise RouteNotFound
    kind = mimetypes.guess_type(file.name)[0]
    kept = FOREVER if path.startswith("assets/") else "no-cache"
    return FileResponse(file, media_type=kind, headers={**HEADERS, "Cache-Control": kept})


def _page() -> Response:
    if not (FILES / "index.html").exists():
        return HTMLResponse(UNBUILT, headers={**HEADERS, "Content-Security-Policy": "default-src 'none'"})
    return FileResponse(FILES / "index.html", media_type="text/html", headers={**HEADERS, "Cache-Control": "no-cache"})


def _files() -> dict[str, Path]:
    """By the path that they are asked for: what is not listed here cannot be asked for, however it is written."""
    return {str(file.relative_to(FILES)): file for file in FILES.rglob("*") if file.is_file()}
