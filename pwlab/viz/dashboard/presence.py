"""Whether anybody looks at a dashboard, as far as a kernel can know.

A page says *ready* when it shows the dashboard and *bye* when it no longer
does; it acknowledges what it gets every few seconds.  Pages also vanish without
a word, and a kernel that runs a cell hears nothing at all.  So:

* A page is gone if it leaves batches unacknowledged while the kernel was idle and would have heard it.
* A dashboard that was just displayed counts as looked at, until the kernel was idle long enough to have heard
  *ready*.  Else "Run All" with a long last cell would show nothing before its end.
"""

from __future__ import annotations

from dataclasses import dataclass, field

#: Seconds of idle kernel after which silence means that nobody is there.
PATIENCE = 12.0


@dataclass(slots=True)
class Presence:
    """The pages that show one dashboard.  Times are seconds on any monotonic clock."""

    #: Time of the oldest batch a page has not acknowledged; None where it has all.
    _pages: dict[str, float | None] = field(default_factory=dict[str, float | None])
    _displayed: float | None = None

    def displayed(self, now: float) -> None:
        self._displayed = now

    def heard(self, page: str) -> None:
        """A page said that it is ready, or that it got something."""
        self._displayed = None
        self._pages[page] = None

    def bye(self, page: str) -> None:
        self._displayed = None
        self._pages.pop(page, None)

    def sent(self, now: float) -> None:
        for page, since in self._pages.items():
            if since is None:
                self._pages[page] = now

    def anyone(self, now: float, idle: float) -> bool:
        """Whether somebody looks; ``idle`` is for how long the kernel has been waiting for messages."""
        if self._displayed is not None and min(now - self._displayed, idle) > PATIENCE:
            self._displayed = None
        for page, since in list(self._pages.items()):
            if since is not None and min(now - since, idle) > PATIENCE:
                del self._pages[page]
        return self._displayed is not None or bool(self._pages)
