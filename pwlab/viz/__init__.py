"""Pictures and tables of a run, for notebooks and terminals.

Every view is a pure function of :class:`~pwlab.observe.RunModel` and
:class:`~pwlab.observe.RunStats`, and goes through a plain data form first.
"""

from .compare import Comparison as Comparison
from .compare import Figure as Figure
from .compare import Side as Side
from .compare import comparison as comparison
from .compare_view import CompareView as CompareView
from .compare_view import compare_view as compare_view
from .graph import GraphPicture as GraphPicture
from .graph import Lane as Lane
from .graph import PictureEdge as PictureEdge
from .graph import PictureNode as PictureNode
from .graph import picture as picture
from .image import data_uri as data_uri
from .image import image as image
from .replay import Clock as Clock
from .replay import Replay as Replay
from .report import report as report
from .status import status as status
from .summary import summary as summary
from .svg import describe as describe
from .svg import svg as svg
from .tables import islands_table as islands_table
from .tables import make_table as make_table
from .tables import programs_table as programs_table
from .tables import render as render
from .tables import render_html as render_html
from .tables import waits_table as waits_table
from .tenancy import clients_table as clients_table
from .tenancy import memory_tables as memory_tables
from .tenancy import why_tree as why_tree
from .tensor import lazy_html as lazy_html
from .tensor import lazy_text as lazy_text
from .text import TEXT_LIMIT as TEXT_LIMIT
from .text import graph_text as graph_text
from .timeline import TimelinePicture as TimelinePicture
from .timeline import timeline as timeline
from .timeline_svg import describe_timeline as describe_timeline
from .timeline_svg import timeline_svg as timeline_svg
from .timeline_text import timeline_text as timeline_text
from .top import Top as Top
from .top import top as top
from .top_text import top_line as top_line
from .top_text import top_text as top_text
from .usage import usage_tables as usage_tables
from .usage_svg import usage_svg as usage_svg
from .view import StaticView as StaticView
from .view import Tab as Tab
from .view import TableView as TableView
from .view import graph_view as graph_view
from .view import table_view as table_view
from .view import timeline_view as timeline_view
from .view import usage_view as usage_view
