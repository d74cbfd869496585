#include "models/tasks/future_links/pair_history.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "models/ops/ops.hpp"
#include "models/ops/ops_attention.hpp"

namespace strobe {
namespace {

constexpr std::array<const char*, 2> table_names{"decoder.pair", "decoder.recency"};

/// The code of the place `rank`, from 1; 0 = nowhere.
std::int32_t place_code(std::int32_t rank) {
  constexpr std::array<std::int32_t, recency_places - 1> last_of_code{0,  1,  2,  3,  4,  6,  8,  12,
                                                                      16, 24, 32, 48, 64, 96, 128};
  return static_cast<std::int32_t>(std::lower_bound(last_of_code.begin(), last_of_code.end(), rank) -
                                   last_of_code.begin());
}

/// The places of another vertex among those that a vertex hit, and among those that hit it; 0 = nowhere.
struct PairPlaces {
  VertexId other = 0;
  std::int32_t hit = 0, hit_by = 0;
};

PairPlaces* find_places(std::vector<PairPlaces>& places, VertexId other) {
  const auto found = std::lower_bound(places.begin(), places.end(), other,
                                      [](const PairPlaces& one, VertexId vertex) { return one.other < vertex; });
  return found == places.end() || found->other != other ? nullptr : &*found;
}

/// The places of all vertices around `vertex`, by their numbers. `places` keeps its memory between calls.
void find_around(const EventGraph& events, VertexId vertex, std::span<const TimedNeighbour> recent,
                 std::vector<PairPlaces>& places) {
  const auto less = [](const PairPlaces& a, const PairPlaces& b) { return a.other < b.other; };
  const auto same = [](const PairPlaces& a, const PairPlaces& b) { return a.other == b.other; };
  places.clear();
  for (const TimedNeighbour& entry : recent) places.push_back({entry.vertex});
  std::sort(places.begin(), places.end(), less);
  places.erase(std::unique(places.begin(), places.end(), same), places.end());
  std::int32_t hit = 0, hit_by = 0;
  for (auto entry = recent.rbegin(); entry != recent.rend(); ++entry) {
    PairPlaces& other = *find_places(places, entry->vertex);
    if (events.source[entry->event] == vertex) {
      if (other.hit == 0) other.hit = ++hit;
    } else if (other.hit_by == 0) {
      other.hit_by = ++hit_by;
    }
  }
}

/// Code 1 of a vertex with these recent events.
std::int32_t hit_age(const EventGraph& events, VertexId vertex, EdgeId before, std::span<const TimedNeighbour> recent) {
  for (auto entry = recent.rbegin(); entry != recent.rend(); ++entry) {
    if (events.target[entry->event] != vertex) continue;
    const auto age = static_cast<std::uint64_t>(before - static_cast<EdgeId>(entry->event));
    return std::min<std::int32_t>(hit_ages - 2, static_cast<std::int32_t>(std::bit_width(age * age)) - 1);
  }
  return hit_ages - 1;
}

}  // namespace

std::vector<PairCodes> pair_codes(const EventGraph& events, const TimeCsr& adjacency, VertexId source, EdgeId before,
                                  std::int64_t last, std::span<const VertexId> candidates) {
  static thread_local std::vector<PairPlaces> places;  // keeps its memory between events
  find_around(events, source, most_recent(adjacency, source, before, last), places);
  std::vector<PairCodes> codes;
  codes.reserve(candidates.size());
  for (const VertexId candidate : candidates) {
    const PairPlaces* const found = find_places(places, candidate);
    const PairPlaces place = found == nullptr ? PairPlaces{} : *found;
    codes.push_back({recency_places * place_code(place.hit) + place_code(place.hit_by),
                     hit_age(events, candidate, before, most_recent(adjacency, candidate, before, last))});
  }
  return codes;
}

std::vector<ParameterShape> pair_code_parameters(std::int64_t width) {
  const double bound = 1.0 / std::sqrt(static_cast<double>(width));
  std::vector<ParameterShape> shapes;
  for (std::size_t i = 0; i < table_names.size(); ++i)
    shapes.push_back({table_names[i], pair_code_values[i], width, bound});
  return shapes;
}

Var with_pair_codes(Tape& tape, const Parameters& parameters, Var hidden, std::span<const Tensor> codes) {
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const Var chosen = gather_rows(tape, parameters.at(table_names[i]), {codes[i]}, codes[i].rows());
    hidden = sum_of(tape, hidden, chosen);
  }
  return hidden;
}

}  // namespace strobe
