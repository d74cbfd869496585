// Counts the cells of one sequence by label, and finds the label that most of them have. This is the weight of edges to
// all cells of a sequence, without listing these edges. A change of a label's number costs O(log length).
#pragma once

#include <cstdint>
#include <queue>
#include <tuple>
#include <vector>

#include "harness/placement/chunks/label_sums.hpp"

namespace strobe {

class SequenceTally {
 public:
  using Label = LabelSums::Label;

  void clear() {
    counts_.clear();
    most_ = {};
  }
  /// A label whose number changes is in the choice again.
  void add(Label label, std::int64_t cells) {
    counts_.add(label, cells);
    if (const std::int64_t count = counts_.of(label); count > 0) most_.push({count, label});
  }
  std::int64_t of(Label label) const { return counts_.of(label); }

  /// Returns the label that most cells have among the labels that `allowed` admits, and the smallest of equal ones.
  /// Returns LabelSums::none if there is none. Labels that `allowed` rejects are passed over until their number
  /// changes.
  template <class Allowed>
  Label most(const Allowed& allowed) {
    while (!most_.empty()) {
      const Entry& top = most_.top();
      if (counts_.of(top.label) == top.count && allowed(top.label)) return top.label;
      most_.pop();
    }
    return LabelSums::none;
  }

 private:
  struct Entry {
    std::int64_t count = 0;
    Label label = 0;
    /// Whether the other one comes first.
    friend bool operator<(const Entry& a, const Entry& b) {
      return std::tie(a.count, b.label) < std::tie(b.count, a.label);
    }
  };
  LabelSums counts_;
  std::priority_queue<Entry> most_;
};

}  // namespace strobe
