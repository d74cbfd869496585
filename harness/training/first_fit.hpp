// The first of several choices that keeps within its limits, without trying all of them where none does.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>

namespace strobe {

/// How far a choice is from keeping within its limits. The order of the limits comes before bytes.
struct Shortfall {
  int limit = 0;  // the limit that it misses: larger numbers are judged first; 0 = it keeps within all
  double bytes = 0;

  bool none() const { return limit == 0; }
  auto operator<=>(const Shortfall&) const = default;
};

/// The first i < `choices` for which `at(i)` is none; nothing where there is none. It asks for choices 0, 1, 3, 7...,
/// then for those around the least of these. It finds a choice that fits if the shortfall falls up to one place and
/// grows from there on, as memory does with the number of blocks. The one that it returns is always the first. It asks
/// for a choice once. Cost: O(log choices) calls where none fits; else as many as the place of the first one, and
/// O(log) of that.
std::optional<std::size_t> first_fit(std::size_t choices, const std::function<Shortfall(std::size_t)>& at);

}  // namespace strobe
