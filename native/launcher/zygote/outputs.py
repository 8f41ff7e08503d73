"""The files that a program leaves, after all of its processes have ended."""

import os
import re

DEEPEST = 32  # folders below the workspace whose files can be returned


def collect(workspace, globs, limit):
    """@return names and contents, at most `limit` bytes in total"""
    if not globs:
        return []
    wanted = re.compile("|".join("(?:%s)" % pattern_of(glob) for glob in globs), re.DOTALL)
    collected = []
    for name, path in files_below(workspace):
        try:
            name.encode()
            if wanted.fullmatch(name) is None:
                continue
            with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
                data = file.read(limit + 1)
        except (OSError, UnicodeEncodeError):
            continue
        if len(data) > limit:
            break
        limit -= len(data)
        collected.append((name, data))
    return collected


def pattern_of(glob):
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", glob)
    known = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return "".join(known.get(part) or re.escape(part) for part in parts)


def files_below(folder, prefix="", depth=0):
    """Regular files only, by name; does not follow links or enter deeper folders."""
    with os.scandir(folder) as entries:
        found = sorted(entries, key=lambda entry: entry.name)
    for entry in found:
        if entry.is_file(follow_symlinks=False):
            yield prefix + entry.name, entry.path
        elif entry.is_dir(follow_symlinks=False) and depth < DEEPEST:
            try:
                yield from files_below(entry.path, prefix + entry.name + "/", depth + 1)
            except OSError:
                continue
