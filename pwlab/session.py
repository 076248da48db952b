"""A session: one controller with its devices, from ``pw.start()`` to ``pw.shutdown()``.

One session is current at a time.  What needs one and finds none starts it with the defaults and says so.
"""

from __future__ import annotations

import atexit
import math
import sys
import threading
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from . import checks
from .backends.devices import Machine, find
from .backends.local import LocalBackend
from .config import Config
from .control import ClientUsage, Controller
from .errors import PlacementError, PwlabWarning, StartError, UnknownName, unknown
from .events import Dispatch, Noted, SliceMapped, SliceRefused, SliceReleased, SliceRequested
from .ids import IdCounters, IslandId
from .lazy import Frontend, RecordingTrace, install_hooks
from .lazy.places import user_frame
from .observe import FactRing
from .programs import Programs
from .runtime import Driver
from .runtime.clock import now
from .slices import BLOCK_AXES, Slices, VirtualSlice
from .steering import Steering

BACKENDS = ("local",)

#: One trace for the life of the process: JAX's caches are keyed by it.
_trace = RecordingTrace()


class Session:
    """One controller, its devices, its slices and the client that talks to it.

    Attributes:
      config: the settings; change them while it runs.
      slices: the virtual slices, the first being the default.
      ring: the facts of the run.
      frontend: what records and submits.
      programs: programs by name: run, wait for, value of.
      steering: the scheduler by hand: policy, pause and step, suspend, migrate, why.
    """

    def __init__(self, machine: Machine, config: Config):
        self.machine = machine
        self.config = config
        self.ids = IdCounters()
        self.ring = FactRing(config.keep_facts)
        self.backend = LocalBackend(machine)
        self.driver = Driver(Controller(), self.backend, self.ring)
        self.slices = Slices(machine.devices, machine.islands)
        self.frontend = Frontend(self.driver, self.ids, config, self.slices, _trace)
        self.programs = Programs(self.frontend, self.slices, self.ring)
        self.steering = Steering(self.driver, self.slices, self.programs)
        self.ring.observe(self._remapped, SliceMapped)
        self._notes: deque[str] = deque(maxlen=100)
        self.ring.observe(self._noted, Noted)
        self._lock = threading.Lock()
        self._closers: list[Callable[[], None]] = []
        self.started = now()
        self.driver.start()
        self.apply_settings()
        for island in machine.islands:
            self.add_slice(len(island.devices), island.id, island.name, whole_island=True)

    @property
    def closed(self) -> bool:
        return self.driver.closed

    @property
    def policy(self) -> str:
        """The scheduling policy; set it to change it while programs run (Pathways §4.4).

        Raises:
          UnknownName: no policy of that name; the nearest is suggested.
        """
        return self.steering.policy

    @policy.setter
    def policy(self, name: str) -> None:
        self.steering.policy = name

    def clients(self) -> tuple[ClientUsage, ...]:
        """Settings and accounts of all open clients."""
        return self.steering.clients()

    def apply_settings(self) -> None:
        """Tells the controller the settings that are its own."""
        self.steering.dispatch(Dispatch(self.config.dispatch), self.config.max_in_flight)

    def _noted(self, fact: Any) -> None:
        self._notes.append(fact.text)

    def warn(self) -> None:
        """Warns on the user's thread of what the scheduler had to tell, each time once; see :meth:`take_notes`."""
        frame = user_frame(sys._getframe(1))
        for note in self.take_notes():
            if frame is None:
                warnings.warn(note, PwlabWarning, stacklevel=2)
            else:
                warnings.warn_explicit(note, PwlabWarning, frame.f_code.co_filename, frame.f_lineno)

    def take_notes(self) -> list[str]:
        """What the scheduler had to tell since it was last asked: a policy that misbehaved, a slice that stayed."""
        notes: list[str] = []
        while self._notes:
            note = self._notes.popleft()
            if self.driver.crash is None or not note.startswith(self.driver.crash):  # that one is an error's text
                notes.append(note)
        return notes

    def _remapped(self, fact: Any) -> None:
        """A slice lies on other devices now (on the driver's thread)."""
        moved = self.slices.by_id.get(fact.slice)
        if moved is not None:
            moved.island, moved.devices = fact.island, fact.devices
            moved.island_name = self.machine.islands[fact.island].name
            self.slices.devices[fact.slice] = fact.devices

    def configure(self, name: str, value: str | float | int) -> None:
        """Sets one setting; see :class:`pwlab.config.Config`.

        Raises:
          UnknownName: no such setting.
          ValueError: no value of its type.
        """
        self.config.set(name, value)
        self.apply_settings()

    def add_slice(
        self,
        tpu_devices: int | None = None,
        island: IslandId | int | str | None = None,
        name: str | None = None,
        shape: tuple[int, ...] | None = None,
        chip: str | None = None,
        whole_island: bool = False,
    ) -> VirtualSlice:
        """Asks the resource manager for a slice; see :meth:`VirtualDeviceSet.add_slice`."""
        block = () if shape is None else checks.shape("the shape of a slice", shape, PlacementError)
        if len(block) > len(BLOCK_AXES):
            raise PlacementError(f"a block has at most {len(BLOCK_AXES)} axes, {', '.join(BLOCK_AXES)}, not {block}")
        if tpu_devices is None:
            if not block:
                raise PlacementError("a slice needs tpu_devices=n or a shape, such as (2, 2)")
            tpu_devices = math.prod(block)
        tpu_devices = checks.whole("tpu_devices", tpu_devices, PlacementError)
        if tpu_devices < 1:
            raise PlacementError(f"a slice has at least 1 device, not {tpu_devices}")
        for argument, value in (("name", name), ("chip", chip)):
            if value is not None:
                checks.text(argument, value, PlacementError)
        wanted = self.island_id(island)
        with self._lock:
            id = self.ids.slice()
            label = name or self._free_name()
            if any(s.name == label for s in self.slices):
                raise PlacementError(f"a slice called {label!r} exists already; take another name")
            facts = self.driver.call(SliceRequested(now(), id, label, tpu_devices, wanted, block or None, chip))
            answer = next(fact for fact in facts if isinstance(fact, (SliceMapped, SliceRefused)))
            if isinstance(answer, SliceRefused):
                raise PlacementError(answer.reason)
            where = self.machine.islands[answer.island].name
            made = VirtualSlice(id, label, answer.island, answer.devices, where, block)
            self.slices.add(made, whole_island)
            return made

    def remove_slice(self, slice: Any) -> None:
        """Gives a slice back.  What was submitted to it still runs.

        Raises:
          PlacementError: it is the session's default, or was removed before.
          UnknownName: no slice of that name.
        """
        found = self.slices.find(slice)
        if found is self.slices.default:
            raise PlacementError(f"slice {found.name!r} is the session's default and stays")
        self.driver.call(SliceReleased(now(), found.id))
        self.slices.remove(found)

    def _free_name(self) -> str:
        taken = {s.name for s in self.slices}
        letters = (chr(ord("a") + i % 26) + ("" if i < 26 else str(i // 26)) for i in range(10_000))
        return next(n for n in letters if n not in taken)

    def island_id(self, island: IslandId | int | str | None) -> IslandId | None:
        """The id of an island by number or name; None for None.

        Raises:
          UnknownName: no such island; the nearest name is suggested.
        """
        if island is None:
            return None
        specs = self.machine.islands
        for spec in specs:
            if island == spec.name or (not isinstance(island, (str, bool)) and island == spec.id):
                return spec.id
        told = unknown("island", island, [s.name for s in specs])
        raise UnknownName(f"{told} (0 to {len(specs) - 1})")

    def at_close(self, call: Callable[[], None]) -> None:
        """Calls ``call()`` when the session is closed, once nothing happens in it any more."""
        self._closers.append(call)

    def close(self) -> None:
        """Stops threads and frees devices; what has not run fails with :class:`~pwlab.errors.SessionClosed`."""
        self.frontend.close()
        self.driver.close()
        self.warn()
        while self._closers:
            self._closers.pop()()

    def __repr__(self) -> str:
        if self.closed:
            return "Session(stopped)"
        kinds = "emulated TPUs" if self.machine.emulated else self.machine.devices[0].platform.upper() + "s"
        sizes = ", ".join(f"{i.name}: {len(i.devices)}" for i in self.machine.islands)
        n = len(self.machine.islands)
        shared = ", sharing chips" if self.machine.shared else ""
        return f"Session({n} island{'' if n == 1 else 's'} of {kinds} ({sizes}){shared})"


_current: Session | None = None
_current_lock = threading.Lock()
#: Who is told of each session that starts; see :func:`following`.
_followers: list[Callable[[Session], None]] = []


def start(
    islands: int | Sequence[Mapping[str, Any]] | None = None,
    devices_per_island: int | None = None,
    backend: str = "local",
    hbm_bytes: int | None = None,
    **settings: Any,
) -> Session:
    """Starts the session: islands of devices, and the controller in the background.

    With accelerators, the islands are theirs; two logical islands may share one chip.  With a CPU alone its devices are
    emulated TPUs, two islands of four unless asked otherwise.  A running session of the same shape is
    kept; another shape stops it first.

    Args:
      islands: how many islands; or one description each: ``[{"shape": (2, 4), "chip": "cpu"}, …]``.
      devices_per_island: devices of each, where only their number is given.
      backend: ``local``, the JAX devices of this process.
      hbm_bytes: memory of one device, in bytes; if not given what the device says of itself, and no limit if it says
        nothing.
      settings: see :class:`pwlab.config.Config`, such as ``sync="error"``.

    Raises:
      StartError: JAX already runs with too few devices, or a number or name is no such.
    """
    global _current
    if backend not in BACKENDS:
        raise StartError(unknown("backend", backend, BACKENDS, "There is"))
    config = Config()
    for name, value in settings.items():
        config.set(name, value)
    with _current_lock:
        machine = find(islands, devices_per_island, hbm_bytes)
        if _current is not None and not _current.closed:
            if _current.machine == machine:
                for name, value in settings.items():
                    _current.configure(name, value)
                return _current
            _current.close()
        install_hooks(_trace)
        _current = made = Session(machine, config)
    for call in list(_followers):
        call(made)
    return made


def session() -> Session:
    """The current session; starts one with the defaults, and says so, if there is none."""
    if _current is None or _current.closed:
        made = start()
        print(f"pwlab: started {made!r}; use pw.start(...) or %pw start to choose")
        return made
    _current.warn()
    return _current


def running() -> Session | None:
    """The current session, or None; never starts one."""
    return None if _current is None or _current.closed else _current


@contextmanager
def following(call: Callable[[Session], None]) -> Iterator[None]:
    """While the block runs, calls ``call(session)`` with the session that runs, and with each that is started."""
    _followers.append(call)
    try:
        present = running()
        if present is not None:
            call(present)
        yield
    finally:
        _followers.remove(call)


def shutdown() -> None:
    """Stops the current session, if there is one."""
    global _current
    with _current_lock:
        if _current is not None:
            _current.close()
            _current = None


atexit.register(shutdown)


class VirtualDeviceSet:
    """Where virtual slices are asked for (Pathways §3, Fig. 2)."""

    def __init__(self, session: Session):
        self._session = session
        self._made: list[VirtualSlice] = []

    @property
    def slices(self) -> list[VirtualSlice]:
        """The slices that were added and not removed."""
        there = self._session.slices.by_id
        return [made for made in self._made if made.id in there]

    def add_slice(
        self,
        tpu_devices: int | None = None,
        island: int | str | None = None,
        name: str | None = None,
        shape: tuple[int, ...] | None = None,
        chip: str | None = None,
    ) -> VirtualSlice:
        """A slice of ``tpu_devices`` virtual devices on one island.

        Args:
          tpu_devices: how many; the product of ``shape`` if not given.
          shape: a contiguous block of the island's mesh, such as ``(2, 2)``; its axes are ``x``, ``y`` and ``z``.
          chip: the platform of the island, such as ``"tpu"``.
          island: number or name; the least loaded if not given.
          name: how it shows in views; ``a``, ``b``, … if not given.

        Raises:
          PlacementError: no island can hold it; says why and what would fit.
          UnknownName: no island of that name.
        """
        made = self._session.add_slice(tpu_devices, island, name, shape, chip)
        self._made.append(made)
        return made

    def remove_slice(self, slice: VirtualSlice | str) -> None:
        """Gives a slice of the session back; see :func:`pwlab.remove_slice`."""
        self._session.remove_slice(slice)


def make_virtual_device_set() -> VirtualDeviceSet:
    """A set of virtual devices of the current session (Pathways §3, Fig. 2)."""
    return VirtualDeviceSet(session())
