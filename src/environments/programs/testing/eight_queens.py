"""A solution that keeps the given queens, by trying columns, row by row."""

import json
import sys

given = json.load(sys.stdin)["given"]


def attacks(columns, row, column):
    return any(
        other == column or abs(other - column) == row - above
        for above, other in enumerate(columns)
    )


def complete(columns):
    row = len(columns)
    if row == len(given):
        return columns
    choices = range(len(given)) if given[row] is None else [given[row]]
    for column in choices:
        if not attacks(columns, row, column):
            found = complete(columns + [column])
            if found:
                return found
    return None


print(complete([]))
