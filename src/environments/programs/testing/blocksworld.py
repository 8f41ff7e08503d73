"""A shortest plan by breadth-first search over the blocks beneath all blocks."""

import json
import sys
from collections import deque


def beneath(towers):
    return {
        block: below
        for tower in towers
        for below, block in zip(["table"] + tower, tower)
    }


def shortest(now, goal):
    start = tuple(sorted(now.items()))
    wanted = tuple(sorted(goal.items()))
    waiting = deque([(start, [])])
    seen = {start}
    while waiting:
        here, moves = waiting.popleft()
        if here == wanted:
            return moves
        on = dict(here)
        clear = [block for block in on if block not in on.values()]
        for block in clear:
            for target in clear + ["table"]:
                if target in (block, on[block]):
                    continue
                there = tuple(sorted({**on, block: target}.items()))
                if there not in seen:
                    seen.add(there)
                    waiting.append((there, moves + ["move", block, target]))
    return []


state = json.load(sys.stdin)
print(*shortest(beneath(state["now"]), beneath(state["goal"])))
