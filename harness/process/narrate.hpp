// Narration: words about the work go to standard error, data to standard output.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace strobe {

/// "1 case", "2 cases".
std::string counted(std::size_t count, const std::string& thing);

/// To be called before any file is opened: closed standard streams take no file's place, and a reader of one that goes
/// away does not end the program.
void guard_standard_streams();

/// One line on standard error, control characters escaped; where that cannot be written, nothing.
void narrate(const std::string& line);

/// Whole text on standard output, as it is: JSON, or `shown_lines` of text that people read. Throws SystemError when it
/// cannot be written (a full disk behind a redirection), and Told where the reader of a pipe has gone, who wants to
/// hear no more.
void print_data(const std::string& text);

/// Characters of a line of standard output where that is a terminal; 0 where it is none, or does not say.
std::size_t terminal_width();

/// Progress over the cases of a run: "[ 3/18] eta 12s  ID  12.3 ms  ok". Estimates from calendar time, which never
/// enters a result.
class Progress {
 public:
  explicit Progress(std::size_t cases, bool silent);
  /// Shows what is under way, on a terminal only; the finished line replaces it.
  void begin(const std::string& id);
  /// Shows, on a terminal and at most once a second, how far the case under way is: so many of its epochs are done, the
  /// last one's loss (NaN: none), and how long the others may take.
  void epoch(const std::string& id, std::int64_t done, std::int64_t of, double loss);
  /// Counts the case as done and shows its line, which is returned for the log.
  std::string finish(const std::string& id, const std::string& time, const std::string& status,
                     const std::string& reason);

 private:
  std::string head() const;
  std::size_t cases_;
  std::size_t done_ = 0;
  bool silent_;
  bool terminal_;
  double started_, case_started_ = 0, shown_ = 0;
};

}  // namespace strobe
