"""A real Chromium for the tests: from npm, unpacked once, with fonts of its own."""

import io
import os
import shutil
import sys
import tarfile
from pathlib import Path

import brotli

HERE = Path(__file__).parent
PACKAGE = HERE / "node_modules" / "@sparticuz" / "chromium"
UNPACKED = HERE / "node_modules" / ".chromium-153.0.0"
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
    "--font-render-hinting=none",
)
FONTS = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>{folder}/fonts</dir><cachedir>{folder}/font-cache</cachedir></fontconfig>
"""


def set_up_browser() -> None:
    """Installs the package, unless it is there. Raises BuildFailed."""
    sys.path[:0] = [str(HERE.parents[1] / "web")]
    from build_console import npm

    if not PACKAGE.exists():
        npm("ci", "--ignore-scripts", "--no-audit", "--no-fund", folder=HERE)
    _unpack()


def executable() -> Path:
    """Where the browser is, unpacked. TEST_CHROMIUM names another one."""
    if named := os.environ.get("TEST_CHROMIUM"):
        return Path(named)
    set_up_browser()
    return UNPACKED / "chromium"


def surroundings() -> dict[str, str]:
    """Its libraries and fonts. The font configuration of the package names folders that are not there."""
    return {
        **os.environ,
        "LD_LIBRARY_PATH": str(UNPACKED / "al2023" / "lib"),
        "FONTCONFIG_FILE": str(UNPACKED / "fonts.conf"),
    }


def _unpack() -> None:
    """By whoever comes first; the others find it whole, because it is moved into its place when it is."""
    if UNPACKED.exists():
        return
    making = UNPACKED.with_name(f"{UNPACKED.name}.{os.getpid()}")
    making.mkdir(parents=True)
    (making / "chromium").write_bytes(brotli.decompress((PACKAGE / "bin" / "chromium.br").read_bytes()))
    (making / "chromium").chmod(0o755)
    for name in ("al2023", "fonts", "swiftshader"):
        packed = io.BytesIO(brotli.decompress((PACKAGE / "bin" / f"{name}.tar.br").read_bytes()))
        with tarfile.open(fileobj=packed) as archive:
            archive.extractall(making / name, filter="data")
    (making / "fonts.conf").write_text(FONTS.format(folder=UNPACKED), encoding="utf-8")
    try:
        making.rename(UNPACKED)
    except OSError:  # somebody else was quicker
        shutil.rmtree(making)


if __name__ == "__main__":
    set_up_browser()
