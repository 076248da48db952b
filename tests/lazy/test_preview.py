"""What a tensor that is ready shows of its values, and that looking copies next to nothing."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import NamedSharding, PartitionSpec

import pwlab as pw
from pwlab.errors import ComputationFailed
from pwlab.lazy import describe
from pwlab.lazy.describe import preview_of, spec_text

MESH = jax.make_mesh((4, 2), ("x", "y"))
SPECS = [
    PartitionSpec("x", "y"),
    PartitionSpec("x"),
    PartitionSpec(None, "y"),
    PartitionSpec(),
    PartitionSpec(("x", "y"), None),
]


def numpys(array: Any, edge: int = 3) -> str:
    """The corners of an array as NumPy prints them."""
    return np.array2string(np.asarray(array), precision=4, separator=", ", threshold=0, edgeitems=edge)


@pytest.mark.parametrize("array", [jnp.arange(17.0), jnp.arange(128).reshape(8, 16), jnp.ones((3, 50), jnp.bfloat16)])
def test_a_corner_is_what_numpy_prints(array: jax.Array) -> None:
    assert preview_of(array) == numpys(array)


def test_a_small_value_is_shown_whole() -> None:
    assert preview_of(jnp.arange(16).reshape(4, 4)) == np.array2string(np.arange(16).reshape(4, 4), separator=", ")
    assert preview_of(jnp.float32(2.5)) == "2.5" and preview_of(jnp.zeros((0, 5))) == "[]"


def test_of_many_axes_the_first_and_the_last_are_shown_in_a_few_lines() -> None:
    cube = jnp.arange(1000).reshape(10, 10, 10)
    assert preview_of(cube) == numpys(cube, 1)
    lines = (preview_of(jnp.ones((2,) * 8)) or "").splitlines()
    assert len(lines) == 17 and lines[-1] == "…"


@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_of_a_sharded_array_the_corners_are_gathered_and_no_more(spec: PartitionSpec) -> None:
    host = np.arange(128.0, dtype=np.float32).reshape(8, 16)
    array = jax.device_put(host, NamedSharding(MESH, spec))
    assert preview_of(array) == numpys(host)
    assert array._npy_value is None, "the whole array was brought together, and is kept"  # pyright: ignore


def test_from_an_accelerator_only_a_few_bytes_are_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(describe, "_AT_HAND", ())
    sharding = NamedSharding(MESH, PartitionSpec("x"))
    small, large = (jax.device_put(np.ones((n, 64), np.float32), sharding) for n in (64, 4096))
    assert preview_of(small) == numpys(small)
    assert preview_of(large) is None and preview_of(jnp.ones(20_000)) is None


def test_what_cannot_be_shown_is_not() -> None:
    gone = jnp.ones(3)
    gone.delete()
    assert preview_of(gone) is None and preview_of(jax.random.key(0)) is None and preview_of(None) is None


def test_a_spec_is_told_as_it_is_typed() -> None:
    assert [spec_text(spec) for spec in SPECS] == [
        "P('x', 'y')",
        "P('x')",
        "P(None, 'y')",
        "P()",
        "P(('x', 'y'), None)",
    ]


def test_what_depends_on_a_failure_names_it(session: pw.Session) -> None:
    broken = False

    @pw.host
    def load(x: Any) -> Any:
        if broken:
            raise ValueError("no luck")
        return x

    with pw.lazy("learns"):
        pw.wait(load(jnp.ones(3)))
    broken = True
    with pw.lazy("fails"):
        first = load(jnp.ones(3))
        second = pw.jit(lambda x: x + 1)(first)
    with pytest.raises(ComputationFailed):
        second.result()
    assert repr(first).endswith("failed · test_preview.py:" + str(first.source.line) + "\nValueError: no luck")
    assert f"load at test_preview.py:{first.source.line} failed first: ValueError: no luck" in repr(second)
