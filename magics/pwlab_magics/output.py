"""Showing things: as HTML with text beside it in a notebook, as text in a terminal."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pwlab.config import noninteractive
from pwlab.live import show_view
from pwlab.programs import Progress
from pwlab.viz import StaticView, Tab, render, render_html
from pwlab.viz.terminal import columns
from pwlab.viz.view import TABLE_COLUMNS

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell
    from rich.console import RenderableType

    from pwlab.runtime import Failure


def in_notebook(shell: InteractiveShell) -> bool:
    """Whether outputs go to a notebook, and not to a terminal."""
    return getattr(shell, "kernel", None) is not None


def shows_live(shell: InteractiveShell, tab: Tab) -> bool:
    """In a notebook, shows a live view, and a picture for where no JavaScript runs; whether it did."""
    if not in_notebook(shell) or noninteractive():
        return False
    show_view(tab)
    return True


def show(shell: InteractiveShell, shown: RenderableType | StaticView) -> None:
    """Shows a view, or something of rich's."""
    if not in_notebook(shell):
        from rich.console import Console

        Console(file=sys.stdout, width=columns(TABLE_COLUMNS), highlight=False).print(shown)
    elif isinstance(shown, StaticView):
        _display(shown.text, shown.html)
    else:
        _display(render(shown, TABLE_COLUMNS), render_html(shown, TABLE_COLUMNS))


def tell(text: str) -> None:
    """Prints a sentence; a terminal, which would break its last word, gets it in lines."""
    if sys.stdout.isatty():
        text = textwrap.fill(text, columns(), break_long_words=False, break_on_hyphens=False)
    print(text)


def _display(text: str, html: str) -> None:
    """Shows HTML, and text where HTML is not shown."""
    from IPython.display import display

    display({"text/html": html, "text/plain": text}, raw=True)


def tell_failures(failures: Sequence[Failure], most: int = 3) -> None:
    """Tells, on standard error, of failures that nobody waited for."""
    for failure in failures[:most]:
        name = f"`{failure.node}`" if failure.node else "a computation"
        where = f", recorded at {failure.source}," if failure.source else ""
        line = f"\n    {failure.source.text}" if failure.source and failure.source.text else ""
        print(f"pwlab: {name}{where} failed:{line}\n  {failure.error}", file=sys.stderr)
    if len(failures) > most:
        print(f"pwlab: and {len(failures) - most} more failures; see %pw status", file=sys.stderr)


class ProgressLine:
    """One line that is updated in place while something is waited for, and goes away at the end.

    With ``PWLAB_NONINTERACTIVE=1`` it stays silent.
    """

    def __init__(self, shell: InteractiveShell):
        self._notebook = in_notebook(shell)
        self._silent = noninteractive()
        self._handle: Any = None
        self._width = 0

    def __enter__(self) -> ProgressLine:
        return self

    def show(self, progress: Progress) -> None:
        """Shows how far it has come."""
        if self._silent:
            return
        text = f"waiting for {progress}"
        if not self._notebook:
            print("\r" + text.ljust(self._width), end="", flush=True)
            self._width = len(text)
            return
        from IPython.display import display

        data = {"text/plain": text}
        if self._handle is None:
            self._handle = display(data, raw=True, display_id=True)
        else:
            self._handle.update(data, raw=True)

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if self._handle is not None:
            self._handle.update({"text/plain": ""}, raw=True)
        elif self._width:
            print("\r" + " " * self._width + "\r", end="", flush=True)
