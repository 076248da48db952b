"""The program of the paper's Fig. 2: three computations, each on two virtual TPUs of its own.

python examples/fig2.py
"""

import numpy as np

import pwlab as pw


def get_devices(n: int) -> pw.VirtualSlice:
    """Asks for n virtual TPUs on one island."""
    return pw.make_virtual_device_set().add_slice(tpu_devices=n)


def main() -> tuple[np.ndarray, np.ndarray]:
    pw.start(islands=2, devices_per_island=4)
    a = pw.pmap(lambda x: x * 2.0, devices=get_devices(2).tpus)
    b = pw.pmap(lambda x: x + 1.0, devices=get_devices(2).tpus)
    c = pw.pmap(lambda x: x / 2.0, devices=get_devices(2).tpus)

    @pw.program
    def f(v):
        x = a(v)
        y = b(x)
        z = a(c(x))
        return y, z

    y, z = f(np.array([1.0, 2.0]))  # returns at once
    print(repr(y))
    print(pw.fetch((y, z)))
    return pw.fetch((y, z))


if __name__ == "__main__":
    main()
