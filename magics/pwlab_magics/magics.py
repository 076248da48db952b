"""The magics that IPython sees: ``%%pathways`` and ``%pw``."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_cell_magic, line_magic, magics_class, no_var_expand

from pwlab.errors import PwlabError

from . import cell as _cell
from . import line as _line
from .parsers import HelpShown

if TYPE_CHECKING:
    from .extension import Extension


@magics_class
class PwlabMagics(Magics):
    """Thin: arguments are parsed, one public function is called, its answer is shown."""

    def __init__(self, extension: Extension):
        super().__init__(extension.shell)
        self._extension = extension

    @no_var_expand
    @line_cell_magic
    def pathways(self, line: str, cell: str | None = None) -> Any:
        """Filled in below."""
        try:
            args = _cell.make_parser().parse(line)
        except HelpShown:
            return contextlib.nullcontext() if cell is None else None
        _cell.check(args)
        if cell is not None:
            return _cell.run_from_code(self._extension, line, cell)
        return _cell.PathwaysCell(self._extension, args)

    @no_var_expand
    @line_magic
    def pw(self, line: str) -> Any:
        """Filled in below."""
        __tracebackhide__ = True
        try:
            args = _line.make_parser().parse(line)
            return _line.COMMANDS[args.command].run(self._extension, args)
        except HelpShown:
            return None
        except (PwlabError, ValueError) as error:
            if isinstance(error, _line.TELLS):
                raise
            raise UsageError(f"%pw: {error}") from None


PwlabMagics.pathways.__doc__ = _cell.make_parser().format_help()
PwlabMagics.pw.__doc__ = _line.make_parser().format_help()
