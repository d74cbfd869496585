#include "harness/cli/narrate.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>

#include "core/errors.hpp"
#include "core/shown_text.hpp"
#include "harness/cli/command.hpp"

namespace strobe {
namespace {

// calendar: an estimate for the reader, never part of a result
double calendar_seconds() { return static_cast<double>(std::time(nullptr)); }

std::string short_duration(double seconds) {
  const auto whole = static_cast<long>(seconds + 0.5);
  if (whole < 60) return fmt::format("{}s", whole);
  if (whole < 3600) return fmt::format("{}m{:02}s", whole / 60, whole % 60);
  return fmt::format("{}h{:02}m", whole / 3600, whole / 60 % 60);
}

/// Words that cannot be shown (a full disk, a closed descriptor, a reader that is gone) are no reason to end the work.
void say(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stderr) != text.size()) std::clearerr(stderr);
}

/// Gives descriptor `number` to nothing when it is closed: a file opened later would get it, and words written into it.
void occupy(int number) {
  if (fcntl(number, F_GETFD) != -1 || errno != EBADF) return;
  // Only for reading, so that writing fails as it does on a closed one. The lowest free number is given, which this is.
  const int given = open("/dev/null", O_RDONLY);
  if (given != number && given >= 0) close(given);
}

}  // namespace

void guard_standard_streams() {
  for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) occupy(number);
  std::signal(SIGPIPE, SIG_IGN);  // a write into a pipe without a reader fails instead
  std::signal(SIGXFSZ, SIG_IGN);  // and so does one beyond the largest size of a file (ulimit -f)
}

std::string counted(std::size_t count, const std::string& thing) {
  return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
}

void narrate(const std::string& line) { say(shown_line(line) + "\n"); }

void print_data(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) return;
  if (errno == EPIPE) throw Told(128 + SIGPIPE);
  throw SystemError(fmt::format("cannot write to standard output: {}", std::strerror(errno)));
}

Progress::Progress(std::size_t cases, bool silent)
    : cases_(cases), silent_(silent), terminal_(isatty(STDERR_FILENO) == 1), started_(calendar_seconds()) {}

std::string Progress::head() const {
  const std::size_t width = std::to_string(cases_).size();
  std::string eta = "  -";
  if (done_ > 0) {
    const double each = (calendar_seconds() - started_) / static_cast<double>(done_);
    eta = short_duration(each * static_cast<double>(cases_ - done_));
  }
  return fmt::format("[{:>{}}/{}] eta {:<6}", done_, width, cases_, eta);
}

void Progress::begin(const std::string& id) {
  if (!silent_ && terminal_) say(fmt::format("\r\x1b[K{}  {} ...", head(), shown_line(id)));
}

std::string Progress::finish(const std::string& id, const std::string& time, const std::string& status,
                             const std::string& reason) {
  ++done_;
  const std::string words =
      fmt::format("{}  {}  {}  {}{}", head(), id, time, status, reason.empty() ? "" : ": " + reason);
  const std::string line = shown_line(words) + "\n";
  if (!silent_) say((terminal_ ? "\r\x1b[K" : "") + line);
  return line;
}

}  // namespace strobe
