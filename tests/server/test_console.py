"""The files of the console: one page at every address, what it is made of, and nothing else."""

import re
from pathlib import Path

import pytest

from tests.server.callers import Callers, a_house


async def asked(house: Callers, path: str, **headers: str) -> tuple[int, dict[str, str], str]:
    answer = await house.ada.client.get(
        path, headers={name.replace("_", "-"): value for name, value in headers.items()}
    )
    return answer.status_code, dict(answer.headers), answer.text


async def test_every_address_of_the_console_is_its_page_and_may_run_no_inline_script(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        for path in ("/console/", "/console/sessions/sess_1/why/run_2", "/console/sessions/a.b", "/console/operate"):
            status, headers, text = await asked(house, path)
            policy = headers["content-security-policy"]

            assert (status, headers["content-type"]) == (200, "text/html; charset=utf-8")
            assert "script-src 'self'; style-src 'self'" in policy
            assert "unsafe" not in policy
            assert '<div id="root">' in text
            assert re.findall(r"<script(?![^>]*src=)| style=| on\w+=", text) == []
            assert not re.findall(r"(?:src|href)=\"(?!/console/)", text)


async def test_what_the_page_is_made_of_is_kept_for_good_and_sent_in_few_bytes(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        page = (await asked(house, "/console/"))[2]
        (script,) = re.findall(r'src="(/console/assets/index-[^"]+\.js)"', page)

        plain = await asked(house, script, accept_encoding="identity")
        gzipped = await asked(house, script, accept_encoding="gzip")
        best = await asked(house, script, accept_encoding="gzip, br")

        assert "immutable" in plain[1]["cache-control"]
        assert (gzipped[1]["content-encoding"], best[1]["content-encoding"]) == ("gzip", "br")
        assert gzipped[2] == plain[2]
        assert int(best[1]["content-length"]) < int(gzipped[1]["content-length"]) < int(plain[1]["content-length"])
        assert (await asked(house, "/console/"))[1]["cache-control"] == "no-cache"


@pytest.mark.parametrize(
    "path",
    [
        "/console/../console.py",
        "/console/%2e%2e/console.py",
        "/console/made-from.txt",
        "/console/assets/none.js",
        "/console/assets/none",
    ],
)
async def test_what_is_no_part_of_the_console_is_not_told(tmp_path: Path, path: str) -> None:
    async with a_house(tmp_path) as house:
        status, _, text = await asked(house, path)

        assert status == 404
        assert "route_not_found" in text
