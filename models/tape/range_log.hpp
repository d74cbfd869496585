// Ranges of the program for traces: epochs, ways forward and backward, layers. They need no clock: a range covers the
// spans between its beginning and its end.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "backends/span.hpp"

namespace strobe {

/// The ranges of one rank, which lie in each other or follow each other as the program does.
class RangeLog {
 public:
  /// Keeps a reference; the recorder must not be cleared while ranges are kept.
  explicit RangeLog(const SpanRecorder& spans) : spans_(spans) {}
  /// `name` is static text.
  void open(std::string_view name);
  /// Ends the range that was opened last.
  void close();
  void clear() { ranges_.clear(), open_.clear(); }
  /// The ranges as spans of phase `other`, not blocking. A span reaches from the first begin to the last end of the
  /// blocking spans in its range; outer ranges come first. Ranges without blocking spans are left out. Blocking spans
  /// of a rank do not overlap, so ranges nest or follow each other. Cost: O(S D) for S spans and D ranges within each
  /// other.
  std::vector<Span> as_spans() const;

 private:
  struct Kept {
    std::string_view name;
    std::size_t first = 0, last = 0;  // spans
  };
  const SpanRecorder& spans_;
  std::vector<Kept> ranges_;
  std::vector<std::size_t> open_;
};

/// Whether a span is a range of the program and no operation.
inline bool is_range(const Span& span) { return span.phase == Phase::other && !span.blocking; }

/// A range as long as this object lives; nothing without a log.
class Range {
 public:
  Range(RangeLog* log, std::string_view name) : log_(log) {
    if (log_ != nullptr) log_->open(name);
  }
  ~Range() { end(); }
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;
  void end() {
    if (RangeLog* const log = std::exchange(log_, nullptr); log != nullptr) log->close();
  }

 private:
  RangeLog* log_;
};

/// "layer 1" of layer 0 and so on, as static text.
std::string_view layer_range_name(std::size_t layer);

}  // namespace strobe
