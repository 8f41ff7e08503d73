// Starts a program in a sandbox of its own: namespaces, a small read-only root, no capabilities outside.
//
//   launcher [--ro PATH]... [--link TARGET PATH]... [--file SOURCE PATH]... [--user ID] -- PROGRAM [ARGUMENT]...
//   launcher --no-namespaces [--user ID] -- PROGRAM [ARGUMENT]...
//
// The program is process 1 of its namespace and root in a user namespace that maps root to an ordinary user, so that it can
// give each of the programs it runs namespaces of their own (zygote/). The root has what --ro, --link and --file name,
// /dev with five devices, /proc, and empty folders to mount on: /box, /workspace, /tmp, /dev/shm. No network, no way out of
// the file system: the old root is unmounted. Started by root, it becomes the user --user, to whom no file should belong.
// Without namespaces it only changes the user and forbids new privileges: the rest is the program's own (Landlock, seccomp).
//
// Exit code: the program's; 128 + signal; 70 where the sandbox cannot be made, with one sentence on standard error.
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

struct Bind {
  std::string source;
  std::string target;
  int fd = -1;
};

struct Options {
  bool namespaces = true;
  // Whom root becomes; none: who started it.
  std::optional<uid_t> user;
  std::vector<Bind> binds;
  std::vector<std::pair<std::string, std::string>> links;
  char** program = nullptr;
};

[[noreturn]] void fail(const std::string& what) {
  const int code = errno;
  std::fprintf(stderr, "launcher: %s%s%s\n", what.c_str(), code ? ": " : "", code ? std::strerror(code) : "");
  _exit(70);
}

void check(long result, const std::string& what) {
  if (result < 0) fail(what);
}

Options parse(int count, char** arguments) {
  Options options;
  int at = 1;
  const auto next = [&]() -> const char* {
    errno = 0;
    if (++at >= count) fail("an argument is missing; see the head of native/launcher/main.cc");
    return arguments[at];
  };
  for (; at < count && std::strcmp(arguments[at], "--") != 0; at++) {
    const std::string option = arguments[at];
    if (option == "--no-namespaces") {
      options.namespaces = false;
    } else if (option == "--user") {
      options.user = static_cast<uid_t>(std::strtoul(next(), nullptr, 10));
    } else if (option == "--ro") {
      const std::string path = next();
      options.binds.push_back({path, path});
    } else if (option == "--file") {
      const std::string source = next();
      options.binds.push_back({source, next()});
    } else if (option == "--link") {
      const std::string target = next();
      options.links.emplace_back(target, next());
    } else {
      errno = 0;
      fail("unknown option " + option);
    }
  }
  errno = 0;
  if (at + 1 >= count) fail("no program given");
  options.program = arguments + at + 1;
  return options;
}

void write_file(const std::string& path, const std::string& text) {
  const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  check(fd, path);
  check(write(fd, text.data(), text.size()), path);
  close(fd);
}

// Makes this process end when its parent does. `parent` may have ended before the call.
void end_with_parent(pid_t parent) {
  check(prctl(PR_SET_PDEATHSIG, SIGKILL), "prctl");
  if (parent != 0 && getppid() != parent) _exit(70);
}

// The kernel, short of memory, ends the sandbox first. Not all systems let it be said.
void volunteer_for_the_oom_killer() {
  const int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  if (write(fd, "1000", 4) < 0) errno = 0;
  close(fd);
}

void make_folders(const std::string& path) {
  for (size_t at = path.find('/', 1); at != std::string::npos; at = path.find('/', at + 1)) {
    const std::string folder = path.substr(0, at);
    if (mkdir(folder.c_str(), 0755) < 0 && errno != EEXIST) fail(folder);
  }
}

// What a bind mount lies on: a folder or an empty file, as its source is.
void make_target(const std::string& path, int source) {
  struct stat status;
  check(fstat(source, &status), path);
  make_folders(path);
  if (S_ISDIR(status.st_mode)) {
    if (mkdir(path.c_str(), 0755) < 0 && errno != EEXIST) fail(path);
  } else {
    const int fd = open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
    check(fd, path);
    close(fd);
  }
}

struct MountAttributes {
  unsigned long long set = 0, clear = 0, propagation = 0, user = 0;
};
constexpr unsigned long long read_only = 1, no_set_user = 2, no_devices = 4;
constexpr long mount_setattr_number = 442;
constexpr int recursive = 0x8000;

void set_attributes(const std::string& path, unsigned long long attributes, int flags) {
  MountAttributes wanted;
  wanted.set = attributes;
  check(syscall(mount_setattr_number, AT_FDCWD, path.c_str(), flags, &wanted, sizeof wanted),
        "mount_setattr of " + path + " (Linux 5.12 or newer is needed)");
}

void bind(const Bind& one, const std::string& root, unsigned long long attributes) {
  const std::string target = root + one.target;
  make_target(target, one.fd);
  const std::string source = "/proc/self/fd/" + std::to_string(one.fd);
  check(mount(source.c_str(), target.c_str(), nullptr, MS_BIND | MS_REC, nullptr), "binding " + one.source);
  set_attributes(target, attributes, recursive);
  close(one.fd);
}

