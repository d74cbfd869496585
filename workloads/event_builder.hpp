// From rows of a file to an event graph: dense vertex ids, stable time order, counts of what was found.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "workloads/graph.hpp"

namespace strobe {

/// Collects the rows that a format reads.
class EventBuilder {
 public:
  /// A row u -> v at `time`, in the file's own ids (not negative).
  void add(std::int64_t source, std::int64_t target, double time) {
    source_.push_back(source);
    target_.push_back(target);
    time_.push_back(time);
  }
  /// The weight of the row added last; give every row one, or none.
  void add_weight(float weight) { weight_.push_back(weight); }
  /// The label of the row added last; give every row one, or none.
  void add_label(std::int8_t label) { label_.push_back(label); }
  /// The next feature of the row added last; give every row equally many.
  void add_feature(float value) { feature_.push_back(value); }

  std::int64_t rows() const { return static_cast<std::int64_t>(source_.size()); }

  /// The event graph of all rows: ids dense by ascending original id, events in stable time order; provenance with the
  /// file's name, SHA-256 and counts. Throws InvalidInput when there is no row or ids exceed 2^31 - 1 distinct ones.
  /// Cost O(E + V log V), and O(E log E) when rows are not in time order.
  EventGraph finish(const std::string& path, const std::string& format);

 private:
  std::vector<std::int64_t> source_, target_;
  std::vector<double> time_;
  std::vector<float> weight_, feature_;
  std::vector<std::int8_t> label_;
};

}  // namespace strobe
