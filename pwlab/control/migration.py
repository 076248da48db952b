"""Migration: a slice moves to other devices, and its programs do not notice (Pathways §4.1, §4.2).

A slice that shall move launches nothing more; when the last of what it has launched has
ended, everything happens in one event, so that no launch ever sees half of it:

1. the slice takes its new devices, which were booked when it was asked to move;
2. what lies on it counts there, and one :class:`~pwlab.events.Move` names it for the backend;
3. what is not launched leaves its island's queue and is prepared anew (*re-lowered*).

Programs name slices and never devices, so nothing else changes, and values neither.

If by then the new devices have no memory left for what lies on the slice, it stays, and the
user is told with the sums.  Rejected: to move each buffer when its last reader on the old
devices ends (two places at once for one slice), and to stop running launches (§4.4).
"""

from __future__ import annotations

from ..errors import PlacementError
from ..events import Move, Noted, SliceMapped, SliceMoved
from ..ids import BufferId
from ..units import bytes_text as sized
from .accounts import Account
from .memory import Memory
from .programs import Programs
from .records import Answer, Placement
from .resources import Resources
from .scheduler import Scheduler
from .store import Store


class Migration:
    """Moves slices."""

    def __init__(self, resources: Resources, programs: Programs, scheduler: Scheduler, store: Store, memory: Memory):
        self._resources = resources
        self._programs = programs
        self._scheduler = scheduler
        self._store = store
        self._memory = memory

    def request(self, event: SliceMoved, answer: Answer) -> None:
        """Lets a slice come to rest, so that it can move.

        Raises:
          UnknownName: the slice is not mapped.
          PlacementError: it moves already, no such island can hold it, or has no memory for what lies on it.
        """
        place = self._resources.retarget(event)
        short = self._short(place)
        if short:
            self._resources.stay(place)
            raise PlacementError(short)
        self._memory.revise()
        self._scheduler.revise()
        self.proceed(answer)

    def proceed(self, answer: Answer) -> None:
        """Moves every slice that has come to rest."""
        for place in list(self._resources.moving.values()):
            if not place.flying:
                self._move(place, answer)

    def _move(self, place: Placement, answer: Answer) -> None:
        short = self._short(place)
        if short:
            self._resources.stay(place)
            self._memory.revise()
            self._scheduler.revise()
            answer.facts.append(Noted(answer.time, short))
            return
        before = place.island
        self._scheduler.purge(place)
        self._resources.arrive(place)
        answer.facts.append(SliceMapped(answer.time, place.slice, place.name, place.island, place.devices, place.shape))
        buffers: tuple[BufferId, ...] = tuple(self._store.move(place, before, self._memory.devices))
        if buffers:
            answer.instructions.append(Move(buffers, place.slice, place.island, place.devices))
        self._programs.relocate(place, answer)
        self._memory.revise()
        self._scheduler.revise()

    def _short(self, place: Placement) -> str:
        """Why the new devices cannot hold what lies on the slice; empty if they can."""
        target = place.target
        assert target is not None
        more: dict[Account, int] = {}
        for buffer in self._store.lying(place):
            if buffer.held and buffer.accounts and not buffer.away:
                for account in buffer.accounts:
                    more[account] = more.get(account, 0) - buffer.share
                for device in target.devices[: len(buffer.accounts)]:
                    account = self._memory.devices[device]
                    more[account] = more.get(account, 0) + buffer.share
        for account, bytes in more.items():
            if bytes > 0 and account.used + bytes > account.capacity:
                return (
                    f"slice {place.name!r} stays on {self._resources.islands[place.island].name}: {sized(bytes)} of it "
                    f"would lie on {account}, which holds {sized(account.used)} of {sized(account.capacity)}: release "
                    f"{sized(account.used + bytes - account.capacity)} there first"
                )
        return ""
