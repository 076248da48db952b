"""pwlab: Pathways programs in the notebook, written in ordinary JAX.

    import pwlab as pw
    pw.start(islands=2, devices_per_island=4)
    with pw.lazy():
        y = jnp.sin(x) @ w      # recorded; runs in the background
    print(y)                    # waits

In a notebook: ``%load_ext pwlab``, then ``%%pathways`` at the top of a cell.
"""

from typing import Any

from . import errors as errors
from .clients import Client as Client
from .control import Lane as Lane
from .control import Policy as Policy
from .control import Why as Why
from .control.reasons import set_html as _set_why_html
from .functions import dump as dump
from .functions import fetch as fetch
from .functions import host as host
from .functions import jit as jit
from .functions import lazy as lazy
from .functions import on as on
from .functions import pmap as pmap
from .functions import program as program
from .functions import shard as shard
from .functions import wait as wait
from .hand import cancel as cancel
from .hand import migrate as migrate
from .hand import pause as pause
from .hand import register_policy as register_policy
from .hand import remove_slice as remove_slice
from .hand import resume as resume
from .hand import step as step
from .hand import suspend as suspend
from .hand import why as why
from .lazy import LazyTensor as LazyTensor
from .lazy.describe import TensorInfo as _TensorInfo
from .lazy.describe import set_views as _set_views
from .live import dashboard as dashboard
from .live import top as top
from .records import compare as compare
from .records import facts as facts
from .records import load as load
from .records import nodes as nodes
from .records import replay as replay
from .records import report as report
from .records import save as save
from .records import save_trace as save_trace
from .session import Session as Session
from .session import make_virtual_device_set as make_virtual_device_set
from .session import session as session
from .session import shutdown as shutdown
from .session import start as start
from .slices import VirtualSlice as VirtualSlice
from .views import clients as clients
from .views import graph as graph
from .views import islands as islands
from .views import memory as memory
from .views import status as status
from .views import syncs as syncs
from .views import timeline as timeline
from .views import utilisation as utilisation

__version__ = "0.1.0"

__all__ = [
    "Client",
    "Lane",
    "LazyTensor",
    "Policy",
    "Session",
    "VirtualSlice",
    "Why",
    "cancel",
    "clients",
    "compare",
    "dashboard",
    "dump",
    "errors",
    "facts",
    "fetch",
    "graph",
    "host",
    "islands",
    "jit",
    "lazy",
    "load",
    "make_virtual_device_set",
    "memory",
    "migrate",
    "nodes",
    "on",
    "pause",
    "pmap",
    "program",
    "register_policy",
    "remove_slice",
    "replay",
    "report",
    "resume",
    "save",
    "save_trace",
    "session",
    "shard",
    "shutdown",
    "start",
    "status",
    "step",
    "suspend",
    "syncs",
    "timeline",
    "top",
    "utilisation",
    "wait",
    "why",
]


def _text(info: _TensorInfo) -> str:
    from .viz.tensor import lazy_text

    return lazy_text(info)


def _html(info: _TensorInfo) -> str:
    from .viz.tensor import lazy_html

    return lazy_html(info)


_set_views(_text, _html)


def _why_html(why: Why) -> str:
    from . import viz

    return viz.render_html(viz.why_tree(why))


_set_why_html(_why_html)


def load_ipython_extension(ipython: Any) -> None:
    """``%load_ext pwlab``: the magics, imported only now."""
    import pwlab_magics

    pwlab_magics.load(ipython)


def unload_ipython_extension(ipython: Any) -> None:
    """``%unload_ext pwlab``: takes the magics back and stops the session."""
    import pwlab_magics

    pwlab_magics.unload(ipython)
