"""Sizes for people."""

from __future__ import annotations


def bytes_text(count: float) -> str:
    """``4096`` as ``4.0 KB``; KB is 1,024 bytes."""
    if count < 1024:
        return f"{count:.0f} B"
    size = float(count)
    for unit in ("KB", "MB", "GB", "TB"):
        size /= 1024
        if size < 999.5 or unit == "TB":
            return f"{size:.1f} {unit}" if size < 99.95 else f"{size:.0f} {unit}"
    raise AssertionError
