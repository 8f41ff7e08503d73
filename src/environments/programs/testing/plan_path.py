"""A shortest way by breadth-first search."""

import json
import sys
from collections import deque

STEPS = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}


def shortest(grid, at, goal):
    waiting = deque([at])
    moves_to = {at: []}
    while waiting:
        here = waiting.popleft()
        if here == goal:
            return moves_to[here]
        for move, (down, right) in STEPS.items():
            row, column = there = (here[0] + down, here[1] + right)
            inside = 0 <= row < len(grid) and 0 <= column < len(grid)
            if inside and grid[row][column] == "." and there not in moves_to:
                moves_to[there] = moves_to[here] + [move]
                waiting.append(there)
    return []


state = json.load(sys.stdin)
print(*shortest(state["grid"], tuple(state["at"]), tuple(state["goal"])))
