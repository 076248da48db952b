// The states of a node in the order of pwlab.events.NodeState, and the other numbered words.

export const WAITING = 0, PREPARED = 1, QUEUED = 2, LAUNCHED = 3, DONE = 4, FAILED = 5, CANCELLED = 6;
export const STATES = ["waiting", "prepared", "queued", "running", "done", "failed", "cancelled"];
export const GLYPHS = ["○", "◔", "◑", "▶", "✓", "✗", "⊘"];
/** A group shows the first of these that one of its nodes has. */
export const LOUDEST = [FAILED, LAUNCHED, QUEUED, PREPARED, WAITING, CANCELLED, DONE];

export const COMPUTE = 0, TRANSFER = 1, HOST = 2;
export const KINDS = ["compute", "transfer", "host"];
export const LINKS = ["", "ICI", "DCN", "PCIe"];
