"""The API described for people: Swagger UI from files of this host, so that nothing is loaded from elsewhere."""

import importlib.util
from importlib.resources import files
from pathlib import Path
from typing import Literal

from fastapi import APIRouter
from fastapi.responses import FileResponse, HTMLResponse, Response

from turnkeeper.errors import ExtraMissing
from turnkeeper.server.openapi import problems_of_a_page

router = APIRouter(tags=["house"])

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {"Content-Security-Policy": POLICY, "Referrer-Policy": "no-referrer"}
OWN = {"docs.js": "text/javascript", "docs.css": "text/css"}
SWAGGER = {"swagger-ui-bundle.js": "text/javascript", "swagger-ui.css": "text/css"}

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>turnkeeper: the HTTP API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="docs/swagger-ui.css">
<link rel="stylesheet" href="docs/docs.css">
</head>
<body>
<div id="swagger-ui"></div>
<noscript><p>This page needs JavaScript. The same is in <a href="openapi.json">openapi.json</a>.</p></noscript>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/docs.js"></script>
</body>
</html>
"""

FileName = Literal["docs.js", "docs.css", "swagger-ui-bundle.js", "swagger-ui.css"]


@router.get("/docs", name="docs", response_class=HTMLResponse)
async def read_docs() -> HTMLResponse:
    """Every route to read and to try out. The token that is given there is forgotten with the page."""
    return HTMLResponse(PAGE, headers=HEADERS)


@router.get(
    "/docs/{file}",
    name="docs_file",
    response_class=Response,
    responses={
        200: {
            "description": "A script or a style sheet",
            "content": {kind: {"schema": {"type": "string"}} for kind in ("text/javascript", "text/css")},
        },
        **problems_of_a_page(ExtraMissing),
    },
)
async def read_docs_file(file: FileName) -> Response:
    """What the page is made of."""
    kept = {"Cache-Control": "no-cache", **HEADERS}
    if file in OWN:
        text = files("turnkeeper.server").joinpath("docs_files", file).read_text(encoding="utf-8")
        return Response(text, media_type=OWN[file], headers=kept)
    return FileResponse(swagger_folder() / file, media_type=SWAGGER[file], headers=kept)


def swagger_folder() -> Path:
    """Where a package that we do not run has the files of Swagger UI. Raises ExtraMissing."""
    found = importlib.util.find_spec("fastapi_offline")
    if found is None or not found.submodule_search_locations:
        raise ExtraMissing("server", "fastapi-offline")
    return Path(found.submodule_search_locations[0]) / "static"
