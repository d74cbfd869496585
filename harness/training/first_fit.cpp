#include "harness/training/first_fit.hpp"

#include <algorithm>
#include <map>
#include <vector>

namespace strobe {
namespace {

/// Remembers the answers.
class AskedOnce {
 public:
  explicit AskedOnce(const std::function<Shortfall(std::size_t)>& at) : at_(at) {}
  const Shortfall& operator()(std::size_t i) {
    const auto known = answers_.find(i);
    return known != answers_.end() ? known->second : answers_.emplace(i, at_(i)).first->second;
  }

 private:
  const std::function<Shortfall(std::size_t)>& at_;
  std::map<std::size_t, Shortfall> answers_;
};

/// Some choice that fits.
std::optional<std::size_t> some_fit(std::size_t choices, AskedOnce& at) {
  std::vector<std::size_t> places{0};
  while (places.back() + 1 < choices) places.push_back(std::min(2 * places.back() + 1, choices - 1));
  std::size_t least = 0;
  for (std::size_t p = 0; p < places.size(); ++p) {
    if (at(places[p]).none()) return places[p];
    if (at(places[p]) < at(places[least])) least = p;
  }
  std::size_t low = places[least == 0 ? 0 : least - 1], high = places[std::min(least + 1, places.size() - 1)];
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    for (const std::size_t i : {middle, middle + 1})
      if (at(i).none()) return i;
    if (at(middle + 1) < at(middle))
      low = middle + 1;
    else
      high = middle;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::size_t> first_fit(std::size_t choices, const std::function<Shortfall(std::size_t)>& at) {
  if (choices == 0) return std::nullopt;
  AskedOnce asked(at);
  const std::optional<std::size_t> fits = some_fit(choices, asked);
  for (std::size_t i = 0; fits && i < *fits; ++i)
    if (asked(i).none()) return i;
  return fits;
}

}  // namespace strobe
