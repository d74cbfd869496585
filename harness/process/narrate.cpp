#include "harness/process/narrate.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>

#include "core/errors.hpp"
#include "core/shown_text.hpp"
#include "harness/process/failure.hpp"

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

/// If messages cannot be shown (a full disk, a closed descriptor, a reader that is gone), the work still continues.
void say(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stderr) != text.size()) std::clearerr(stderr);
}

/// Opens /dev/null as descriptor `number` if it is closed. Otherwise a file opened later would get that number, and the
/// messages written into it.
void occupy(int number) {
  if (fcntl(number, F_GETFD) != -1 || errno != EBADF) return;
  // Opens it only for reading, so that writing fails as on a closed descriptor. open() returns the lowest free number,
  // which is this one.
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
  if (errno == EPIPE) throw AlreadyReported(128 + SIGPIPE);
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

namespace {

std::size_t width_of_terminal(int descriptor) {
  winsize size{};
  return isatty(descriptor) == 1 && ioctl(descriptor, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

/// Cuts the id to fit one line, because the next line could not replace a line that wraps. The end of the id matters
/// least.
std::string on_one_line(const std::string& head, const std::string& id, const std::string& news) {
  const std::size_t width = width_of_terminal(STDERR_FILENO), taken = head.size() + news.size() + 5;
  const std::string shown = shown_line(id);
  if (width == 0 || taken + shown.size() <= width) return fmt::format("{}  {}  {}", head, shown, news);
  const std::size_t left = width > taken ? width - taken : 0;
  return fmt::format(
             "{}  {}  {}", head,
             left == 0 ? "" : ".." + shown.substr(shown.size() - std::min(shown.size(), left > 2 ? left - 2 : 0)), news)
      .substr(0, width - 1);
}

}  // namespace

std::size_t terminal_width() { return width_of_terminal(STDOUT_FILENO); }

void Progress::epoch(const std::string& id, std::int64_t done, std::int64_t of, double loss) {
  const double now = calendar_seconds();
  if (silent_ || !terminal_ || now <= shown_ || now <= case_started_) return;
  shown_ = now;
  std::string words = fmt::format("epoch {} of {}", done, of);
  if (std::isfinite(loss)) words += fmt::format(", loss {:.4g}", loss);
  const double left = (now - case_started_) * static_cast<double>(of - done) / static_cast<double>(done);
  if (done > 0 && done < of) words += fmt::format(", {} left", short_duration(left));
  say("\r\x1b[K" + on_one_line(head(), id, words));
}

void Progress::begin(const std::string& id) {
  case_started_ = calendar_seconds();
  if (!silent_ && terminal_) say("\r\x1b[K" + on_one_line(head(), id, "..."));
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
