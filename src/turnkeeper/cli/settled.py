"""The settings of a command: its flags, the environment, and the file that is named or lies in this folder."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from turnkeeper.settings import Settings
from turnkeeper.settling import Settled, file_for, settle


def settled(*, otherwise: Mapping[str, Any] | None = None, **given: Any) -> Settled:
    """Raises ValueError with all that is wrong."""
    return settle(os.environ, file=file_for(os.environ, Path()), otherwise=otherwise, **given)


def own_settings(**given: Any) -> Settings:
    """Raises ValueError with all that is wrong."""
    return settled(**given).settings
