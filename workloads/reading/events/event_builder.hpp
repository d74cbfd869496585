// Turns rows of a file into an event graph: dense vertex ids, stable time order, counts of the findings.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "workloads/graph/graph.hpp"
#include "workloads/reading/events/event_block.hpp"
#include "workloads/reading/events/row_runs.hpp"
#include "workloads/storage/background_digest.hpp"
#include "workloads/storage/reading_bound.hpp"

namespace strobe {

/// The note of a file without times, so that all its events are at time 0; kept with the graph everywhere.
inline constexpr const char* no_times_note = "the file has no times; all events are at time 0";

/// Collects the rows that a format reads: 12 to 24 bytes a row in addition to weights, labels and features. A weight
/// takes 4 bytes, or 12 in a file with weights that fp32 rounds.
class EventBuilder {
 public:
  /// A row u -> v at `time`, in the file's own ids (not negative).
  void add(std::int64_t source, std::int64_t target, double time) {
    if (source_.size() == block_rows) close_block();
    source_.push_back(source);
    target_.push_back(target);
    time_.push_back(time);
  }
  /// The weight of the row added last (or next), within fp32's range; give every row one, or none.
  void add_weight(double weight) {
    const auto rounded = static_cast<float>(weight);
    if (static_cast<double>(rounded) != weight || !exact_weight_.empty()) add_exact_weight(weight);
    weight_.push_back(rounded);
  }
  /// The label of the row added last (or next); give every row one, or none.
  void add_label(std::int8_t label) { label_.push_back(label); }
  /// The next feature of the row added last; give every row equally many.
  void add_feature(float value) { feature_.push_back(value); }

  std::int64_t rows() const { return closed_rows_ + static_cast<std::int64_t>(source_.size()); }

  /// Begins to compute the SHA-256 of `path`, which `finish` needs, in parallel with the parsing when there are
  /// threads.
  void begin_digest(const std::string& path);
  /// Replaces ids, which are numbers below the sizes of the tables, by the tables' entries, which fit 32 bits.
  void renumber(const std::vector<std::int64_t>& sources, const std::vector<std::int64_t>& targets);

  /// Appends the rows of `later` after these. Under a bound of memory (reading_bound.hpp), rows beyond it go into
  /// files.
  void append(EventBuilder&& later);
  /// All rows so far; this builder is empty then and keeps its working memory for the next rows.
  EventBuilder take();

  /// The event graph of all rows: ids dense by ascending original id, events in stable time order; provenance with the
  /// file's name, SHA-256 and counts. Throws InvalidInput when there is no row, when only some rows have a weight,
  /// label or feature, or when there are more than 2^31 - 1 distinct ids. Memory while building: up to 24 bytes a row
  /// in addition to weights, labels and features, when ids fit 32 bits. Memory after: 8 bytes and those of the packed
  /// time, at most 4 when a time has few digits (packed_times.hpp); a note says when they are more. Cost O(E) for rows
  /// in time order, O(E log E) for others, on all threads.
  EventGraph finish(const std::string& path, const std::string& format);

 private:
  static constexpr std::size_t block_rows = std::size_t{1} << 17;

  void close_block();
  void add_exact_weight(double weight);
  void check_extras();
  void put_aside();

  std::vector<std::int64_t> source_, target_;  // rows of the open block
  std::vector<double> time_;
  std::vector<float> weight_, feature_;
  std::vector<double> exact_weight_;  // one per weight from the first one on that fp32 rounds; else empty
  std::vector<std::int8_t> label_;
  std::vector<EventBlock> blocks_;
  std::int64_t closed_rows_ = 0, self_loops_ = 0;  // loops of rows in files
  std::uint64_t block_bytes_ = 0;
  const ReadingBound* bound_ = reading_bound();
  std::shared_ptr<RowRuns> runs_;    // rows in files
  std::vector<std::size_t> widths_;  // weights, labels and features of a row, once a block was checked
  std::string uneven_;               // what some rows have and others have not
  std::shared_ptr<BackgroundDigest> digest_;
};

}  // namespace strobe
