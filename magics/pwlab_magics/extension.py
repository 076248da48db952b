"""Loading into IPython and taking back: what is registered where, in one place.

Hooks of IPython that are used: a cleanup transformer of the cell's text, a transformer of its syntax tree, the
events ``pre_run_cell`` and ``post_run_cell``, magics, a completer; in a terminal the toolbar below the prompt.
"""

from __future__ import annotations

import ast
import contextlib
import os
import sys
from types import FrameType
from typing import Any
from weakref import WeakKeyDictionary

from IPython.core.interactiveshell import InteractiveShell

import pwlab as pw
from pwlab.lazy.places import add_cell_namer, add_library, remove_cell_namer
from pwlab.session import running as running_session

from . import cell, transformer
from .completion import make_matcher
from .magics import PwlabMagics
from .output import tell_failures
from .toolbar import Toolbar

_loaded: WeakKeyDictionary[InteractiveShell, Extension] = WeakKeyDictionary()

#: Files that IPython's own magics give to the body of a cell.
_TIMED = ("<timed exec>", "<timed eval>")


class Extension:
    """pwlab's magics in one IPython shell."""

    def __init__(self, shell: InteractiveShell):
        self.shell = shell
        #: Whether every cell is a pathways cell (``%pw auto on``).
        self.auto = False
        #: Whether a cell displays its value; if not, it is put into ``value``.
        self.shows = True
        self.value: Any = None
        #: The cells that are running, innermost last; ``%%capture`` and the like run cells in cells.
        self._cells: list[Any] = []
        self._magics = PwlabMagics(self)
        self._matcher = make_matcher(self)
        self._toolbar = Toolbar(shell)

    # --- what cells ask --------------------------------------------------------------------

    @property
    def innermost(self) -> Any:
        """IPython's info on the cell that is running; None in a silent one, such as a variable viewer's."""
        return self._cells[-1] if self._cells else None

    def is_cell(self, frame: FrameType) -> bool:
        """Whether a frame is a cell's own, whose last value is displayed; a body that ``%%timeit`` repeats is not."""
        return self._name(frame.f_code.co_filename) is not None

    def program_name(self, frame: FrameType) -> str:
        """``In[4]``: what a program is called that has no name."""
        name = self._name(frame.f_code.co_filename) or self._current()
        return name.removeprefix("Cell ")

    def _name(self, filename: str) -> str | None:
        if filename in _TIMED:
            return self._current()
        found = self.shell.compile.format_code_name(filename)
        return None if found is None else " ".join(found)

    def _current(self) -> str:
        info = self.innermost
        counted = info is not None and info.store_history
        return f"Cell In[{self.shell.execution_count - counted}]"

    # --- what IPython calls -------------------------------------------------------------------

    def visit(self, tree: Any) -> Any:
        """The transformer of syntax trees."""
        if not isinstance(tree, ast.Module):
            return tree
        auto = self.auto and self.innermost is not None
        explicit = any(transformer.is_magic(node, "pathways") for node in tree.body)
        if transformer.wrap(tree, auto, self.shell.ast_node_interactivity) is not None and self.innermost is not None:
            shift = transformer.lines_above(self.innermost.raw_cell, explicit)
            if shift:
                ast.increment_lineno(tree, shift)
        return tree

    def before_cell(self, info: Any) -> None:
        if not self._cells:
            self._tell()
        self._cells.append(info)

    def after_cell(self, result: Any) -> None:
        info = getattr(result, "info", None)
        at = next((i for i, known in enumerate(self._cells) if known is info), None)
        if at is None:
            return
        try:
            for left in reversed(self._cells[at:]):
                cell.close_left(left)
        except BaseException as error:
            print(f"pwlab: the cell could not be ended cleanly: {type(error).__name__}: {error}")
        finally:
            del self._cells[at:]
        if not self._cells:
            self._tell()
            self._toolbar.refresh()

    def _tell(self) -> None:
        session = running_session()
        if session is not None:
            tell_failures(session.programs.take_untold())
            for note in session.take_notes():
                print(f"pwlab: {note}", file=sys.stderr)

    # --- loading ---------------------------------------------------------------------------------

    def load(self) -> None:
        shell = self.shell
        add_library(os.path.dirname(__file__))
        add_cell_namer(self._name)
        shell.input_transformers_cleanup.append(transformer.rewrite)
        shell.ast_transformers.append(self)  # type: ignore[arg-type]
        shell.events.register("pre_run_cell", self.before_cell)
        shell.events.register("post_run_cell", self.after_cell)
        shell.register_magics(self._magics)
        shell.Completer.custom_matchers.append(self._matcher)
        self._toolbar.refresh()

    def unload(self) -> None:
        shell = self.shell
        self.auto = False
        remove_cell_namer(self._name)
        for registered, mine in (
            (shell.input_transformers_cleanup, transformer.rewrite),
            (shell.ast_transformers, self),
            (shell.Completer.custom_matchers, self._matcher),
        ):
            with contextlib.suppress(ValueError):
                registered.remove(mine)  # type: ignore[arg-type]
        with contextlib.suppress(ValueError):
            shell.events.unregister("pre_run_cell", self.before_cell)
            shell.events.unregister("post_run_cell", self.after_cell)
        for kind, name in (("line", "pw"), ("line", "pathways"), ("cell", "pathways")):
            shell.magics_manager.magics[kind].pop(name, None)
        shell.magics_manager.registry.pop(PwlabMagics.__name__, None)
        pw.shutdown()
        self._toolbar.remove()


def load(shell: InteractiveShell) -> None:
    """Loads the magics; a second time changes nothing."""
    if shell not in _loaded:
        extension = Extension(shell)
        extension.load()
        _loaded[shell] = extension


def unload(shell: InteractiveShell) -> None:
    """Takes the magics back and stops the session: its threads end and its devices are free."""
    extension = _loaded.pop(shell, None)
    if extension is not None:
        extension.unload()
