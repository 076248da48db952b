"""The control plane: events in, instructions and facts out (Pathways §4).

:class:`Controller` is all that the layers above need.  Read ``controller.py``
first, then the machine that interests you: ``resources``, ``programs``,
``scheduler`` with ``policies``, ``store``.
"""

from .controller import Controller as Controller
from .policies import POLICIES as POLICIES
from .policies import Lane as Lane
from .policies import Policy as Policy
from .policies import fifo as fifo
from .policies import policy_named as policy_named
