"""What a run said about itself: kept in a ring, folded into a model and numbers.

Start reading at :mod:`pwlab.observe.ring`; a view needs only :class:`Recorder`.
"""

from .intervals import IntervalSet as IntervalSet
from .intervals import union_seconds as union_seconds
from .model import NodeView as NodeView
from .model import ProgramView as ProgramView
from .model import RunModel as RunModel
from .model import SliceView as SliceView
from .model import model_of as model_of
from .recorder import Recorder as Recorder
from .ring import Batch as Batch
from .ring import FactRing as FactRing
from .stats import DeviceTotal as DeviceTotal
from .stats import NameTotal as NameTotal
from .stats import ProgramTotal as ProgramTotal
from .stats import RunStats as RunStats
from .stats import TransferTotal as TransferTotal
from .stats import WaitTotal as WaitTotal
from .stats import stats_of as stats_of
