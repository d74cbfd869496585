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
  std::int64_t of(Label label) const { return slots_[place(label)].sum; }

  void add(Label label, std::int64_t weight) {
    std::size_t at = place(label);
    if (slots_[at].label == none) {
      if (2 * (used_.size() + 1) > slots_.size()) {
        grow();
        at = place(label);
      }
      slots_[at].label = label;
      used_.push_back(static_cast<std::uint32_t>(at));
    }
    slots_[at].sum += weight;
  }

  /// Calls `visit(label, sum)` in the order of labels' first addition, also for sums that returned to 0.
  template <class Visit>
  void for_each(const Visit& visit) const {
    for (const std::uint32_t at : used_) visit(slots_[at].label, slots_[at].sum);
  }

  void clear() {
    for (const std::uint32_t at : used_) slots_[at] = {};
    used_.clear();
  }

 private:
  struct Slot {
    Label label = none;
    std::int64_t sum = 0;
  };

  std::size_t place(Label label) const {
    std::size_t at = ((label * 0x9E3779B97F4A7C15u) >> 32) & (slots_.size() - 1);
    while (slots_[at].label != label && slots_[at].label != none) at = (at + 1) & (slots_.size() - 1);
    return at;
  }
  void grow() {
    std::vector<Slot> old(2 * slots_.size());
    old.swap(slots_);
    for (std::uint32_t& at : used_) {
      const Slot& slot = old[at];
      at = static_cast<std::uint32_t>(place(slot.label));
      slots_[at] = slot;
    }
  }

  std::vector<Slot> slots_ = std::vector<Slot>(64);
  std::vector<std::uint32_t> used_;  // places in `slots_`
};

}  // namespace strobe
