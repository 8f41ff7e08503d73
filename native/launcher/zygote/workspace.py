"""A program's workspace: its own file system in memory, or a folder in the scratch folder."""

import os

from kernel import (
    CLONE_NEWNS,
    CLONE_NEWPID,
    MS_BIND,
    MS_NODEV,
    MS_NOEXEC,
    MS_NOSUID,
    MS_RDONLY,
    call,
    libc,
)

# Bytes that a file system has left if it is not full.
LEAST_ROOM = 1 << 20


class Place:
    def __init__(self, setting, limits):
        if setting.namespaces:
            make_box(limits)
            self.workspace, self.temporary = "/workspace", "/tmp"
            self.writable = ["/workspace", "/tmp", "/dev/shm"]
            self.scratch = None
        else:
            # Workers share the folder; a killed one may have left its own.
            self.scratch = os.path.join(setting.scratch, "run-%d" % os.getpid())
            remove_tree(self.scratch)
            self.workspace = os.path.join(self.scratch, "workspace")
            self.temporary = os.path.join(self.scratch, "tmp")
            self.writable = [self.workspace, self.temporary]
            for path in (self.scratch, self.workspace, self.temporary):
                os.mkdir(path, 0o700)

    def is_full(self):
        """Whether the machine has no room for what the program may write: its own file system has all of it."""
        if self.scratch is None:
            return False
        found = os.statvfs(self.scratch)
        return found.f_bavail * found.f_frsize < LEAST_ROOM or (found.f_files > 0 and found.f_favail == 0)

    def remove(self):
        if self.scratch is not None:
            remove_tree(self.scratch)


def make_box(limits):
    """Mounts the writable folders, and an empty folder over the process table; both end with the namespace."""
    call(libc.unshare, CLONE_NEWNS | CLONE_NEWPID)
    options = "size=%d,nr_inodes=%d,mode=700" % (limits["diskBytes"], limits["files"] + 5)
    flags = MS_NOSUID | MS_NODEV | MS_NOEXEC
    call(libc.mount, b"tmpfs", b"/box", b"tmpfs", flags, options.encode())
    for name, target in (("workspace", "/workspace"), ("tmp", "/tmp"), ("shm", "/dev/shm")):
        os.mkdir("/box/" + name, 0o700)
        call(libc.mount, ("/box/" + name).encode(), target.encode(), None, MS_BIND, None)
    call(libc.mount, b"tmpfs", b"/proc", b"tmpfs", flags | MS_RDONLY, b"size=4k,nr_inodes=2,mode=555")


def write_files(workspace, files):
    for name, data in files:
        if not inside(name):
            raise ValueError("not a path inside the workspace: %r" % name)
        path = os.path.join(workspace, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(data)


def inside(name):
    parts = name.split("/")
    return name != "" and not any(part in ("", ".", "..") for part in parts) and "\0" not in name


def remove_tree(root):
    """Moves folders up before it enters them: a program can nest them deeper than recursion, or a path, can reach."""
    folders, moved = [root], 0
    while folders:
        folder = folders.pop()
        for entry in entries_of(folder):
            moved += 1
            target = "%s.%d" % (root, moved)
            try:
                if entry.is_dir(follow_symlinks=False):
                    os.chmod(entry.path, 0o700)
                    os.rename(entry.path, target)
                    folders.append(target)
                else:
                    os.unlink(entry.path)
            except OSError:
                continue
        try:
            os.rmdir(folder)
        except OSError:
            continue


def entries_of(folder):
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []
