"""pwlab from the shell.

``python -m pwlab demo`` runs the quickstart notebook and shows what ran where.  The notebook is executed in a kernel
of its own, cell by cell, then written as HTML under ``build/``; the summary of the run is asked of that kernel and
shown in the terminal.

``python -m pwlab top train.py`` runs a script with what its devices do drawn below what it prints, and
``python -m pwlab top run.jsonl`` plays a recording in the same way.  Another process cannot be looked into: whoever
works at a prompt types ``%pw top`` there.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from pwlab import load
from pwlab.errors import DamagedRunFile, PwlabError
from pwlab.live import top_of_run, top_of_script

_SUMMARY = """
import pwlab as _pw
from pwlab.viz import render as _render, summary as _summary
with _pw.session().programs.recorder.reading() as (_model, _stats):
    print(_render(_summary(_model, _stats), columns={columns}, colour={colour}))
"""


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m pwlab", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    demo_parser = commands.add_parser("demo", help="run a notebook and show what ran where")
    demo_parser.add_argument("notebook", nargs="?", type=Path, default=Path("notebooks/01_quickstart.ipynb"))
    demo_parser.add_argument("--out", type=Path, default=Path("build"), help="folder for the HTML page")
    speed = argparse.ArgumentParser(add_help=False)
    speed.add_argument("--speed", type=float, metavar="X", help="play a recording X times as fast")
    about = "show live what a script does, or what a recorded run did"
    top_parser = commands.add_parser("top", help=about, description=about, parents=[speed])
    top_parser.add_argument("what", nargs="?", type=Path, help="a script, or what pw.save('run.jsonl') wrote")
    top_parser.add_argument("args", nargs=argparse.REMAINDER, help="arguments of the script")
    args = parser.parse_args(argv)
    if args.command == "demo":
        return demo(args.notebook, args.out)
    if args.what is not None and _recorded(args.what):  # what follows a script is the script's
        speed.parse_args(args.args, args)
        args.args = []
    try:
        status = top(args.what, args.args, args.speed)
        sys.stdout.flush()
        return status
    except BrokenPipeError:  # who reads the output has seen enough, as `head` has
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (PwlabError, OSError, ValueError) as error:
        print(f"python -m pwlab top: {error}", file=sys.stderr)
        return 2


def top(what: Path | None, args: list[str], speed: float | None = None) -> int:
    """Runs a script, or plays a recording, with the live view; gives the exit status.

    Raises:
      RunFileError: it is no recording.
      ValueError: there is nothing to look at, or the arguments do not go together.
    """
    if what is None:
        raise ValueError(
            "nothing to look at. Give a script, which runs with the view below it (python -m pwlab top train.py), or a "
            "recording by pw.save (python -m pwlab top run.jsonl); in IPython or a notebook type %pw top"
        )
    if not _recorded(what):
        if speed is not None:
            raise ValueError(f"--speed is for recordings (.jsonl); {what} is run as a script, at its own speed")
        if what.is_dir():
            raise ValueError(f"{what} is a folder; name a script or a recording in it")
        if not what.exists():
            raise ValueError(f"there is no script {what}; recordings are called run.jsonl")
        return top_of_script(what, args)
    if not what.exists():
        raise ValueError(f"there is no recording {what}; pw.save({str(what)!r}) writes one in the session")
    try:
        run = load(what)
    except DamagedRunFile as error:
        print(f"{error}", file=sys.stderr)
        run = load(what, partial=True)
    top_of_run(run, 1.0 if speed is None else speed)
    return 0


def _recorded(what: Path) -> bool:
    """Whether it is a recording, perhaps a compressed one, and no script: by its name, or by how it begins."""
    if ".jsonl" in what.suffixes:
        return True
    if not what.is_file():
        return False
    with what.open("rb") as file:
        return file.read(1) in (b"{", b"\x1f")


def demo(notebook: Path, out: Path) -> int:
    """Executes a notebook, writes it as HTML and prints the summary of its run."""
    try:
        import nbformat
        from nbclient import NotebookClient
        from nbclient.exceptions import CellExecutionError
        from nbconvert import HTMLExporter
    except ImportError as error:
        print(f"The demo needs {error.name}; install it with: pip install 'pwlab[lab]'", file=sys.stderr)
        return 2
    if not notebook.exists():
        print(
            f"There is no notebook {notebook}; run this in the folder of the repository, or name one",
            file=sys.stderr,
        )
        return 2
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console()
    book: Any = nbformat.read(notebook, as_version=4)
    code = [cell for cell in book.cells if cell.cell_type == "code"]
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    began = time.monotonic()
    summary = ""
    # What the kernel says of itself is shown only if something goes wrong.
    with tempfile.TemporaryFile() as noise, Progress(*columns, console=console, transient=True) as progress:
        bar = progress.add_task(f"running {notebook.name}", total=len(code))
        client = NotebookClient(
            book,
            timeout=600,
            kernel_name="python3",
            resources={"metadata": {"path": str(notebook.parent)}},
            on_cell_executed=lambda **_: progress.advance(bar),
        )
        try:
            with client.setup_kernel(stderr=noise):
                for index, cell in enumerate(book.cells):
                    client.execute_cell(cell, index)
                width = min(console.width, 120) if console.is_terminal else 100
                text = _SUMMARY.format(columns=width, colour=console.is_terminal)
                asked = nbformat.v4.new_code_cell(text)
                book.cells.append(asked)
                client.execute_cell(asked, len(book.cells) - 1)
                book.cells.pop()
                summary = "".join(o.get("text", "") for o in asked.outputs)
        except CellExecutionError as error:
            console.print(f"[red]A cell of {notebook} failed:[/]")
            noise.seek(0)
            print(error, noise.read().decode(errors="replace"), sep="\n", file=sys.stderr)
            return 1
    out.mkdir(parents=True, exist_ok=True)
    page = out / f"{notebook.stem}.html"
    page.write_text(HTMLExporter().from_notebook_node(book)[0], encoding="utf-8")
    print(summary)
    for line in _printed(code):
        console.print(f"  [dim]{line}[/]", highlight=False)
    console.print(f"\n{notebook} ran in {time.monotonic() - began:.1f} s")
    console.print(f"The executed notebook: [bold]{page.resolve()}[/]", soft_wrap=True)
    if shutil.which("jupyter-lab"):
        console.print("Open it live with: [bold]make lab[/]")
    return 0


def _printed(cells: list[Any]) -> list[str]:
    """The last line that each cell printed, so that results show beside the summary."""
    lines: list[str] = []
    for cell in cells:
        for output in cell.get("outputs", []):
            text = output.get("text", "").strip() if output.get("output_type") == "stream" else ""
            if text and len(text.splitlines()) == 1:
                lines.append(text)
    return lines


if __name__ == "__main__":
    sys.exit(main())
