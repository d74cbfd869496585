// Narration: words about the work go to standard error, data to standard output.
#pragma once

#include <cstddef>
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

/// Progress over the cases of a run: "[ 3/18] eta 12s  ID  12.3 ms  ok". Estimates from calendar time, which never
/// enters a result.
class Progress {
 public:
  explicit Progress(std::size_t cases, bool silent);
  /// Shows what is under way, on a terminal only; the finished line replaces it.
  void begin(const std::string& id);
  /// Counts the case as done and shows its line, which is returned for the log.
  std::string finish(const std::string& id, const std::string& time, const std::string& status,
                     const std::string& reason);

 private:
  std::string head() const;
  std::size_t cases_;
  std::size_t done_ = 0;
  bool silent_;
  bool terminal_;
  double started_;
};

}  // namespace strobe
