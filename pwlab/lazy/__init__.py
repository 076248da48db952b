"""The lazy front end: ordinary JAX, recorded.

Start with :mod:`pwlab.lazy.trace` (what records), :mod:`pwlab.lazy.recorder` (windows),
:mod:`pwlab.lazy.plan` (reuse) and :mod:`pwlab.lazy.frontend` (programs and waits).
"""

from .describe import TensorInfo as TensorInfo
from .frontend import Frontend as Frontend
from .frontend import ProgramRecord as ProgramRecord
from .frontend import current_owner as current_owner
from .scope import Scope as Scope
from .scope import on as on
from .scope import one_call as one_call
from .tensor import LazyTensor as LazyTensor
from .trace import RecordingTrace as RecordingTrace
from .trace import active as active
from .trace import install_hooks as install_hooks
