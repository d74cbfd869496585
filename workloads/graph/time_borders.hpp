// Borders of windows, and whether a time lies before them, without the rounding of doubles.
#pragma once

#include <cstdint>
#include <optional>

namespace strobe {

/// number / 10^digits, with the fewest digits.
struct Decimal {
  std::int64_t number = 0;
  unsigned digits = 0;
};

/// The decimal of at most nine digits after the point whose nearest double is `value`. Returns nothing when there is
/// none, or when its digits together exceed 2^52, where doubles cannot separate it from its neighbours.
std::optional<Decimal> decimal_of(double value);

/// A border between windows. `nearest` is the double nearest to it. A time equal to `nearest` may still lie before
/// the border: 0.333333333 lies before a third of a second.
struct Border {
  double nearest = 0;
  bool after_nearest = false;
  bool is_after(double time) const { return time < nearest || (time == nearest && after_nearest); }
};

/// Borders at regular distances from the first event on. Exact where the first time, the distance and the length have a
/// `decimal_of`; otherwise computed in doubles, as their sums round.
class RegularBorders {
 public:
  RegularBorders(double first, double stride, double length);
  /// Where window k begins: first + k stride.
  Border begin(std::int64_t k) const;
  /// Where window k ends: first + k stride + length; exactly where the next one begins if stride equals length.
  Border end(std::int64_t k) const;

 private:
  Border at(std::int64_t strides, std::int64_t lengths) const;

  double first_, stride_, length_;
  bool exact_ = false;
  std::int64_t scale_ = 1;  // 10^digits; the next three are multiples of 1 / scale, beyond 64 bits if need be
  __extension__ __int128 first_number_ = 0, stride_number_ = 0, length_number_ = 0;
};

/// Border k of `count` equal slices of [first, last]: first + k (last - first) / count, exact where both times have a
/// `decimal_of`.
Border slice_border(double first, double last, std::int64_t count, std::int64_t k);

}  // namespace strobe
