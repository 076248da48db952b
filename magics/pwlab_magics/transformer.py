"""From the text of a ``%%pathways`` cell to an ordinary cell that runs inside a scope.

Two steps, each a pure function:

* :func:`rewrite` works on the text: ``%%pathways -s a`` becomes the line magic ``%pathways -s a``, one line for one
  line, so that numbering holds and everything below is an ordinary cell, with its own line magics and ``await``.
* :func:`wrap` works on the syntax tree: what follows that line becomes the body of a ``with`` statement whose
  context manager the magic gives.  So a cell is one code object with one frame, which the recorder watches for
  loops and lines (IPython compiles statement by statement), and a scope ends in the frame, task and context in which
  it began, whatever happens.

A ``post_run_cell`` hook alone was rejected: the frame of the line magic's own statement is gone by the time the next
one runs, so every line was line 1, and an ``await`` left the scope in another context.
"""

from __future__ import annotations

import ast
import re

_HEAD = re.compile(r"%%pathways(?=\s|$)(.*)")
_HELP = re.compile(r"(^|\s)(-h|--help)(\s|$)")
#: Statements that a cell of ``%pw auto on`` may consist of without needing a scope.
_PLAIN = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Pass)


def head_of(lines: list[str]) -> int | None:
    """Index of the ``%%pathways`` line: the first, but for comments and blank lines."""
    for i, line in enumerate(lines):
        if _HEAD.match(line) and not line.startswith("%%pathways?"):
            return i
        if line.strip() and not line.lstrip().startswith("#"):
            return None
    return None


def rewrite(lines: list[str]) -> list[str]:
    """The cell with ``%%pathways`` as a line magic.

    A cell magic right below it (``%%time``) moves above, so that it runs the pathways cell and not the reverse; one
    that stands above it runs its own body as a cell, which comes here in turn.  With ``-h`` the body is dropped.
    """
    at = head_of(lines)
    if at is None:
        return lines
    found = _HEAD.match(lines[at])
    assert found is not None
    head = f"%pathways{found[1].rstrip()}\n"
    if _HELP.search(found[1]):
        return [*lines[:at], head]
    below = at + 1
    while below < len(lines) and lines[below].startswith("%%") and not _HEAD.match(lines[below]):
        below += 1
    others = lines[at + 1 : below]
    if others:  # IPython looks for a cell magic in the first line alone
        return [*others, *lines[:at], head, *lines[below:]]
    return [*lines[:at], head, *lines[below:]]


# check_complete leaves transformers with side effects out; it must see the cell magic, or a terminal would run the
# cell as soon as its first line is typed.
rewrite.has_side_effects = True  # type: ignore[attr-defined]


def wrap(tree: ast.Module, auto: bool = False, shows: str = "last_expr") -> int | None:
    """Makes what follows ``%pathways`` in a cell its body; with ``auto`` the whole cell.

    Args:
      tree: changed in place.
      shows: IPython's ``ast_node_interactivity``; what it says of the last statement still holds.

    Returns:
      The line of the magic, or None where nothing was changed.
    """
    at = next((i for i, node in enumerate(tree.body) if is_magic(node, "pathways")), None)
    if at is not None:
        call, body = tree.body[at].value, tree.body[at + 1 :]  # type: ignore[attr-defined]
        line = tree.body[at].lineno
    else:
        at = next((i for i, node in enumerate(tree.body) if not _is_future(node)), len(tree.body))
        body = tree.body[at:]
        if not auto or all(isinstance(node, _PLAIN) or is_magic(node) for node in body):
            return None
        call = ast.parse("get_ipython().run_line_magic('pathways', '')", mode="eval").body
        for node in ast.walk(call):
            ast.copy_location(node, body[0])
        line = body[0].lineno
    with_ = ast.With(items=[ast.withitem(context_expr=call)], body=_telling(body, shows) or [ast.Pass()])
    end = body[-1] if body else call
    ast.copy_location(with_, call)
    with_.end_lineno, with_.end_col_offset = end.end_lineno, end.end_col_offset
    tree.body[at:] = [ast.fix_missing_locations(with_)]
    return line


def lines_above(raw: str, explicit: bool) -> int:
    """By how much lines differ where another magic runs the cell's body as a text of its own.

    ``%%time`` counts from the line below itself; a person counts from the top of the cell.
    """
    magics = 0
    for line in raw.splitlines():
        if line.startswith("%%"):
            magics += 1
        elif line.strip() and not line.lstrip().startswith("#"):
            break
    return max(0, magics - explicit)


def is_magic(node: ast.stmt, name: str | None = None) -> bool:
    """Whether a statement is what IPython makes of a magic (called ``name``)."""
    call = node.value if isinstance(node, ast.Expr) else None
    if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)):
        return False
    shell = call.func.value
    if not (isinstance(shell, ast.Call) and isinstance(shell.func, ast.Name) and shell.func.id == "get_ipython"):
        return False
    first = call.args[0] if call.args else None
    return name is None or (
        call.func.attr == "run_line_magic" and isinstance(first, ast.Constant) and first.value == name
    )


def _is_future(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def _telling(body: list[ast.stmt], shows: str) -> list[ast.stmt]:
    """The statements with the value of the last expression handed over, to be shown when the scope has ended."""
    if not body:
        return []
    last = body[-1]
    value: ast.expr | None = last.value if isinstance(last, ast.Expr) else None
    if value is None and shows == "last_expr_or_assign":
        targets = last.targets if isinstance(last, ast.Assign) else [getattr(last, "target", None)]
        if isinstance(targets[0], ast.Name) and isinstance(last, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
            value = ast.copy_location(ast.Name(targets[0].id, ast.Load()), last)
            body = [*body, last]
    if value is None or shows == "none":
        return body
    tell = ast.parse("__import__('pwlab_magics.cell').cell.hand_over(_)", mode="eval").body
    assert isinstance(tell, ast.Call)
    for node in ast.walk(tell):
        ast.copy_location(node, value)
    tell.args = [value]
    return [*body[:-1], ast.copy_location(ast.Expr(tell), last)]
