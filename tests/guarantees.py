"""The promises of docs/guarantees.md, and the check that a full run has proved each of them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

PAGE = Path("docs/guarantees.md")


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarantee:
    """One row: a promise, and the tests or `./dev` commands that prove it."""

    line: int
    promise: str
    proofs: tuple[str, ...]

    @property
    def tests(self) -> tuple[str, ...]:
        return tuple(proof for proof in self.proofs if "::" in proof)

    def __str__(self) -> str:
        return f"{PAGE}:{self.line} ({self.promise})"


def read_guarantees(page: str) -> tuple[Guarantee, ...]:
    return tuple(_rows(page))


def _rows(page: str) -> Iterator[Guarantee]:
    for line, text in enumerate(page.splitlines(), start=1):
        cells = [cell.strip() for cell in text.strip().strip("|").split("|")]
        if not text.startswith("|") or cells[0].lower() == "promise" or set(cells[0]) <= set("-: "):
            continue
        yield Guarantee(line=line, promise=cells[0], proofs=tuple(re.findall(r"`([^`]+)`", cells[-1])))


def faults_in(page: str, root: Path) -> list[str]:
    """What is wrong with the page itself: rows without proof, and proofs that name nothing."""
    faults = []
    for guarantee in read_guarantees(page):
        if not guarantee.proofs:
            faults.append(f"{guarantee} names no proof")
        for proof in guarantee.proofs:
            if "::" in proof and not is_written(proof, root):
                faults.append(f"{guarantee} names `{proof}`, which does not exist")
            elif "::" not in proof and not proof.startswith("./dev "):
                faults.append(f"{guarantee} names `{proof}`, neither a test nor a ./dev command")
    return faults


def is_written(node_id: str, root: Path) -> bool:
    file, *names = node_id.split("::")
    if not (root / file).is_file():
        return False
    inside: ast.AST | None = _parsed(root / file)
    for name in names:
        inside = _named(name, inside)
    return inside is not None


@cache
def _parsed(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


def _named(name: str, inside: ast.AST | None) -> ast.AST | None:
    definitions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    children = ast.iter_child_nodes(inside) if inside is not None else ()
    return next((child for child in children if isinstance(child, definitions) and child.name == name), None)


class ProofCheck:
    """Fails a full run in which a named test was left out or skipped.

    It listens to reports, not to collection, because with xdist only the reports reach the controller.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._passed: set[str] = set()
        self._skipped: set[str] = set()
        self._unproved: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        test = report.nodeid.split("[")[0]
        if report.skipped:
            self._skipped.add(test)
        elif report.when == "call":
            self._passed.add(test)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        page = self._config.rootpath / PAGE
        if not self._is_full_run() or session.shouldstop or session.shouldfail or not page.exists():
            return
        self._unproved = [*self._unproved_in(page.read_text(encoding="utf-8"))]
        if self._unproved and session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._unproved:
            terminalreporter.section("guarantees without proof", red=True)
            for line in self._unproved:
                terminalreporter.line(line)

    def _is_full_run(self) -> bool:
        option = self._config.option
        narrowed = (option.keyword, option.markexpr, option.deselect, option.ignore, option.ignore_glob)
        last_failed = getattr(option, "lf", False)  # absent without pytest's cache plugin
        by_test_paths = self._config.args_source is pytest.Config.ArgsSource.TESTPATHS
        return by_test_paths and not any(narrowed) and not option.collectonly and not last_failed

    def _unproved_in(self, page: str) -> Iterator[str]:
        for guarantee in read_guarantees(page):
            for test in guarantee.tests:
                if test in self._skipped:
                    yield f"{guarantee}: `{test}` was skipped"
                elif test not in self._passed:
                    yield f"{guarantee}: `{test}` was not run"
