"""A shortest solution by breadth-first search over positions of the player and the boxes."""

import json
import sys
from collections import deque

STEPS = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}


def cells(grid, marks):
    return frozenset(
        (row, column)
        for row, line in enumerate(grid)
        for column, mark in enumerate(line)
        if mark in marks
    )


def shortest(grid):
    walls, goals = cells(grid, "#"), cells(grid, ".*+")
    (player,) = cells(grid, "@+")
    start = (player, cells(grid, "$*"))
    waiting = deque([start])
    came_from = {start: None}
    while waiting:
        here = waiting.popleft()
        if here[1] == goals:
            return moves_to(here, came_from)
        for move, (down, right) in STEPS.items():
            (row, column), boxes = here
            there = (row + down, column + right)
            if there in boxes:
                beyond = (there[0] + down, there[1] + right)
                if beyond in boxes or beyond in walls:
                    continue
                boxes = boxes - {there} | {beyond}
            position = (there, boxes)
            if there not in walls and position not in came_from:
                came_from[position] = (here, move)
                waiting.append(position)
    return []


def moves_to(position, came_from):
    moves = []
    while came_from[position] is not None:
        position, move = came_from[position]
        moves.append(move)
    return moves[::-1]


print(*shortest(json.load(sys.stdin)["grid"]))
