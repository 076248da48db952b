"""The text form of a program, compared as it is printed."""

from __future__ import annotations

from pwlab.ir import Limits, OpKind, Program, dump, lower

from .graphs import DEVICES, NAMES, A, B, Builder, C, tensor

FIG2 = """\
program fig2 · 8 nodes · after assign
  %0 = a(arg0)       on a (all devices) · f32[2] · 8 B · devices 0,1,2,3 · Cell In[4], line 1
  %4 = transfer(%0)  a → b · f32[2] · 8 B · devices 4,5 · Cell In[4], line 2
  %5 = transfer(%0)  a → c · f32[2] · 8 B · devices 6,7 · Cell In[4], line 3
  %1 = b(%4)         on b (all devices) · f32[2] · 8 B · devices 4,5 · Cell In[4], line 2
  %2 = c(%5)         on c (all devices) · f32[2] · 8 B · devices 6,7 · Cell In[4], line 3
  %6 = transfer(%2)  c → a · f32[2] · 8 B · devices 0,1,2,3 · Cell In[4], line 4
  %3 = a(%6)         on a (all devices) · f32[2] · 8 B · devices 0,1,2,3 · Cell In[4], line 4
  debug_print(%3)    host of a · no result · 0 B · Cell In[4], line 5"""


def fig2() -> tuple[Builder, Program]:
    """The program of the paper's Fig. 2, on three slices."""
    g = Builder()
    v = g.argument(type=tensor(2))
    x = g.jit("a", v, slice=A, spread=True)
    y = g.jit("b", x, slice=B, spread=True)
    z = g.jit("a", g.jit("c", x, slice=C, spread=True), slice=A, spread=True)
    g.call("debug_print", z, kind=OpKind.HOST, ordered=True, results=())
    return g, lower(g.graph(y, z), DEVICES, Limits(coalesce_us=0))


def test_the_program_of_the_papers_figure() -> None:
    g, program = fig2()
    assert dump(program, "fig2", "assign", NAMES, g.sources()) == FIG2


def test_before_it_is_placed() -> None:
    g = Builder()
    y = g.call("sin", g.argument())
    program = lower(g.graph(y), DEVICES, after="prune")
    assert dump(program, "p", "prune", NAMES) == ("program p · 1 node · after prune\n  %0 = sin(arg0)  f32[2] · 8 B")


def test_an_empty_program() -> None:
    assert dump(lower(Builder().graph(), DEVICES), "p", "assign", NAMES) == "program p · 0 nodes · after assign"


def test_a_slice_without_a_name_and_merged_parts() -> None:
    g = Builder()
    y = g.call("cos", g.call("sin", g.argument(), slice=A), slice=A)
    program = lower(g.graph(y), DEVICES, after="group")
    assert dump(program, "p", "group", {}) == (
        "program p · 1 node · after group\n  %1 = sin+cos(arg0)  on slice 1 · f32[2] · 8 B · 2 merged"
    )
