"""The solution by trying digits, cell by cell."""

import json
import sys

clues = json.load(sys.stdin)["clues"]
size = len(clues)
box_rows, box_columns = {4: (2, 2), 6: (2, 3), 9: (3, 3)}[size]


def fits(grid, row, column, digit):
    top, left = row - row % box_rows, column - column % box_columns
    return all(
        grid[row][other] != digit
        and grid[other][column] != digit
        and grid[top + other // box_columns][left + other % box_columns] != digit
        for other in range(size)
    )


def fill(grid):
    for row in range(size):
        for column in range(size):
            if grid[row][column] == 0:
                for digit in range(1, size + 1):
                    if fits(grid, row, column, digit):
                        grid[row][column] = digit
                        if fill(grid):
                            return True
                grid[row][column] = 0
                return False
    return True


fill(clues)
print(clues)
