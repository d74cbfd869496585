// Instant: a moment of virtual time in several clusters at once, which differ in their constants alone. Lane 0 is the
// described cluster; lane d + 1 is draw d. The program runs once; only its times are computed lane by lane.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace strobe::sim {

class Instant {
 public:
  Instant() = default;
  /// The same in all lanes.
  explicit Instant(double seconds) : described_(seconds) {}
  /// `of(lane)` in each of `lanes` lanes.
  template <class Of>
  static Instant each(std::size_t lanes, const Of& of) {
    Instant made(of(std::size_t{0}));
    if (lanes > 1) made.drawn_.reserve(lanes - 1);
    for (std::size_t lane = 1; lane < lanes; ++lane) made.drawn_.push_back(of(lane));
    return made;
  }

  double described() const { return described_; }
  double operator[](std::size_t lane) const { return lane == 0 || drawn_.empty() ? described_ : drawn_[lane - 1]; }
  /// The later of both, lane by lane.
  void raise(const Instant& other) {
    if (drawn_.empty() && !other.drawn_.empty()) drawn_.assign(other.drawn_.size(), described_);
    for (std::size_t d = 0; d < drawn_.size(); ++d) drawn_[d] = std::max(drawn_[d], other[d + 1]);
    described_ = std::max(described_, other.described_);
  }

 private:
  double described_ = 0;
  std::vector<double> drawn_;  // empty: the same as described
};

}  // namespace strobe::sim
