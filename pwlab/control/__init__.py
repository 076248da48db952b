"""The control plane: events in, instructions and facts out (Pathways §4).

:class:`Controller` is all that the layers above need.  Read ``controller.py``
first, then the machine that interests you: ``resources`` with ``topology`` and
``migration``, ``programs`` with ``edges``, ``scheduler`` with ``lanes`` and
``policies``, ``store`` with ``memory``, ``clients``, ``explain``.
"""

from .clients import ClientUsage as ClientUsage
from .controller import Controller as Controller
from .lanes import Lane as Lane
from .policies import POLICIES as POLICIES
from .policies import Policy as Policy
from .policies import fifo as fifo
from .policies import policy_named as policy_named
from .policies import priority as priority
from .policies import proportional as proportional
from .policies import shortest as shortest
from .reasons import Kind as Kind
from .reasons import Reason as Reason
from .reasons import Why as Why
from .reasons import text_of as text_of
from .reasons import told as told
from .snapshots import DeviceUse as DeviceUse
from .snapshots import Holder as Holder
from .snapshots import MemoryUse as MemoryUse