void open_sources(std::vector<Bind>& binds) {
  for (const char* device : {"null", "zero", "full", "random", "urandom"})
    binds.push_back({std::string("/dev/") + device, std::string("/dev/") + device});
  for (Bind& one : binds) check(one.fd = open(one.source.c_str(), O_PATH | O_CLOEXEC), one.source);
}

// A file system in memory with the binds and links, which then becomes the root; the old one is unmounted.
void change_root(Options& options) {
  check(sethostname("sandbox", 7), "sethostname");
  check(mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr), "making mounts private");
  open_sources(options.binds);
  const std::string root = "/tmp";
  check(mount("tmpfs", root.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, "size=1m,mode=755"), "mounting the root");
  for (const char* folder : {"/box", "/workspace", "/tmp", "/proc", "/dev", "/dev/shm"})
    check(mkdir((root + folder).c_str(), 0755), folder);
  for (const Bind& one : options.binds) {
    const bool device = one.target.rfind("/dev/", 0) == 0;
    bind(one, root, device ? no_set_user : read_only | no_set_user | no_devices);
  }
  for (const auto& [target, path] : options.links) {
    make_folders(root + path);
    check(symlink(target.c_str(), (root + path).c_str()), path);
  }
  // Where /proc is masked, as in some containers, there is none; the limits are then those of single processes.
  if (mount("proc", (root + "/proc").c_str(), "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) < 0) errno = 0;
  check(chdir(root.c_str()), root);
  check(syscall(SYS_pivot_root, ".", "."), "pivot_root");
  check(umount2(".", MNT_DETACH), "unmounting the old root");
  check(chdir("/"), "/");
  set_attributes("/", read_only | no_set_user, 0);
}

void become(uid_t user) {
  check(setgroups(0, nullptr), "setgroups");
  check(setresgid(user, user, user), "setresgid");
  check(setresuid(user, user, user), "setresuid");
}

void start(const Options& options) {
  const rlimit none = {0, 0};
  check(setrlimit(RLIMIT_CORE, &none), "setrlimit");
  check(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs");
  execv(options.program[0], options.program);
  fail(std::string("starting ") + options.program[0]);
}

// One byte through a pipe, from one of the two processes to the other.
struct Signal {
  int ends[2];
  Signal() { check(pipe2(ends, O_CLOEXEC), "pipe"); }
  void send() const { check(write(ends[1], "", 1), "write"); }
  void wait() const {
    char byte;
    errno = 0;
    if (read(ends[0], &byte, 1) != 1) _exit(70);
  }
};

// Process 1. Root makes the file system first, with the right to read all of it, and gives its user up afterwards.
[[noreturn]] void run_inside(Options& options, bool root, const Signal& ready, const Signal& mapped) {
  close(ready.ends[0]);
  close(mapped.ends[1]);
  end_with_parent(0);
  if (root) {
    change_root(options);
    become(*options.user);
    check(unshare(CLONE_NEWUSER | CLONE_NEWNS), "making a user namespace");
  }
  ready.send();
  mapped.wait();
  if (!root) change_root(options);
  end_with_parent(0);
  start(options);
  _exit(70);
}

// In the user namespace, the user is root; outside, it is what it was.
void map_user(pid_t child, uid_t user, gid_t group) {
  const std::string folder = "/proc/" + std::to_string(child);
  write_file(folder + "/setgroups", "deny");
  write_file(folder + "/uid_map", "0 " + std::to_string(user) + " 1");
  write_file(folder + "/gid_map", "0 " + std::to_string(group) + " 1");
}

int wait_for(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) fail("waitpid");
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int run_in_namespaces(Options& options) {
  const bool root = geteuid() == 0 && options.user;
  const Signal ready, mapped;
  const int flags =
      CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | (root ? 0 : CLONE_NEWUSER);
  const pid_t child = static_cast<pid_t>(syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0));
  check(child, "making namespaces");
  if (child == 0) run_inside(options, root, ready, mapped);
  close(ready.ends[1]);
  close(mapped.ends[0]);
  // Its own pipes end where the child's do: the child's end is heard.
  for (int fd : {0, 1}) close(fd);
  char byte;
  if (read(ready.ends[0], &byte, 1) == 1) {
    root ? map_user(child, *options.user, *options.user) : map_user(child, geteuid(), getegid());
    mapped.send();
  }
  return wait_for(child);
}

}  // namespace

int main(int count, char** arguments) {
  Options options = parse(count, arguments);
  end_with_parent(getppid());
  volunteer_for_the_oom_killer();
  for (int fd = 3; fd < 1024; fd++) close(fd);
  errno = 0;
  if (options.namespaces) return run_in_namespaces(options);
  if (options.user) become(*options.user);
  end_with_parent(0);
  start(options);
}
