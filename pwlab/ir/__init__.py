"""The program's intermediate form: a graph of nodes, one a computation, and the passes over it.

Read :mod:`pwlab.ir.graph` first, then :mod:`pwlab.ir.passes`.
"""

from .graph import Argument as Argument
from .graph import Call as Call
from .graph import Graph as Graph
from .graph import Node as Node
from .graph import Op as Op
from .graph import OpKind as OpKind
from .graph import Program as Program
from .graph import TensorType as TensorType
from .passes import PASSES as PASSES
from .passes import Limits as Limits
from .passes import lower as lower
from .text import dump as dump
