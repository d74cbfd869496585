// Progress messages go to standard error, data to standard output.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace strobe {

/// "1 case", "2 cases".
std::string counted(std::size_t count, const std::string& thing);

/// Protects the standard streams; call it before any file is opened. A file opened later cannot take the descriptor of
/// a closed stream. The program does not end when the reader of a pipe goes away.
void guard_standard_streams();

/// Writes one line on standard error, with control characters escaped. Does nothing if the stream cannot be written.
void narrate(const std::string& line);

/// Writes the whole text on standard output, unchanged: JSON, or `shown_lines` of text for people. Throws SystemError
/// when it cannot be written (such as a full disk after a redirection). Throws AlreadyReported when the reader of a
/// pipe has gone and wants no more output.
void print_data(const std::string& text);

/// Width in characters of the terminal on standard output. Returns 0 when it is not a terminal or its width is unknown.
std::size_t terminal_width();

/// Progress over the cases of a run: "[ 3/18] eta 12s  ID  12.3 ms  ok". Estimates from calendar time, which never
/// enters a result.
class Progress {
 public:
  explicit Progress(std::size_t cases, bool silent);
  /// Shows the running case, on a terminal only. The finished line replaces it.
  void begin(const std::string& id);
  /// Shows the progress of the running case, on a terminal and at most once a second: the number of finished epochs,
  /// the last one's loss (NaN: none), and an estimate for the remaining epochs.
  void epoch(const std::string& id, std::int64_t done, std::int64_t of, double loss);
  /// Counts the case as done and shows its line. Returns the line for the log.
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
