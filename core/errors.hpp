// Error types by cause. Library code throws these and never prints or exits; harness/cli maps each type to an exit
// status.
#pragma once

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace strobe {

/// Base of every error that Strobe throws on purpose. `what()` is one complete sentence for the user.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A file's content is wrong. `what()` reads "FILE:LINE:COLUMN: message"; line and column are 1-based, 0 when unknown.
class InvalidInput : public Error {
 public:
  InvalidInput(std::string file, std::uint64_t line, std::uint64_t column, const std::string& message);
  const std::string& file() const { return file_; }
  std::uint64_t line() const { return line_; }
  std::uint64_t column() const { return column_; }

 private:
  std::string file_;
  std::uint64_t line_;
  std::uint64_t column_;
};

/// The request itself is wrong. `where` is the option ("--ranks") or JSON pointer ("/cases/0/model/window").
class InvalidRequest : public Error {
 public:
  InvalidRequest(std::string where, const std::string& message);
  /// Several mistakes at once; at least two. `where` is that of the first; `message` lists all.
  explicit InvalidRequest(std::vector<InvalidRequest> all);
  const std::string& where() const { return where_; }
  /// The reason, without `where`.
  const std::string& message() const { return message_; }
  /// Every mistake, if there are several; else empty.
  const std::vector<InvalidRequest>& all() const { return all_; }
  /// The results of `change` for every mistake, as one exception.
  InvalidRequest each(const std::function<InvalidRequest(const InvalidRequest&)>& change) const;

 private:
  std::string where_;
  std::string message_;
  std::vector<InvalidRequest> all_;
};

/// Collects what is wrong with a file or request, so that its author sees all mistakes at once.
class Complaints {
 public:
  /// Calls `check` and keeps the InvalidRequest that it throws, unless the same mistake is there already.
  void hear(const std::function<void()>& check);
  /// Throws what was kept: one mistake as it was, several as one InvalidRequest. Does nothing without any.
  void raise() const;
  bool empty() const { return kept_.empty(); }

 private:
  std::vector<InvalidRequest> kept_;
};

/// This machine lacks a backend, device, library or number of ranks that was asked for.
class Unavailable : public Error {
 public:
  using Error::Error;
};

/// The operating system or a library call failed (disk full, permission, MPI, CUDA).
class SystemError : public Error {
 public:
  using Error::Error;
};

/// Two results cannot be compared: they come from different machines or workloads, or share no case.
class NotComparable : public Error {
 public:
  using Error::Error;
};

/// An allocation would exceed the memory limit of a device. A case that throws it becomes a row, not a crash.
class OutOfMemory : public Error {
 public:
  OutOfMemory(int rank, std::uint64_t requested_bytes, std::uint64_t live_bytes, std::uint64_t limit_bytes);
  /// For a refusal by a library or driver, which names neither the rank (-1) nor bytes.
  explicit OutOfMemory(const std::string& answer);
  int rank() const { return rank_; }

 private:
  int rank_;
};

/// A collective did not complete before its deadline; `missing` are the ranks that never entered it.
class CollectiveTimeout : public Error {
 public:
  CollectiveTimeout(const std::string& collective, int rank, double seconds, std::vector<int> missing);
  const std::vector<int>& missing() const { return missing_; }

 private:
  std::vector<int> missing_;
};

/// Another rank failed first; this rank stops because it can never complete its collective.
class PeerFailed : public Error {
 public:
  using Error::Error;
};

/// The user interrupted the run (SIGINT or SIGTERM); `signal` is the signal's number.
class Interrupted : public Error {
 public:
  explicit Interrupted(int signal);
  int signal() const { return signal_; }

 private:
  int signal_;
};

/// The name among `candidates` that is closest to `name` in edit distance, or "" when nothing is close.
std::string nearest_name(const std::string& name, const std::vector<std::string>& candidates);

/// "unknown KIND 'NAME'; did you mean 'X'? Known: a, b, c." All unknown names, keys and flags get this message. X is
/// `meant`, or the nearest candidate when `meant` is empty.
std::string unknown_name_message(const std::string& kind, const std::string& name,
                                 const std::vector<std::string>& candidates, const std::string& meant = "");

/// Whether `text` contains `word` as a whole word, ignoring case. `word` has at least three characters.
bool mentions(const std::string& text, const std::string& word);

}  // namespace strobe
