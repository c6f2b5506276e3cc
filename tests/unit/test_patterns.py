"""Patterns that a pack brings: no message can keep one busy, and letters are letters in every Latin language."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from time import thread_time

import pytest

from turnkeeper.intent.patterns import PatternUnfit, in_plain_letters, pattern_of_pack, work_of
from turnkeeper.intent.scoring import score
from turnkeeper.intent.validators import pattern_fault, validator_of
from turnkeeper.model.pack import UNKNOWN, Intent, IntentRule, RuleKind
from turnkeeper.model.resolution import ResolveInput
from turnkeeper.packs.patterns import MOST_WORK

SIZE, TIMES, SLACK = 2_000, 16, 5

# Each of them keeps an engine that tries one way after the other busy for minutes, or for ever.
HOSTILE = (
    "^(x+x+)+y$",
    "(x+)+y",
    "(x*)*y",
    "(x|x)*y",
    "(x|xx)+y",
    "(.*)*y",
    "x*y?x*y?x*z",
    r"\w+\d?\w+!",
    "(.*x){20}y",
    "(x|xx){20}y",
    "x.*x.*x.*x.*y",
    "(x{1,15}){1,15}y",
    "x?" * 20 + "x" * 20 + "y",
    "[xy]{1,200}[xz]{1,200}w",
)


def best_of(work: Callable[[], object]) -> float:
    """Work of the processor, the least of a few: not what the clock says, and not what else the machine does."""
    took = []
    for _ in range(3):
        began = thread_time()
        work()
        took.append(thread_time() - began)
    return min(took)


def messages(size: int) -> tuple[str, ...]:
    """Almost what is looked for: every letter of a pattern is there, and never where it should be."""
    return "x" * size, "yz!w" + "x" * size, "yz!w" + "xy" * (size // 2) + "x", "yz!w" + "x " * (size // 2)


@pytest.mark.parametrize("pattern", HOSTILE)
def test_no_message_can_keep_a_rule_busy(pattern: str) -> None:
    compiled = pattern_of_pack(pattern)

    for short, long in zip(messages(SIZE), messages(SIZE * TIMES), strict=True):
        # Squares would take 256 times as long, and most of these patterns would never end.
        took = best_of(partial(compiled.search, long))
        assert took < 0.05 + best_of(partial(compiled.search, short)) * TIMES * SLACK


@pytest.mark.parametrize("pattern", HOSTILE)
def test_no_answer_can_keep_the_pattern_of_a_field_busy(pattern: str) -> None:
    validator = validator_of({"type": "string", "pattern": pattern})

    for short, long in zip(messages(SIZE), messages(SIZE * TIMES), strict=True):
        took = best_of(partial(validator.is_valid, long))
        assert took < 0.05 + best_of(partial(validator.is_valid, short)) * TIMES * SLACK


@pytest.mark.parametrize("pattern", ["(x{1,499}x){1,2}yw", "[a-z ]{1,90}[x ]{1,90}zw", "(x|xx){20}yw"])
def test_as_many_patterns_as_a_pack_may_have_are_done_with_a_message_in_no_time(pattern: str) -> None:
    rules = tuple(
        IntentRule(kind=RuleKind.REGEX, pattern=f"{pattern}{number % 10}", priority=number)
        for number in range(MOST_WORK // work_of(f"{pattern}0"))
    )
    intents = (Intent(code="HOSTILE", name="Hostile", rules=rules),)

    for text in messages(32_000):
        asked = ResolveInput(text=text, intents=intents, current=UNKNOWN)
        assert best_of(partial(score, asked)) < 2


@pytest.mark.parametrize(
    ("pattern", "text", "is_found"),
    [
        (r"\bübung\b", "Eine ÜBUNG, bitte", True),
        (r"\bübung\b", "Vorübung", False),
        (r"\bbung\b", "Übung", False),
        (r"\bgröße\b", "Welche Größe?", True),
        (r"gr[oö](ß|ss)e", "GRÖSSE", True),
        (r"^\w+$", "größe", True),
        (r"^\w{5}$", "größe", True),
        (r"\bändern\b.*\bfür\b", "Ändern Sie das für mich", True),
        (r"\breservación\b", "una reservacion", True),
        ("caf" + "e\u0301", "Café", True),
        (r"[äöü]ber", "über", True),
        ("заказ", "Мой ЗАКАЗ", True),
        (r"\p{L}+ \p{L}+", "мой заказ", True),
        (r"\bb\d+\b", "room b12", True),
        ("a$", "a\n", False),
    ],
)
def test_letters_with_marks_are_letters_and_may_be_left_plain(pattern: str, text: str, is_found: bool) -> None:
    assert (pattern_of_pack(pattern).search(in_plain_letters(text)) is not None) == is_found


@pytest.mark.parametrize(
    ("pattern", "remedy"),
    [
        ("a(?=b)", "Look-around and back-references cannot be used"),
        ("a(?!b)", "Look-around and back-references cannot be used"),
        ("(?<=a)b", "Look-around and back-references cannot be used"),
        ("(?<!a)b", "Look-around and back-references cannot be used"),
        (r"(a)\1", "Look-around and back-references cannot be used"),
        ("(?P<a>x)(?P=a)", "Look-around and back-references cannot be used"),
        ("(?>a)b", "Look-around and back-references cannot be used"),
        ("x{1,2000}", "too large"),
        ("(x{1,900}y){1,9}", "too large"),
        ("(a", "Correct it"),
        ("a**", "Correct it"),
        (r"\x{fc}", "Write the letter itself"),
        (r"\u00fc", "Write the letter itself"),
        (r"\bзаказ\b", "use CONTAINS"),
    ],
)
def test_a_pattern_that_the_engine_cannot_do_says_what_to_write_instead(pattern: str, remedy: str) -> None:
    with pytest.raises(PatternUnfit, match=remedy):
        pattern_of_pack(pattern)


@pytest.mark.parametrize(
    ("pattern", "remedy"),
    [
        ("^(?!x).*$", "Look-around and back-references cannot be used"),
        ("(?<=a)b", "Look-around and back-references cannot be used"),
        (r"(a)\1", "Look-around and back-references cannot be used"),
        ("(", "does not compile"),
        ("x{1000}{1000}", "maxLength"),
    ],
)
def test_a_field_has_no_pattern_that_the_engine_cannot_do(pattern: str, remedy: str) -> None:
    fault = pattern_fault(pattern)

    assert fault is not None
    assert remedy in fault


@pytest.mark.parametrize("text", ["\ud800", "x\x00y", "\U0001f600", "e\u0301" * 3])
def test_any_text_can_be_read_in_plain_letters(text: str) -> None:
    assert pattern_of_pack("q").search(in_plain_letters(text)) is None
