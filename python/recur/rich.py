"""The compiler's reports as a notebook shows them: a title, and a table of what is said of it, for each of their parts."""

from __future__ import annotations

import html
import re

_CELL = 'style="text-align: left; vertical-align: top"'


def _read_rows(lines: list[str]) -> list[list[str]]:
    """The cells of a report's lines, which two spaces are between. What has more before it than these goes on with the line above."""
    rows: list[list[str]] = []
    for line in lines:
        cells = re.split(r" {2,}", line.strip())
        if rows and len(line) - len(line.lstrip()) > 2:
            rows[-1][-1] += " " + " ".join(cells)
        else:
            rows.append(cells)
    return rows


def _write_row(cells: list[str], columns: int) -> str:
    if len(cells) == 1:
        return f'<tr><td {_CELL} colspan="{columns}"><code>{html.escape(cells[0])}</code></td></tr>'
    name, *values = (html.escape(cell) for cell in cells)
    kinds = ("strong" if value.startswith("FAIL") else "code" for value in values)
    shown = "".join(f"<td {_CELL}><{kind}>{value}</{kind}></td>" for kind, value in zip(kinds, values))
    return f"<tr><th {_CELL}>{name}</th>{shown}</tr>"


def write_html(report: str) -> str:
    """A report's text, as HTML."""
    parts = []
    for paragraph in re.split(r"\n\s*\n", report.strip("\n")):
        lines = paragraph.split("\n")
        titles = [line for line in lines if not line.startswith(" ")]
        rows = _read_rows([line for line in lines if line.startswith(" ")])
        parts += [f"<p><strong>{html.escape(title)}</strong></p>" for title in titles]
        if rows:
            columns = max(map(len, rows))
            parts.append("<table>" + "".join(_write_row(row, columns) for row in rows) + "</table>")
    return "\n".join(parts)


class Explanation(str):
    """The report of the compiler, of which a notebook makes titles and tables."""

    def _repr_html_(self) -> str:
        return write_html(self)

    def __repr__(self) -> str:
        return str(self)
