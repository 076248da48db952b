"""A client that was idle has neither credit nor debt under ``proportional``."""

from __future__ import annotations

import pytest
from control_harness import Lab

from pwlab.control.lanes import IslandQueue, Tally
from pwlab.events import Launch

#: Virtual time of the island, and of a client that comes back to it; what the client's last launch was charged;
#: whether anybody else is there; and where the client starts.
BACK = {
    "it was behind: no credit": (10.0, 3.0, 1.0, True, 10.0),
    "it was level": (10.0, 10.0, 1.0, True, 10.0),
    "its last launch is still ahead: who waits for each result pays for each": (10.0, 10.75, 1.0, True, 10.75),
    "it was ahead by more, as by what another policy gave it: no debt": (10.0, 500.0, 1.0, True, 11.0),
    "nobody ran: all are level": (10.0, 500.0, 1.0, False, 500.0),
    "nobody ran, and it was behind": (10.0, 3.0, 1.0, False, 500.0),
}


@pytest.mark.parametrize("case", BACK)
def test_where_a_client_starts_that_comes_back(case):
    island, own, last, busy, starts = BACK[case]
    queue, tally = IslandQueue(), Tally(own, 0)
    queue.virtual, queue.latest, tally.last = island, 500.0, last
    if busy:
        queue.flying[1] = None
    queue.arrive(tally)
    assert tally.virtual == starts


def shares(lab, clients, n):
    """How many of the next ``n`` launches each client gets that has always one queued."""
    got = dict.fromkeys(clients, 0)
    for client in clients:
        for _ in range(n):
            node = lab.node(client, pinned=False)
            lab.submit(node, client=client)
            lab.prepare(node)
    before = len(lab.told(Launch))
    while len(lab.told(Launch)) < before + n:
        (running,) = lab.flying[0]
        lab.complete(running)
    for launch in lab.told(Launch)[before : before + n]:
        got[lab.owner[launch.node]] += 1
    return got


def test_what_a_flood_had_under_another_policy_is_not_held_against_it_after_it_was_idle():
    lab = Lab(policy="fifo", max_in_flight=1)
    lab.island(1)
    lab.slice(1)
    lab.run(*[lab.node(f"n{i}", pinned=False) for i in range(50)], client="flood")
    lab.settings(policy="proportional")
    assert shares(lab, ["other", "flood"], 20) == {"other": 10, "flood": 10}
    lab.end()


def test_who_waited_long_gets_no_more_than_its_share_afterwards():
    lab = Lab(policy="proportional", max_in_flight=1)
    lab.island(1)
    lab.slice(1)
    lab.run(lab.node("first", pinned=False), client="sleeper")
    lab.run(*[lab.node(f"n{i}", pinned=False) for i in range(50)], client="busy")
    assert shares(lab, ["sleeper", "busy"], 20) == {"sleeper": 10, "busy": 10}
    lab.end()
