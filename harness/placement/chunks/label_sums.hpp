// Sums by label. Emptying the table takes time in proportion to its content. Open addressing, at most half full.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace strobe {

class LabelSums {
 public:
  using Label = std::uint32_t;
  static constexpr Label none = 0xffffffff;

  /// The sum of the label; 0 for labels that got none.
  std::int64_t of(Label label) const { return slots_[place(label)].second; }

  void add(Label label, std::int64_t weight) {
    auto* slot = &slots_[place(label)];
    if (slot->first == none) {
      if (2 * (used_.size() + 1) > slots_.size()) {
        grow();
        slot = &slots_[place(label)];
      }
      slot->first = label;
      used_.push_back(label);
    }
    slot->second += weight;
  }

  /// Labels in the order of their first addition. A label whose sum returned to 0 is still among them.
  const std::vector<Label>& labels() const { return used_; }

  void clear() {
    if (grown_) {
      slots_.assign(slots_.size(), {none, 0});
    } else {  // backwards, so that no probe chain is broken before the later label in it is found
      for (auto label = used_.rbegin(); label != used_.rend(); ++label) slots_[place(*label)] = {none, 0};
    }
    grown_ = false;
    used_.clear();
  }

 private:
  std::size_t place(Label label) const {
    std::size_t at = ((label * 0x9E3779B97F4A7C15u) >> 32) & (slots_.size() - 1);
    while (slots_[at].first != label && slots_[at].first != none) at = (at + 1) & (slots_.size() - 1);
    return at;
  }
  void grow() {
    grown_ = true;
    std::vector<std::pair<Label, std::int64_t>> old(2 * slots_.size(), {none, 0});
    old.swap(slots_);
    for (const auto& slot : old) {
      if (slot.first != none) slots_[place(slot.first)] = slot;
    }
  }

  std::vector<std::pair<Label, std::int64_t>> slots_ = std::vector<std::pair<Label, std::int64_t>>(64, {none, 0});
  std::vector<Label> used_;
  bool grown_ = false;  // since it was empty
};

}  // namespace strobe
