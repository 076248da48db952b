"""What the words mean, for learners: tooltips of a dashboard that explains."""

from __future__ import annotations

WORDS = {
    "island": "An island is a group of accelerators joined by a fast network of their own.",
    "slice": "A virtual slice is a share of an island's devices, as a program asked for it.",
    "gang": "A computation on many devices is a gang: all its members launch together or none does.",
    "DCN": "DCN is the data-centre network between islands: far slower than the network within one.",
    "ICI": "ICI is the fast network between the devices of one island.",
    "client": "A client is one who submits programs; many can share the same islands.",
    "program": "A program is one run of a cell, or one call of a @pw.program.",
    "controller": "The one controller, in the background, decides what is launched where and when; "
    "here is when it was at work.",
    "waits": "Where the cell's own thread waited for a value, such as float(x).",
    "compiling": "XLA turns a computation into machine code, once for each new shape.",
    "computing": "The device ran a computation.",
    "preparing": "The next computation was being compiled.",
    "waiting for input": "The next computation was known, but what it reads was still being computed.",
    "transfer": "What the next computation reads was on its way between slices.",
    "memory": "The next launch had all it reads, but its results did not fit into the memory: "
    "it was held back until something was freed.",
    "dispatch": "All inputs were there: the launch waited for its turn in the order of the island, or was being "
    "prepared.",
    "share asked": "What the client asked for when it was opened, as a part of what all active clients asked for.",
    "share got": "The part of the devices' computing time that its launches took.",
    "device time": "Seconds of computing, times devices.",
    "waiting": "Computations that were submitted and not yet launched.",
    "held back": "Those of them that could be launched, were there memory.",
    "too small is": "The device, or the client's own limit, that has no room for what the launch writes.",
    "short by": "So many bytes must be freed there before it can be launched.",
    "result of": "The computation that wrote these values; they take memory until nobody needs them any more.",
    "values": "How many such values are held.",
    "nothing queued": "No computation was known for this device; the program had not got there yet.",
}
