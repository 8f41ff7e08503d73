"""Reads the request, prepares a workspace, watches limits, collects output and files, answers."""

import os
import select
import signal
import time

from ending import how_it_ended, killed_from_outside, signal_name
from frames import parse_request, read_exactly, read_header, send, send_with
from init import STATUS, run_init
from kernel import PR_SET_PDEATHSIG, call, libc
from outputs import collect
from usage import Usage
from workspace import Place, write_files

# Seconds between measurements: shorter while a program works, longer while it waits.
FIRST_POLL, SHORTEST_POLL, LONGEST_POLL = 0.03, 0.025, 0.2


def supervise(setting, run, size, zygote):
    """Supervises one run; never returns."""
    call(libc.prctl, PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    place = None
    try:
        request = parse_request(read_exactly(setting.control, size))
        request["supervisor"] = os.getpid()
        request["others"] = {1, zygote, os.getpid()}
        place = Place(setting, request["limits"])
        write_files(place.workspace, [("main.py", request["source"]), *request["files"]])
        pipes = Pipes()
        init = os.fork()
        if init == 0:
            for fd in (pipes.stdin[1], pipes.stdout[0], pipes.stderr[0], pipes.status[0], pipes.failure[0]):
                os.close(fd)
            try:
                run_init(setting, request, place, pipes)
            finally:
                os._exit(1)
        for fd in (pipes.stdin[0], pipes.stdout[1], pipes.stderr[1], pipes.status[1], pipes.failure[1]):
            os.close(fd)
        supervisor = Supervisor(setting, run, request, place, init, pipes)
        supervisor.watch()
        supervisor.answer()
    except EOFError:
        pass
    except BaseException as error:
        message = "%s: %s" % (type(error).__name__, error)
        send_with(setting.answers, b"F", run, {"message": message})
    finally:
        if place is not None:
            place.remove()
        os._exit(0)


class Pipes:
    def __init__(self):
        self.stdin, self.stdout, self.stderr, self.status, self.failure = (os.pipe() for _ in range(5))


class Supervisor:
    def __init__(self, setting, run, request, place, init, pipes):
        self.setting, self.run, self.request, self.place, self.init = setting, run, request, place, init
        self.limits = request["limits"]
        self.stdin, self.status, self.failure = pipes.stdin[1], pipes.status[0], pipes.failure[0]
        self.streams = {pipes.stdout[0]: bytearray(), pipes.stderr[0]: bytearray()}
        self.stdout, self.stderr = pipes.stdout[0], pipes.stderr[0]
        self.input = bytearray(request["stdin"])
        self.interactive = request["interactive"]
        self.reason, self.failed, self.report = None, None, b""
        self.usage = Usage(setting, request, place, init)
        self.started = self.asked = self.usage.mark()
        # Seconds for an answer to what a session was sent last.
        self.patience = None
        self.interval = SHORTEST_POLL
        self.next_poll = self.started.time + FIRST_POLL
        self.sent = 0
        os.set_blocking(self.stdin, False)

    def watch(self):
        """Waits until the program and all of its processes have ended."""
        self.poller = select.poll()
        for fd in (*self.streams, self.status, self.setting.control):
            self.poller.register(fd, select.POLLIN)
        self.open = {*self.streams, self.status}
        self.feed()
        while self.open:
            pause = self.pause()
            before = time.monotonic()
            ready = self.poller.poll(pause)
            self.usage.overslept(time.monotonic() - before - pause / 1000)
            for fd, _ in ready:
                self.handle(fd)
            self.check()
        os.waitpid(self.init, 0)

    def pause(self):
        until = min(since.time + seconds for since, seconds in self.deadlines())
        if self.setting.proc is not None:
            until = self.next_poll
        return max(0, (until - time.monotonic()) * 1000)

    def deadlines(self):
        yield self.started, self.limits["wallSeconds"]
        if self.patience is not None:
            yield self.asked, self.patience

    def handle(self, fd):
        if fd == self.setting.control:
            self.obey()
        elif fd == self.stdin:
            self.feed()
        elif fd == self.status:
            self.report += self.read(fd)
        elif fd in self.open:
            self.hear(fd)

    def read(self, fd):
        data = os.read(fd, 65536)
        if not data:
            self.poller.unregister(fd)
            self.open.discard(fd)
        return data

    def hear(self, fd):
        text = self.streams[fd]
        text += self.read(fd)
        if fd == self.stdout and self.interactive:
            self.pass_lines_on(text)
        room = self.limits["outputBytes"] - (self.sent if fd == self.stdout else 0)
        if len(text) > room:
            del text[room:]
            self.kill("output")

    def pass_lines_on(self, text):
        """Lines that were passed on are not kept: a session may last for hours."""
        end = text.rfind(b"\n") + 1
        if end > 0 and self.sent + end <= self.limits["outputBytes"]:
            send(self.setting.answers, b"L", self.run, bytes(text[:end]))
            del text[:end]
            self.sent += end

    def obey(self):
        kind, run, size = read_header(self.setting.control)
        payload = read_exactly(self.setting.control, size)
        if run != self.run:
            return
        if kind == b"C":
            self.kill("cancelled")
        elif kind == b"P":
            send(self.setting.answers, b"P", self.run)
        elif kind == b"T":
            self.patience = float(payload) if payload else None
        elif kind == b"S" and self.stdin is not None:
            self.next_poll = min(self.next_poll, time.monotonic() + FIRST_POLL)
            self.asked, self.patience = self.usage.mark(), None
            self.input += payload
            self.feed()

    def feed(self):
        """Writes as much of the input as fits into the pipe; the rest waits."""
        if self.stdin is None:
            return
        try:
            while self.input:
                del self.input[: os.write(self.stdin, self.input[:65536])]
        except BlockingIOError:
            self.poller.register(self.stdin, select.POLLOUT)
            return
        except BrokenPipeError:
            self.input.clear()
        try:
            self.poller.unregister(self.stdin)
        except KeyError:
            pass
        if not self.interactive:
            os.close(self.stdin)
            self.stdin = None

    def check(self):
        if self.reason is not None:
            return
        if self.setting.proc is not None and time.monotonic() >= self.next_poll:
            before = self.usage.cpu
            exceeded = self.usage.measure()
            if exceeded is not None:
                self.kill(exceeded)
            works = self.usage.cpu > before
            self.interval = SHORTEST_POLL if works else min(LONGEST_POLL, 2 * self.interval)
            self.next_poll = time.monotonic() + self.interval
        for since, seconds in self.deadlines():
            if self.usage.late(since, seconds):
                self.kill("wall-time")
                if self.usage.stopped:
                    self.failed = "somebody stopped it"

    def kill(self, reason):
        """Kills process 1 of the namespace, and thereby all others; the first reason counts."""
        if self.reason is None:
            self.reason = reason
            os.kill(self.init, signal.SIGKILL)

    def answer(self):
        stdout, stderr = bytes(self.streams[self.stdout]), bytes(self.streams[self.stderr])
        status, soft, hard, peak = self.ending()
        code = os.WEXITSTATUS(status) if status is not None and os.WIFEXITED(status) else None
        number = os.WTERMSIG(status) if status is not None and os.WIFSIGNALED(status) else None
        failure = self.failed or os.read(self.failure, 4096).decode("utf-8", "replace")
        if not failure and self.reason is None and killed_from_outside(code, number, self.usage.cpu, hard):
            failure = "somebody killed it, or the machine ran out of memory"
        if not failure and self.reason is None and self.place.is_full():
            failure = "the file system of its workspace is full, make room below the temporary folder"
        if failure:
            send_with(self.setting.answers, b"F", self.run, {"message": failure})
            return
        files = collect(self.place.workspace, self.request["outputs"], self.limits["diskBytes"])
        ended = self.reason or how_it_ended(code, number, stderr, self.usage.cpu, self.limits, soft)
        meta = {
            "ended": ended,
            "exitCode": code if self.reason is None else None,
            "signal": None if number is None or self.reason is not None else signal_name(number),
            "stdout": len(stdout),
            "stderr": len(stderr),
            "files": [[name, len(data)] for name, data in files],
            "seconds": time.monotonic() - self.started.time,
            "cpuSeconds": self.usage.cpu,
            "peakBytes": max(peak, self.usage.peak),
        }
        send_with(self.setting.answers, b"E", self.run, meta, stdout, stderr, *(data for _, data in files))

    def ending(self):
        """Wait status, own limits on processor seconds and peak as reported by process 1; None: it was killed."""
        if len(self.report) < STATUS.size:
            return None, 0, 0, 0
        status, seconds, soft, hard, peak = STATUS.unpack(self.report)
        self.usage.cpu = max(self.usage.cpu, seconds)
        return status, soft, hard, peak
