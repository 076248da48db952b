"""What a run said about itself: kept in a ring, folded into a model and numbers.

Start reading at :mod:`pwlab.observe.ring`; a view needs only :class:`Recorder`.
"""

from .codec import CodecError as CodecError
from .codec import decode as decode
from .codec import encode as encode
from .intervals import IntervalSet as IntervalSet
from .intervals import union_seconds as union_seconds
from .journal import lines_of as lines_of
from .journal import read_run as read_run
from .journal import write_run as write_run
from .lives import Part as Part
from .model import NodeView as NodeView
from .model import ProgramView as ProgramView
from .model import RunModel as RunModel
from .model import SliceView as SliceView
from .model import model_of as model_of
from .perfetto import trace_of as trace_of
from .perfetto import write_trace as write_trace
from .recorder import Recorder as Recorder
from .ring import Batch as Batch
from .ring import FactRing as FactRing
from .run import Run as Run
from .run import whole_model as whole_model
from .spans import Span as Span
from .spans import SpanKind as SpanKind
from .spans import gaps as gaps
from .spans import lanes as lanes
from .spans import spans_of as spans_of
from .stats import DeviceTotal as DeviceTotal
from .stats import NameTotal as NameTotal
from .stats import ProgramTotal as ProgramTotal
from .stats import RunStats as RunStats
from .stats import TransferTotal as TransferTotal
from .stats import WaitTotal as WaitTotal
from .stats import stats_of as stats_of
from .table import COLUMNS as COLUMNS
from .table import node_columns as node_columns
from .totals import Totals as Totals
from .totals import totals_of as totals_of
from .usage import Usage as Usage
from .usage_view import ClientRow as ClientRow
from .usage_view import HeldRow as HeldRow
from .usage_view import HolderRow as HolderRow
from .usage_view import MemoryRow as MemoryRow
from .usage_view import Spent as Spent
from .usage_view import UsageView as UsageView
