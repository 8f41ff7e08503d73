#include "signals.h"

#if defined(__unix__) || defined(__APPLE__)
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <ctime>

namespace troupe {

namespace {

constexpr int watched[] = {SIGINT, SIGTERM};
constexpr int interrupted = 130;
// Signals this close together are one key press, which npm passes on a second time (src/cli/exit.ts).
constexpr int64_t same_press = 500;
// Time for JavaScript to notice the first signal, and to end the process after the second.
constexpr unsigned notice_seconds = 10;
constexpr unsigned exit_seconds = 2;

struct sigaction node_action[2];  // of the watched signals
std::atomic<int64_t> first_signal{0};
std::atomic<bool> is_ending{false};
bool is_terminal = false;

int64_t milliseconds() {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{1000} * now.tv_sec + now.tv_nsec / 1000000;
}

// Only functions that are safe in a signal handler.
void end_process(int) {
  static const char show_cursor[] = "\x1b[?25h\n";
  static const char said[] = "stopped at once; the same command resumes after the last checkpoint\n";
  if (is_terminal && write(STDOUT_FILENO, show_cursor, sizeof show_cursor - 1) < 0) _exit(interrupted);
  if (write(STDERR_FILENO, said, sizeof said - 1) < 0) _exit(interrupted);
  _exit(interrupted);
}

void on_signal(int signal) {
  const int saved = errno;
  const int64_t now = milliseconds();
  int64_t none = 0;
  if (first_signal.compare_exchange_strong(none, now)) {
    alarm(notice_seconds);
  } else if (now - none >= same_press) {
    if (is_ending.exchange(true)) end_process(signal);
    alarm(exit_seconds);
  }
  node_action[signal == SIGTERM].sa_handler(signal);
  errno = saved;
}

bool is_ours(const struct sigaction& action) { return action.sa_handler == on_signal; }

// Node's own handler, which wakes JavaScript, is called by ours. Without one the process ends anyway.
void watch(int signal) {
  struct sigaction action;
  if (sigaction(signal, nullptr, &action) != 0 || is_ours(action)) return;
  if (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN) return;
  node_action[signal == SIGTERM] = action;
  first_signal = 0;
  is_ending = false;
  action.sa_handler = on_signal;
  sigaction(signal, &action, nullptr);
}

void watch_signals(const Napi::CallbackInfo&) {
  is_terminal = isatty(STDOUT_FILENO) == 1;
  struct sigaction ended = {};
  ended.sa_handler = end_process;
  sigaction(SIGALRM, &ended, nullptr);
  for (int signal : watched) watch(signal);
}

// JavaScript runs: it will end the process itself, or is asked a second time.
void signal_seen(const Napi::CallbackInfo&) {
  if (!is_ending) alarm(0);
}

// The process ends now, or does not for a thread that it waits for.
void end_soon(const Napi::CallbackInfo&) {
  struct sigaction ended = {};
  ended.sa_handler = end_process;
  sigaction(SIGALRM, &ended, nullptr);
  alarm(exit_seconds);
}

}  // namespace

void define_signals(Napi::Env env, Napi::Object exports) {
  exports.Set("watchSignals", Napi::Function::New(env, watch_signals));
  exports.Set("signalSeen", Napi::Function::New(env, signal_seen));
  exports.Set("endSoon", Napi::Function::New(env, end_soon));
}

}  // namespace troupe

#else

namespace troupe {

void define_signals(Napi::Env env, Napi::Object exports) {
  const auto nothing = [](const Napi::CallbackInfo&) {};
  exports.Set("watchSignals", Napi::Function::New(env, nothing));
  exports.Set("signalSeen", Napi::Function::New(env, nothing));
  exports.Set("endSoon", Napi::Function::New(env, nothing));
}

}  // namespace troupe
#endif
