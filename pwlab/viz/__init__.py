"""Pictures and tables of a run, for notebooks and terminals.

Every view is a pure function of :class:`~pwlab.observe.RunModel` and
:class:`~pwlab.observe.RunStats`, and goes through a plain data form first.
"""

from .graph import GraphPicture as GraphPicture
from .graph import Lane as Lane
from .graph import PictureEdge as PictureEdge
from .graph import PictureNode as PictureNode
from .graph import picture as picture
from .status import status as status
from .summary import summary as summary
from .svg import data_uri as data_uri
from .svg import describe as describe
from .svg import html as html
from .svg import svg as svg
from .tables import islands_table as islands_table
from .tables import make_table as make_table
from .tables import programs_table as programs_table
from .tables import render as render
from .tables import waits_table as waits_table
from .tensor import lazy_html as lazy_html
from .tensor import lazy_text as lazy_text
from .text import TEXT_LIMIT as TEXT_LIMIT
from .text import graph_text as graph_text
