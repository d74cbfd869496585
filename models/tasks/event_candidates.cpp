#include "models/tasks/event_candidates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <unordered_set>

#include "core/errors.hpp"
#include "core/random.hpp"
#include "models/tasks/future_links/first_meetings.hpp"
#include "workloads/graph/sides.hpp"
#include "workloads/storage/growing_column.hpp"

namespace strobe {
namespace {

constexpr std::uint32_t training_draws = 41, evaluation_draws = 42, preferred_draws = 43;  // purposes of random streams

/// A pool of `size` vertices, which fill(first) writes from `first` on. Under a bound of memory, it lies in a file.
template <class Fill>
Column<VertexId> make_pool(std::size_t size, const Fill& fill) {
  const ReadingBound* const bound = reading_bound();
  const PagesInFiles aside(bound == nullptr ? "" : bound->folder);
  Pages pages(size * sizeof(VertexId));
  fill(reinterpret_cast<VertexId*>(pages.data()));
  const bool is_private = !pages.in_file();
  return make_column<VertexId>(std::move(pages), size, is_private);
}

Column<VertexId> distinct_targets(const EventGraph& graph) {
  GrowingColumn<char> is_target(static_cast<std::size_t>(graph.vertices), reading_bound());
  std::size_t count = 0;
  for (const VertexId v : graph.target) count += std::exchange(is_target[v], 1) == 0 ? 1 : 0;
  return make_pool(count, [&](VertexId* next) {
    for (std::size_t v = 0; v < is_target.size(); ++v) {
      if (is_target[v] != 0) *next++ = static_cast<VertexId>(v);
    }
  });
}

Column<VertexId> pool_of(const EventGraph& graph, const std::string& negatives) {
  if (negatives == "any") {
    const auto all = static_cast<std::size_t>(graph.vertices);
    return make_pool(all, [&](VertexId* first) { std::iota(first, first + all, 0); });
  }
  if (negatives == "sides" && sides_of(graph).empty()) {
    throw InvalidRequest("/task/negatives",
                         "negatives=sides needs a two-sided graph, and here some vertex is source of one event and "
                         "target of another; take targets or any");
  }
  return distinct_targets(graph);
}

bool holds(const std::vector<VertexId>& ascending, VertexId v) {
  return std::binary_search(ascending.begin(), ascending.end(), v);
}

}  // namespace

EventCandidates::EventCandidates(const EventGraph& graph, const std::string& negatives, std::uint64_t seed,
                                 SelfPairs self_pairs)
    : graph_(graph), seed_(seed), self_pairs_(self_pairs), pool_(pool_of(graph, negatives)) {
  if (pool_.size() >= 2) return;
  throw InvalidRequest("/task/negatives",
                       fmt::format("no negative can be drawn: {} vertices are the target of an event; take "
                                   "negatives=any, or another graph",
                                   pool_.size()));
}

EventCandidates::EventCandidates(const EventGraph& graph, const std::vector<VertexId>& pool, std::uint64_t seed)
    : graph_(graph),
      seed_(seed),
      pool_(make_pool(pool.size(), [&](VertexId* first) { std::copy(pool.begin(), pool.end(), first); })) {}

std::vector<VertexId> EventCandidates::excluded(EdgeId event) const {
  const std::size_t at = event;
  const VertexId source = graph_.source[at];
  const double time = graph_.time[at];
  std::vector<VertexId> hit{graph_.target[at]};
  if (self_pairs_ == SelfPairs::left_out) hit.push_back(source);
  const auto add = [&](std::size_t e) {
    if (graph_.source[e] == source) hit.push_back(graph_.target[e]);
  };
  for (std::size_t e = at; e > 0 && graph_.time[e - 1] == time; --e) add(e - 1);
  for (std::size_t e = at + 1; e < graph_.time.size() && graph_.time[e] == time; ++e) add(e);
  std::sort(hit.begin(), hit.end());
  hit.erase(std::unique(hit.begin(), hit.end()), hit.end());
  return hit;
}

VertexId EventCandidates::negative(EdgeId event, std::int64_t n, std::int64_t group) const {
  if (!given_.empty()) return given_.at(event).at(n);
  const VertexId source = graph_.source[event];
  const VertexId destination = graph_.target[event];
  // Each negative has its own 256 numbers of the stream: 2^24 numbers per event, 2^8 per negative.
  const RandomStream random(seed_, training_draws, static_cast<std::uint32_t>(group));
  const std::uint64_t first = (static_cast<std::uint64_t>(event) << 24) + (static_cast<std::uint64_t>(n) << 8);
  for (std::uint64_t attempt = 0; attempt < 256; ++attempt) {
    const VertexId drawn = pool_[random.below(first + attempt, pool_.size())];
    if (drawn != source && drawn != destination) return drawn;
  }
  // Hardly anything may be drawn: look for the first that may, from a random place on.
  const std::uint64_t start = random.below(first, pool_.size());
  for (std::size_t i = 0; i < pool_.size(); ++i) {
    const VertexId drawn = pool_[(start + i) % pool_.size()];
    if (drawn != source && drawn != destination) return drawn;
  }
  throw InvalidRequest(
      "/task/negatives",
      fmt::format("an event from {} to {} leaves no negative to draw: all {} vertices that may be are its own ends; "
                  "take negatives=any, or another graph",
                  graph_.original_id[source], graph_.original_id[destination], pool_.size()));
}

void EventCandidates::sample(const EvaluationSampling& sampling) {
  sampling_ = sampling;
  if (sampling.kind != NegativeSampling::random) meetings_ = std::make_shared<const FirstMeetings>(graph_);
}

std::uint64_t EventCandidates::own_bytes() const {
  std::uint64_t bytes = pool_.own_bytes();
  if (meetings_ != nullptr) bytes += meetings_->own_bytes();
  if (of_others_ != nullptr) bytes += of_others_->own_bytes();
  return bytes;
}

std::vector<VertexId> EventCandidates::preferred(EdgeId event, std::int64_t wanted,
                                                 const std::vector<VertexId>& excluded) const {
  const auto& [train_end, validation_end] = sampling_.split;
  const EdgeId part = event < validation_end ? train_end : validation_end;
  if (meetings_ == nullptr || event < train_end) return {};
  const EdgeId batch = event - (event - part) % sampling_.batch;
  const VertexId source = graph_.source[event];
  std::vector<VertexId> drawn;
  for (const auto& [target, first] : sampling_.kind == NegativeSampling::historical
                                         ? meetings_->between(source, 0, train_end)
                                         : meetings_->between(source, part, batch)) {
    if (!holds(excluded, target)) drawn.push_back(target);
  }
  const RandomStream random(seed_, preferred_draws, static_cast<std::uint32_t>(event));
  const std::size_t limit = wanted < 0 ? drawn.size() : std::min(drawn.size(), static_cast<std::size_t>(wanted));
  for (std::size_t place = 0; place < limit; ++place)
    std::swap(drawn[place], drawn[place + random.below(place, drawn.size() - place)]);
  drawn.resize(limit);
  return drawn;
}

std::vector<VertexId> EventCandidates::evaluation(EdgeId event, std::int64_t wanted) const {
  if (of_others_ != nullptr) {
    std::vector<VertexId> given = of_others_->of(event);
    if (wanted >= 0 && given.size() > static_cast<std::size_t>(wanted)) given.resize(static_cast<std::size_t>(wanted));
    return given;
  }
  std::vector<VertexId> not_these = excluded(event);
  if (meetings_ == nullptr) return from_pool(event, wanted, not_these);
  std::vector<VertexId> drawn = preferred(event, wanted, not_these);
  not_these.insert(not_these.end(), drawn.begin(), drawn.end());
  std::sort(not_these.begin(), not_these.end());
  const std::int64_t missing = wanted < 0 ? -1 : wanted - static_cast<std::int64_t>(drawn.size());
  const std::vector<VertexId> others = from_pool(event, missing, not_these);
  drawn.insert(drawn.end(), others.begin(), others.end());
  return drawn;
}

std::vector<VertexId> EventCandidates::from_pool(EdgeId event, std::int64_t wanted,
                                                 const std::vector<VertexId>& not_these) const {
  const RandomStream random(seed_, evaluation_draws, static_cast<std::uint32_t>(event));
  std::vector<VertexId> drawn;
  const std::size_t limit = std::max<std::int64_t>(wanted, 0);
  if (wanted >= 0 && 4 * (limit + not_these.size()) < pool_.size()) {
    std::unordered_set<VertexId> taken;
    for (std::uint64_t i = 0; drawn.size() < limit; ++i) {
      const VertexId v = pool_[random.below(i, pool_.size())];
      if (!holds(not_these, v) && taken.insert(v).second) drawn.push_back(v);
    }
    return drawn;
  }
  std::set_difference(pool_.begin(), pool_.end(), not_these.begin(), not_these.end(), std::back_inserter(drawn));
  if (drawn.empty()) return drawn;
  // The first draw that would be taken above is the first one here, too.
  std::uint64_t i = 0;
  VertexId first = pool_[random.below(i, pool_.size())];
  while (holds(not_these, first)) first = pool_[random.below(++i, pool_.size())];
  std::swap(drawn.front(), *std::lower_bound(drawn.begin(), drawn.end(), first));
  if (wanted < 0 || limit >= drawn.size()) return drawn;
  for (std::size_t place = 1; place < limit; ++place) {
    const std::uint64_t other = random.below((std::uint64_t{1} << 40) + place, drawn.size() - place);
    std::swap(drawn[place], drawn[place + other]);
  }
  drawn.resize(limit);
  return drawn;
}

}  // namespace strobe
