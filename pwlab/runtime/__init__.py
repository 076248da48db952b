"""The runtime: one thread that drives the controller, and the buffers that programs write.

:class:`Driver` is the only code that calls the controller; it also owns the clock.
"""

from .buffers import Buffer as Buffer
from .buffers import Failure as Failure
from .buffers import Parked as Parked
from .driver import Driver as Driver
from .protocol import Backend as Backend
from .protocol import Computation as Computation
from .protocol import Owner as Owner
from .protocol import Task as Task
