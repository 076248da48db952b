"""IPython magics of pwlab: ``%%pathways`` and ``%pw``.

``%load_ext pwlab`` loads them.  They hold no logic: each calls one function of pwlab that a script can call too.

Start with :mod:`pwlab_magics.cell` (how a cell becomes a pathways cell) and :mod:`pwlab_magics.line` (``%pw``).
"""

from .extension import load as load
from .extension import unload as unload
