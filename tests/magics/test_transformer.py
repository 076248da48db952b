"""How the text and the syntax tree of a pathways cell change."""

from __future__ import annotations

import ast

import pytest

from pwlab_magics.transformer import lines_above, rewrite, wrap


def _rewritten(text: str) -> str:
    return "".join(rewrite(text.splitlines(keepends=True)))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("%%pathways\nx\n", "%pathways\nx\n"),
        ("%%pathways -s a\nx\n", "%pathways -s a\nx\n"),
        ("# why\n\n%%pathways -b\nx\n", "# why\n\n%pathways -b\nx\n"),
        ("%%pathways -b\n%%time\nx\n", "%%time\n%pathways -b\nx\n"),
        ("%%pathways -b\n%%time\n%%capture out\nx\n", "%%time\n%%capture out\n%pathways -b\nx\n"),
        ("%%pathways -h\nx\n", "%pathways -h\n"),
        ("%%pathways", "%pathways\n"),
    ],
)
def test_line_for_line(before: str, after: str) -> None:
    assert _rewritten(before) == after


@pytest.mark.parametrize(
    "text",
    ["x = 1\n", "%%time\n%%pathways\nx\n", "x\n%%pathways\n", "%%pathwaysy\nx\n", "%%pathways?\n", "", "%pathways\nx"],
)
def test_others_stay(text: str) -> None:
    assert _rewritten(text) == text


def _wrapped(text: str, auto: bool = False, shows: str = "last_expr") -> str:
    tree = ast.parse(text)
    wrap(tree, auto, shows)
    compile(tree, "cell", "exec")
    return ast.unparse(tree)


MAGIC = "get_ipython().run_line_magic('pathways', '-b')"
TELL = "__import__('pwlab_magics.cell').cell.hand_over"


def test_what_follows_becomes_the_body() -> None:
    assert _wrapped(f"import a\n{MAGIC}\nx = 1\nx") == f"import a\nwith {MAGIC}:\n    x = 1\n    {TELL}(x)"
    assert _wrapped(f"{MAGIC}\nfor i in y:\n    i") == f"with {MAGIC}:\n    for i in y:\n        i"
    assert _wrapped(MAGIC) == f"with {MAGIC}:\n    pass"


def test_lines_stay() -> None:
    tree = ast.parse(f"{MAGIC}\n\nx = 1\nx + 2")
    assert wrap(tree) == 1
    [with_] = tree.body
    assert isinstance(with_, ast.With)
    assert [(node.lineno, node.end_lineno) for node in (with_, *with_.body)] == [(1, 4), (3, 3), (4, 4)]


def test_what_a_cell_displays_stays() -> None:
    assert _wrapped(f"{MAGIC}\nx = 1", shows="last_expr_or_assign") == f"with {MAGIC}:\n    x = 1\n    {TELL}(x)"
    assert _wrapped(f"{MAGIC}\nx", shows="none") == f"with {MAGIC}:\n    x"


def test_auto_takes_the_whole_cell() -> None:
    bare = "get_ipython().run_line_magic('pathways', '')"
    text = "from __future__ import annotations\nx = 1"
    assert _wrapped(text, auto=True) == f"from __future__ import annotations\nwith {bare}:\n    x = 1"
    assert _wrapped(f"{MAGIC}\nx = 1", auto=True) == f"with {MAGIC}:\n    x = 1"


@pytest.mark.parametrize("text", ["import a", "def f():\n    pass", "get_ipython().run_line_magic('pw', 'status')", ""])
def test_auto_leaves_cells_that_compute_nothing(text: str) -> None:
    assert _wrapped(text, auto=True) == text


def test_lines_of_a_body_that_another_magic_runs() -> None:
    assert lines_above("%%pathways\n%%time\nx", explicit=True) == 1
    assert lines_above("# why\n%%time\n%%pathways\nx", explicit=True) == 1
    assert lines_above("%%time\nx", explicit=False) == 1
    assert lines_above("%%pathways\nx", explicit=True) == 0
    assert lines_above("x\n%%time", explicit=False) == 0
