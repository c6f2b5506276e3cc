"""What every test may ask for, and what is checked once a run."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from tests.guarantees import ProofCheck
from tests.postgres import PostgresDidNotStart, PostgresServer, create_database, drop_database
from tests.scale import SOAKING

settings.register_profile(
    "quick",
    derandomize=True,
    deadline=None,
    max_examples=50,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "soak",
    deadline=None,
    max_examples=1000,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("soak" if SOAKING else "quick")

# An address whose user may create databases. Set from outside, it saves starting a server;
# set by the controller, it tells the workers where theirs is.
ADMIN_DSN = "TEST_POSTGRES_DSN"

_numbers = itertools.count(1)


def pytest_configure(config: pytest.Config) -> None:
    if hasattr(config, "workerinput"):
        return
    config.pluginmanager.register(ProofCheck(config), "guarantees")
    if ADMIN_DSN in os.environ or config.option.collectonly:
        return
    try:
        server = PostgresServer()
        config.add_cleanup(server.remove)
        server.start(durable=False)
    except PostgresDidNotStart as reason:
        raise pytest.UsageError(str(reason)) from reason
    os.environ[ADMIN_DSN] = server.dsn()


@pytest.fixture
def postgres_dsn() -> Iterator[str]:
    """The address of an empty database that no other test sees."""
    admin_dsn = os.environ[ADMIN_DSN]
    name = f"test_{os.getpid()}_{next(_numbers)}"
    yield create_database(admin_dsn, name)
    drop_database(admin_dsn, name)
