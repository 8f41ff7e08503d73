"""What the worker found at its start; the same for all runs."""

import base64
import os

from confinement import landlock_version


class Setting:
    def __init__(self, control, answers, options):
        self.control, self.answers = control, answers
        self.namespaces = options["namespaces"]
        self.filter = base64.b64decode(options["filter"])
        self.readable = options["readable"]
        self.scratch = options["scratch"]
        self.variables = options.get("variables", {})
        # Address space that imported libraries take: no program has it for itself.
        self.base = 0
        self.landlock = landlock_version()
        self.proc = open_proc()


def open_proc():
    """The worker's process table: programs cannot see it, supervisors read it through this descriptor."""
    try:
        proc = os.open("/proc", os.O_RDONLY | os.O_DIRECTORY)
        return proc if "self" in os.listdir(proc) else None
    except OSError:
        return None
