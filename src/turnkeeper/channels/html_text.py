"""The words of an HTML mail, line by line, with what is quoted behind `>` as in plain mail.

One pass from left to right: whatever is sent, the work grows with its length and no faster.
"""

import re
from collections.abc import Iterator
from html import unescape

_TAG = re.compile(r"""<(/?)([a-zA-Z][a-zA-Z0-9:-]{0,30})((?:[^"'<>]|"[^"]{0,1000}"|'[^']{0,1000}')*+)>""")
_SPACE = re.compile(r"[ \t\r\n\f\v\u200b\u200c\ufeff]+")
_UNSEEN = {
    name: re.compile(f"</{name}[^>]{{0,100}}>", re.IGNORECASE) for name in ("script", "style", "title", "template")
}
_BLOCKS = frozenset(
    (
        *("p", "div", "tr", "table", "ul", "ol", "h1", "h2", "h3", "h4", "h5", "h6", "section", "article", "header"),
        *("footer", "pre", "hr", "form", "address", "dl", "dt", "dd", "body", "blockquote", "center", "fieldset"),
    )
)
_APART = frozenset(("p", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "table", "blockquote", "pre"))
_CELLS = frozenset(("td", "th"))


def text_of_html(html: str) -> str:
    page = _Page()
    for kind, value in _pieces(html):
        if kind == "text":
            page.write(unescape(value))
        elif kind == "open":
            page.open(value)
        else:
            page.close(value)
    return page.text()


class _Page:
    """What was written so far, in lines; `_quotes` counts the blockquotes around it."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._line: list[str] = []
        self._quotes = 0

    def write(self, text: str) -> None:
        self._line.append(text)

    def open(self, tag: str) -> None:
        if tag == "br":
            self._end_line(keep_blank=True)
        elif tag == "li":
            self._end_line()
            self._line.append("- ")
        elif tag in _CELLS:
            self._line.append(" ")
        elif tag in _BLOCKS:
            self._end_line()
            if tag in _APART:
                self._blank()
        if tag == "blockquote":
            self._quotes = min(self._quotes + 1, 20)

    def close(self, tag: str) -> None:
        if tag in _BLOCKS or tag == "li":
            self._end_line()
        if tag == "blockquote":
            self._quotes = max(self._quotes - 1, 0)
        if tag in _APART:
            self._blank()

    def text(self) -> str:
        self._end_line()
        return "\n".join(self._lines).strip("\n")

    def _end_line(self, *, keep_blank: bool = False) -> None:
        line = _SPACE.sub(" ", "".join(self._line)).strip()
        self._line = []
        if line:
            self._lines.append("> " * self._quotes + line)
        elif keep_blank:
            self._blank()

    def _blank(self) -> None:
        if self._lines and self._lines[-1]:
            self._lines.append("")


def _pieces(html: str) -> Iterator[tuple[str, str]]:
    """Texts, and the names of tags that open or close."""
    at = 0
    while (tag_at := html.find("<", at)) >= 0:
        yield "text", html[at:tag_at]
        if html.startswith("<!--", tag_at):
            end = html.find("-->", tag_at + 4)
            if end < 0:
                return
            at = end + 3
        elif found := _TAG.match(html, tag_at):
            name = found[2].lower()
            at = found.end()
            if name in _UNSEEN and not found[1]:
                hidden = _UNSEEN[name].search(html, at)
                if hidden is None:
                    return
                at = hidden.end()
            else:
                yield ("close" if found[1] else "open"), name
        elif html[tag_at + 1 : tag_at + 2].isalpha() or html[tag_at + 1 : tag_at + 2] in ("/", "!", "?"):
            end = html.find(">", tag_at)
            if end < 0:
                return
            at = end + 1
        else:
            yield "text", "<"
            at = tag_at + 1
    yield "text", html[at:]
