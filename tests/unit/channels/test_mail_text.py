"""Charsets, flowed lines, quotes and HTML, each by itself."""

import pytest

from turnkeeper.channels.html_text import text_of_html
from turnkeeper.channels.mail_text import decoded, new_words, unflowed


@pytest.mark.parametrize(
    ("content", "charset", "text"),
    [
        (b"caf\xe9", "iso-8859-1", "café"),
        (b"caf\xe9", None, "café"),
        (b"caf\xc3\xa9", "us-ascii", "café"),
        (b"caf\xc3\xa9", '"UTF-8"', "café"),
        (b"\x93x\x94", "latin1", "“x”"),
        (b"a\\u0041", "unicode_escape", "a\\u0041"),
        (b"a\\u0041", "raw-unicode-escape", "a\\u0041"),
        (b"ab-tda", "punycode", "ab-tda"),
        (b"xn--abc", "idna", "xn--abc"),
        (b"\x78\x9c", "zlib", "xœ"),
        (b"plain", "\x00", "plain"),
        (b"\x81\x8d", "utf-8", "\x81\x8d"),
    ],
)
def test_bytes_become_text_whatever_their_charset(content: bytes, charset: str | None, text: str) -> None:
    assert decoded(content, charset) == text


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("one \ntwo", "one two"),
        ("one\ntwo", "one\ntwo"),
        ("> one \ntwo", "> one \ntwo"),
        ("> one \n> two", "> one two"),
        (">> one \n> two", ">> one \n> two"),
        ("end \n-- \nname", "end \n-- \nname"),
        (" from the edge", "from the edge"),
    ],
)
def test_only_lines_that_a_screen_broke_are_joined(written: str, meant: str) -> None:
    assert unflowed(written, delete_space=False) == meant


@pytest.mark.parametrize(
    ("text", "new", "has_quote"),
    [
        ("Only this.", "Only this.", False),
        ("> nothing but\n> a quote", "> nothing but\n> a quote", False),
        ("-- \nnothing but a name", "--\nnothing but a name", False),
        ("Yes.\n\nLe lun. 2 mars 2026, Port a écrit :\n> Oui ?", "Yes.", True),
        ("Sí.\nEl lun, 2 mar 2026, Puerto escribió:\n> ¿Sí?", "Sí.", True),
        ("On time we are, he wrote:\nno quote follows", "On time we are, he wrote:\nno quote follows", False),
        ("From: the sea\nI write to you.", "From: the sea\nI write to you.", False),
        ("Ja.\n\nVon: Hafenamt\nGesendet: Sonntag\nAn: Ada\n\nAlt.", "Ja.", True),
        ("a > b is no quote", "a > b is no quote", False),
        ("Ends.\n\nSent from my iPad\n\n", "Ends.", False),
        ("I was\nSent from my house yesterday\nto you.", "I was\nSent from my house yesterday\nto you.", False),
    ],
)
def test_only_what_is_new_is_said(text: str, new: str, has_quote: bool) -> None:
    words = new_words(text, subject="Re: x")

    assert (words.text, words.has_quote) == (new, has_quote)


@pytest.mark.parametrize("subject", ["Fwd: x", "FW: x", "WG: x"])
def test_what_is_forwarded_stays_below_its_headers(subject: str) -> None:
    text = "See below.\n\nFrom: Port\nSent: Sunday\n\nStorm."

    assert new_words(text, subject=subject).text == text


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("a<br>b<br/>c", "a\nb\nc"),
        ("<p>one</p><p>two</p>", "one\n\ntwo"),
        ("<table><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></table>", "a b\nc"),
        ("<blockquote>q<blockquote>r</blockquote></blockquote>s", "> q\n\n> > r\n\ns"),
        ("</blockquote>x", "x"),
        ("1 < 2 &lt; 3 &amp;amp;", "1 < 2 < 3 &amp;"),
        ('<img alt="a > b">x', "x"),
        ("x<script>var a = '<p>';</script>y<SCRIPT>z</Script >w", "xyw"),
        ("x<!-- <p>no</p> -->y<!DOCTYPE html>z<?php no ?>", "xyz"),
        ("x<!-- never ends", "x"),
        ("x<style>never ends", "x"),
        ("x<a href='never ends", "x"),
        ("  much \n\n space\t", "much space"),
        ("", ""),
    ],
)
def test_of_html_the_words_are_left(html: str, text: str) -> None:
    assert text_of_html(html) == text
