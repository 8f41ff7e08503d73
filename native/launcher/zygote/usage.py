"""Processor time, memory and disk of a program's processes, from the worker's process table."""

import collections
import os
import re
import stat
import time

from workspace import entries_of

PAGE = os.sysconf("SC_PAGE_SIZE")
TICK = os.sysconf("SC_CLK_TCK")


# A moment: the clock, and the seconds that a program had used and had waited for a processor.
Mark = collections.namedtuple("Mark", "time cpu delay")

# One process: seconds include those of its ended children.
Process = collections.namedtuple("Process", "pid state seconds bytes threads")

# Seconds by which a timer is not late on a machine that runs.
LATE = 0.5

# What the buffers of one socket may hold: twice the default of Linux, which the filter does not let programs change.
SOCKET = 2 * 212_992


class Usage:
    def __init__(self, setting, request, place, init):
        self.setting, self.place, self.init = setting, place, init
        self.limits, self.others = request["limits"], request["others"]
        self.cpu, self.delay, self.asleep, self.peak, self.stopped = 0.0, 0.0, 0.0, 0, False

    def mark(self):
        return Mark(time.monotonic(), self.cpu, self.delay + self.asleep)

    def overslept(self, seconds):
        """Whoever measures was itself late by so much: with it, the program was stopped, or the machine was."""
        if seconds > LATE:
            self.asleep += seconds

    def late(self, since, seconds):
        """
        Whether so many seconds have passed since a mark, not counting those in which other work kept the processors
        busy. A program's own threads make it wait no longer than they ran.
        """
        busy = (self.delay + self.asleep - since.delay) - (self.cpu - since.cpu)
        return time.monotonic() - since.time >= seconds + max(0, busy)

    def measure(self):
        """@return the limit that is exceeded, or None"""
        processes = self.processes()
        self.cpu = max(self.cpu, sum(one.seconds for one in processes))
        self.delay = max([self.delay, *(self.delay_of(one.pid) for one in processes)])
        # A program cannot stop its main process, nor process 1.
        self.stopped = any(one.state == b"T" for one in processes[:2])
        sockets = self.sockets(processes)
        used = sockets + sum(one.bytes for one in processes)
        if used > self.limits["memoryBytes"]:
            used = sockets + sum(self.share_of(one) for one in processes)
        self.peak = max(self.peak, used)
        if used > self.limits["memoryBytes"] or self.overcrowded(processes):
            return "memory"
        if self.cpu > self.limits["cpuSeconds"]:
            return "cpu-time"
        if self.place.scratch is not None and self.overfull(processes):
            return "disk"
        return None

    def processes(self):
        """The program's processes, the oldest first: process 1, then the main process."""
        found = []
        for name in self.candidates():
            if not name.isdigit() or int(name) in self.others:
                continue
            fields = self.stat(name)
            if fields is None or not (self.setting.namespaces or int(fields[1]) in (os.getpid(), self.init)):
                continue
            threads = int(fields[17])
            # Where the main thread has ended, only the others know the memory.
            size = self.thread_bytes(name) if fields[0] == b"Z" and threads > 1 else int(fields[21]) * PAGE
            seconds = sum(map(int, fields[11:15])) / TICK
            found.append((int(fields[19]), Process(name, fields[0], seconds, 0 if int(name) == self.init else size, threads)))
        return [process for _, process in sorted(found, key=lambda one: (one[0], int(one[1].pid)))]

    def stat(self, path):
        """The fields of a process or thread from its state on (the third in `man proc`); None: it has ended."""
        text = self.read(path + "/stat")
        return text.rpartition(b")")[2].split() or None

    def read(self, path):
        try:
            with open(os.open(path, os.O_RDONLY, dir_fd=self.setting.proc), "rb") as file:
                return file.read()
        except OSError:
            return b""

    def names_in(self, path):
        try:
            folder = os.open(path, os.O_RDONLY, dir_fd=self.setting.proc)
        except OSError:
            return []
        try:
            return os.listdir(folder)
        except OSError:
            return []
        finally:
            os.close(folder)

    def thread_bytes(self, pid):
        """Of the first thread that has not ended."""
        stats = (self.stat("%s/task/%s" % (pid, thread)) for thread in self.names_in(pid + "/task"))
        return next((int(fields[21]) * PAGE for fields in stats if fields and int(fields[21]) > 0), 0)

    def delay_of(self, pid):
        """Seconds in which its main thread could have run, had there been a processor."""
        fields = self.read(pid + "/schedstat").split()
        return int(fields[1]) / 1e9 if len(fields) > 1 else 0.0

    def sockets(self, processes):
        """Bytes that the buffers of open sockets may hold: they are the kernel's, and in no process's memory."""
        found = set()
        for one in processes:
            # The interpreter has a handful of files open; a socket counts little beside the limit.
            for name in self.names_in(one.pid + "/fd") if int(one.pid) != self.init else []:
                try:
                    target = os.readlink("%s/fd/%s" % (one.pid, name), dir_fd=self.setting.proc)
                except OSError:
                    continue
                if target.startswith("socket:"):
                    found.add(target)
        return SOCKET * len(found)

    def overcrowded(self, processes):
        """Without namespaces, the kernel cannot limit threads: programs share their user. Each takes memory of the kernel."""
        if self.setting.namespaces:
            return False
        return sum(one.threads for one in processes if int(one.pid) != self.init) > self.limits["processes"] + 1

    def candidates(self):
        """All processes of the worker; without namespaces that would be all of the machine, so only init and its children."""
        if not self.setting.namespaces:
            try:
                children = "%d/task/%d/children" % (self.init, self.init)
                with open(os.open(children, os.O_RDONLY, dir_fd=self.setting.proc)) as file:
                    return [str(self.init), *file.read().split()]
            except OSError:
                pass  # Not every kernel lists them.
        return os.listdir(self.setting.proc)

    def share_of(self, process):
        """Bytes of a process; shared memory counts once."""
        if process.state == b"Z":
            return process.bytes
        found = re.search(rb"^Pss:\s+(\d+) kB", self.read(process.pid + "/smaps_rollup"), re.MULTILINE)
        return process.bytes if found is None else int(found.group(1)) * 1024

    def overfull(self, processes):
        total, count = sum(self.unnamed(one.pid) for one in processes), 0
        folders = [self.place.scratch]
        while folders:
            for entry in entries_of(folders.pop()):
                count += 1
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                    continue
                try:
                    total += entry.stat(follow_symlinks=False).st_blocks * 512
                except OSError:
                    continue
        return total > self.limits["diskBytes"] or count > self.limits["files"] + 5

    def unnamed(self, pid):
        """Bytes of a process's open files that have been removed."""
        sizes = {}
        for name in self.names_in(pid + "/fd"):
            try:
                found = os.stat("%s/fd/%s" % (pid, name), dir_fd=self.setting.proc)
            except OSError:
                continue  # It has just been closed.
            if stat.S_ISREG(found.st_mode) and found.st_nlink == 0:
                sizes[found.st_ino] = found.st_blocks * 512
        return sum(sizes.values())
