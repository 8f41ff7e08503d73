/** Programs that try to communicate. */
import type { HostileProgram } from "./program.ts";

export const network: readonly HostileProgram[] = [
  {
    name: "sockets of every family",
    source: `
for family in range(0, 46):
    for kind in (1, 2, 3, 5):
        attempt("family %d kind %d" % (family, kind), lambda: os.close(call("socket", family, kind, 0)))
`,
  },
  {
    name: "a connection to this machine",
    source: `
import socket
for host in ("127.0.0.1", "localhost", "::1", "0.0.0.0"):
    attempt(host, lambda: socket.create_connection((host, PORT), 1))
`,
  },
  {
    name: "cloud metadata",
    source: `
import socket, urllib.request
for address in ("169.254.169.254", "100.100.100.200", "fd00:ec2::254", "metadata.google.internal"):
    attempt(address, lambda: socket.create_connection((address, 80), 1))
    attempt("http " + address, lambda: urllib.request.urlopen("http://%s/latest/meta-data/" % address, timeout=1))
`,
  },
  {
    name: "names of the network",
    source: `
import socket
attempt("a name", lambda: socket.getaddrinfo("example.com", 80))
attempt("interfaces", lambda: socket.if_nameindex())
`,
  },
  {
    name: "a server of its own",
    source: `
import socket
def serve():
    server = socket.socket()
    server.bind(("0.0.0.0", 0))
    server.listen()
attempt("a server", serve)
`,
  },
  {
    name: "local sockets by name",
    source: `
import socket
for name in ("\\0hostile", "/tmp/socket", "socket", "/run/docker.sock", "/var/run/docker.sock", "/run/dbus/system_bus_socket", "/run/systemd/private"):
    def connect():
        one = socket.socket(socket.AF_UNIX)
        one.connect(name)
    def serve():
        one = socket.socket(socket.AF_UNIX)
        one.bind(name)
    attempt("connect " + name, connect)
    attempt("bind " + name, serve)
`,
  },
  {
    name: "socket pairs of other families",
    source: `
import array
pair = (ctypes.c_int * 2)()
for family in (0, 2, 10, 16, 17, 30, 40):
    attempt("pair of family %d" % family, lambda: call("socketpair", family, 1, 0, ctypes.byref(pair)))
`,
  },
  {
    name: "socket pairs that could send to sockets by name",
    source: `
import socket
for kind in (socket.SOCK_DGRAM, socket.SOCK_RAW):
    attempt("a pair of kind %d" % kind, lambda: socket.socketpair(socket.AF_UNIX, kind))
one, other = socket.socketpair()
one.send(b"x")
print(other.recv(1))
`,
    stdout: /b'x'\n$/,
  },
  {
    name: "sockets past the filter, by io_uring",
    source: `
buffer = ctypes.create_string_buffer(120)
attempt("io_uring", lambda: call("io_uring_setup", 8, buffer))
`,
  },
];
