"""Reads the request, prepares a workspace, watches limits, collects output and files, answers."""

import os
import select
import signal
import time

from ending import how_it_ended, signal_name
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
        self.reason, self.report = None, b""
        self.usage = Usage(setting, request, place, init)
        self.started = time.monotonic()
        self.interval = SHORTEST_POLL
        self.next_poll = self.started + FIRST_POLL
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
            for fd, _ in self.poller.poll(self.pause()):
                self.handle(fd)
            self.check()
        os.waitpid(self.init, 0)

    def pause(self):
        deadline = self.started + self.limits["wallSeconds"]
        until = deadline if self.setting.proc is None else min(deadline, self.next_poll)
        return max(0, (until - time.monotonic()) * 1000)

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
        elif kind == b"S" and self.stdin is not None:
            self.next_poll = min(self.next_poll, time.monotonic() + FIRST_POLL)
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
        now = time.monotonic()
        if now >= self.started + self.limits["wallSeconds"]:
            self.kill("wall-time")
        elif self.setting.proc is not None and now >= self.next_poll and self.reason is None:
            before = self.usage.cpu
            exceeded = self.usage.measure()
            if exceeded is not None:
                self.kill(exceeded)
            works = self.usage.cpu > before
            self.interval = SHORTEST_POLL if works else min(LONGEST_POLL, 2 * self.interval)
            self.next_poll = time.monotonic() + self.interval

    def kill(self, reason):
        """Kills process 1 of the namespace, and thereby all others; the first reason counts."""
        if self.reason is None:
            self.reason = reason
            os.kill(self.init, signal.SIGKILL)

    def answer(self):
        stdout, stderr = bytes(self.streams[self.stdout]), bytes(self.streams[self.stderr])
        status, peak = self.ending()
        code = os.WEXITSTATUS(status) if status is not None and os.WIFEXITED(status) else None
        failure = os.read(self.failure, 4096)
        if failure:
            send_with(self.setting.answers, b"F", self.run, {"message": failure.decode("utf-8", "replace")})
            return
        number = os.WTERMSIG(status) if status is not None and os.WIFSIGNALED(status) else None
        files = collect(self.place.workspace, self.request["outputs"], self.limits["diskBytes"])
        ended = self.reason or how_it_ended(code, number, stderr, self.usage.cpu, self.limits)
        meta = {
            "ended": ended,
            "exitCode": code if self.reason is None else None,
            "signal": None if number is None or self.reason is not None else signal_name(number),
            "stdout": len(stdout),
            "stderr": len(stderr),
            "files": [[name, len(data)] for name, data in files],
            "seconds": time.monotonic() - self.started,
            "peakBytes": max(peak, self.usage.peak),
        }
        send_with(self.setting.answers, b"E", self.run, meta, stdout, stderr, *(data for _, data in files))

    def ending(self):
        """Wait status and peak as reported by process 1; None: it was killed."""
        if len(self.report) < STATUS.size:
            return None, 0
        status, seconds, _, peak = STATUS.unpack(self.report)
        self.usage.cpu = max(self.usage.cpu, seconds)
        return status, peak
