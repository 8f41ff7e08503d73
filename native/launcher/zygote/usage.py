"""Processor time, memory and disk of a program's processes, from the worker's process table."""

import os
import re
import stat

from workspace import entries_of

PAGE = os.sysconf("SC_PAGE_SIZE")
TICK = os.sysconf("SC_CLK_TCK")


class Usage:
    def __init__(self, setting, request, place, init):
        self.setting, self.place, self.init = setting, place, init
        self.limits, self.others = request["limits"], request["others"]
        self.cpu, self.peak = 0.0, 0

    def measure(self):
        """@return the limit that is exceeded, or None"""
        processes = self.processes()
        self.cpu = max(self.cpu, sum(seconds for _, seconds, _, _ in processes))
        used = sum(size for _, _, size, _ in processes)
        if used > self.limits["memoryBytes"]:
            used = sum(self.share_of(pid, size) for pid, _, size, _ in processes)
        self.peak = max(self.peak, used)
        if used > self.limits["memoryBytes"] or self.overcrowded(processes):
            return "memory"
        if self.cpu > self.limits["cpuSeconds"]:
            return "cpu-time"
        if self.place.scratch is not None and self.overfull(processes):
            return "disk"
        return None

    def processes(self):
        """Number, processor seconds (including ended children), bytes and threads of each of the program's processes."""
        found = []
        for name in self.candidates():
            if not name.isdigit() or int(name) in self.others:
                continue
            try:
                with open(os.open(name + "/stat", os.O_RDONLY, dir_fd=self.setting.proc), "rb") as file:
                    fields = file.read().rpartition(b")")[2].split()
            except OSError:
                continue
            if self.setting.namespaces or int(fields[1]) in (os.getpid(), self.init):
                seconds = sum(map(int, fields[11:15])) / TICK
                size = 0 if int(name) == self.init else int(fields[21]) * PAGE
                found.append((name, seconds, size, int(fields[17])))
        return found

    def overcrowded(self, processes):
        """Without namespaces, the kernel cannot limit threads: programs share their user. Each takes memory of the kernel."""
        if self.setting.namespaces:
            return False
        threads = sum(count for pid, _, _, count in processes if int(pid) != self.init)
        return threads > self.limits["processes"] + 1

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

    def share_of(self, pid, size):
        """Bytes of a process; shared memory counts once."""
        try:
            with open(os.open(pid + "/smaps_rollup", os.O_RDONLY, dir_fd=self.setting.proc), "rb") as file:
                found = re.search(rb"^Pss:\s+(\d+) kB", file.read(), re.MULTILINE)
            return int(found.group(1)) * 1024
        except (OSError, AttributeError):
            return size

    def overfull(self, processes):
        total, count = sum(self.unnamed(pid) for pid, _, _, _ in processes), 0
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
        for name in self.files_of(pid):
            try:
                found = os.stat("%s/fd/%s" % (pid, name), dir_fd=self.setting.proc)
            except OSError:
                continue  # It has just been closed.
            if stat.S_ISREG(found.st_mode) and found.st_nlink == 0:
                sizes[found.st_ino] = found.st_blocks * 512
        return sum(sizes.values())

    def files_of(self, pid):
        """Numbers of a process's open files."""
        try:
            folder = os.open(pid + "/fd", os.O_RDONLY, dir_fd=self.setting.proc)
        except OSError:
            return []
        try:
            return os.listdir(folder)
        except OSError:
            return []
        finally:
            os.close(folder)
