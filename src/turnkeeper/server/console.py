"""The console: the files that were built into this package, with its one page at every address of it."""

from functools import cache
from pathlib import Path

from fastapi import APIRouter, Request
from fastapi.responses import FileResponse, HTMLResponse, RedirectResponse, Response

from turnkeeper.errors import RouteNotFound
from turnkeeper.server.compressing import takes
from turnkeeper.server.openapi import problems_of_a_page

router = APIRouter(tags=["house"])

FILES = Path(__file__).parent / "console_files"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; font-src 'self'; "
    "connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {"Content-Security-Policy": POLICY, "Referrer-Policy": "no-referrer"}
KINDS = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
CODINGS = {"br": ".br", "gzip": ".gz"}
"""The best first, and how the file is called that was compressed so when the console was built."""
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
async def read_console(path: str, request: Request) -> Response:
    """The page of the console, whatever it is to show, and what it is made of."""
    name = path if _is_file(path) else "index.html"
    if name not in (files := _files()):
        if name == "index.html":
            return HTMLResponse(UNBUILT, headers={**HEADERS, "Content-Security-Policy": "default-src 'none'"})
        raise RouteNotFound
    kept = FOREVER if name.startswith("assets/") else "no-cache"
    headers = {**HEADERS, "Cache-Control": kept, "Vary": "Accept-Encoding"}
    for coding, ending in CODINGS.items():
        if takes(coding, request.headers.get("accept-encoding", "")) and f"{name}{ending}" in files:
            return FileResponse(
                files[f"{name}{ending}"], media_type=_kind_of(name), headers={**headers, "Content-Encoding": coding}
            )
    return FileResponse(files[name], media_type=_kind_of(name), headers=headers)


def _is_file(path: str) -> bool:
    """The files lie at the top and in assets/; further down a dot is part of an id in the address of a page."""
    top = path.partition("/")[0]
    return "." in top or top == "assets"


def _kind_of(name: str) -> str:
    return KINDS[Path(name).suffix]


@cache
def _files() -> dict[str, Path]:
    """By the name that they are asked for: what is not listed here cannot be asked for, however it is written."""
    return {
        file.relative_to(FILES).as_posix(): file
        for file in FILES.rglob("*")
        if file.suffix in {*KINDS, *CODINGS.values()} and file.is_file()
    }
