// Compares times with borders as fractions of whole numbers. Returns for a border the nearest double, and the side of
// that double on which the border lies. With both, one comparison of doubles puts any time on the right side, because
// doubles keep order. A time below the border has a double not above the border's. Where the two doubles are equal, the
// time is `decimal_of` that double, which is compared exactly.
// Cost: O(1) a border, without division by large numbers where times have few digits.
#include "workloads/graph/time_borders.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string>
#include <utility>

namespace strobe {
namespace {

__extension__ typedef __int128 Wide;

constexpr unsigned border_digits = 9;
constexpr double largest_number = 4503599627370496.0;  // 2^52
constexpr std::int64_t exact_in_double = std::int64_t{1} << 53;
constexpr std::array<std::int64_t, border_digits + 1> border_powers = {
    1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000};

bool fits(Wide number) { return number <= exact_in_double && number >= -exact_in_double; }

Wide scaled(const Decimal& value, std::int64_t scale) {
  return Wide{value.number} * (scale / border_powers[value.digits]);
}

Wide floor_of(Wide numerator, Wide denominator) {
  const Wide quotient = numerator / denominator;
  return quotient - (numerator % denominator < 0 ? 1 : 0);
}

/// Whether value < numerator / denominator; whole parts first, so that the products stay small.
bool is_below(const Decimal& value, Wide numerator, Wide denominator) {
  const Wide power = border_powers[value.digits];
  const Wide whole = floor_of(value.number, power), other = floor_of(numerator, denominator);
  if (whole != other) return whole < other;
  return (value.number - whole * power) * denominator < (numerator - other * denominator) * power;
}

/// The double nearest to numerator / scale, a power of ten.
double nearest_decimal(Wide numerator, std::int64_t scale) {
  if (fits(numerator)) return static_cast<double>(numerator) / static_cast<double>(scale);
  const std::string text = fmt::format(
      "{}e-{}", numerator, std::find(border_powers.begin(), border_powers.end(), scale) - border_powers.begin());
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

double nearest_fraction(Wide numerator, Wide denominator) {
  Wide a = numerator < 0 ? -numerator : numerator, b = denominator;
  while (b != 0) a = std::exchange(b, a % b);
  numerator /= a, denominator /= a;
  if (fits(numerator) && fits(denominator)) return static_cast<double>(numerator) / static_cast<double>(denominator);
  return static_cast<double>(static_cast<long double>(numerator) / static_cast<long double>(denominator));
}

Border border(double nearest, Wide numerator, Wide denominator) {
  const std::optional<Decimal> time = decimal_of(nearest);
  return {nearest, time && is_below(*time, numerator, denominator)};
}

}  // namespace

std::optional<Decimal> decimal_of(double value) {
  for (unsigned digits = 0; digits <= border_digits; ++digits) {
    const double product = value * static_cast<double>(border_powers[digits]);
    if (!(std::abs(product) < largest_number)) return std::nullopt;
    const std::int64_t number = std::llround(product);
    if (static_cast<double>(number) / static_cast<double>(border_powers[digits]) == value)
      return Decimal{number, digits};
  }
  return std::nullopt;
}

RegularBorders::RegularBorders(double first, double stride, double length)
    : first_(first), stride_(stride), length_(length) {
  const std::optional<Decimal> from = decimal_of(first), distance = decimal_of(stride), span = decimal_of(length);
  exact_ = from && distance && span;
  if (!exact_) return;
  scale_ = border_powers[std::max({from->digits, distance->digits, span->digits})];
  first_number_ = scaled(*from, scale_);
  stride_number_ = scaled(*distance, scale_);
  length_number_ = scaled(*span, scale_);
}

Border RegularBorders::at(std::int64_t strides, std::int64_t lengths) const {
  if (!exact_) {
    return {first_ + static_cast<double>(strides) * stride_ + static_cast<double>(lengths) * length_, false};
  }
  const Wide number = first_number_ + strides * stride_number_ + lengths * length_number_;
  const double nearest = nearest_decimal(number, scale_);
  // Below 2^52 the nearest double stands for this decimal and no other.
  if (std::abs(nearest) * static_cast<double>(scale_) < largest_number / 2) return {nearest, false};
  return border(nearest, number, scale_);
}

Border RegularBorders::begin(std::int64_t k) const { return at(k, 0); }

Border RegularBorders::end(std::int64_t k) const { return stride_ == length_ ? at(k + 1, 0) : at(k, 1); }

Border slice_border(double first, double last, std::int64_t count, std::int64_t k) {
  const std::optional<Decimal> from = decimal_of(first), until = decimal_of(last);
  if (!from || !until) {
    return {first + static_cast<double>(k) * ((last - first) / static_cast<double>(count)), false};
  }
  const std::int64_t scale = border_powers[std::max(from->digits, until->digits)];
  const Wide begin = scaled(*from, scale), span = scaled(*until, scale) - begin;
  const Wide numerator = begin * count + span * k, denominator = Wide{scale} * count;
  return border(nearest_fraction(numerator, denominator), numerator, denominator);
}

}  // namespace strobe
