"""The live dashboard.  Start reading at :mod:`.feed`, which says who sends what when.

facts ─▶ ring ─▶ history (columns) ─▶ feed (the pump) ─▶ page: JavaScript of ``pwlab/viz/js``
                                         └─▶ settle: static picture and snapshot, when a run ends
"""

from .encode import Chunk as Chunk
from .encode import Encoder as Encoder
from .feed import Feed as Feed
from .history import History as History
from .snapshot import snapshot as snapshot
from .widget import Dashboard as Dashboard
