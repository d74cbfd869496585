// Legacy seeding of RandomState with a whole number is that of std::mt19937. A bounded number is the next 32 bits under
// the smallest mask of ones that covers the largest number, drawn again while it is too large.
#include "models/tasks/protocols/numpy_negatives.hpp"

#include <algorithm>
#include <bit>

namespace strobe {
namespace {

/// Distinct ends of some events, ascending.
std::vector<VertexId> distinct_ends(const Column<VertexId>& ends, const std::vector<EdgeId>& events) {
  std::vector<VertexId> distinct;
  distinct.reserve(events.size());
  for (const EdgeId e : events) distinct.push_back(ends[static_cast<std::size_t>(e)]);
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  return distinct;
}

/// The sampler of one pass.
class PassSampler {
 public:
  /// Draws among the ends of `known`.
  PassSampler(const EventGraph& graph, const std::vector<EdgeId>& known, std::uint32_t seed)
      : sources_(distinct_ends(graph.source, known).size()),
        targets_(distinct_ends(graph.target, known)),
        draws_(seed) {}

  std::vector<VertexId> sample(std::size_t events, std::size_t batch) {
    std::vector<VertexId> drawn;
    for (std::size_t first = 0; first < events; first += batch) {
      const std::size_t count = std::min(batch, events - first);
      for (std::size_t i = 0; i < count; ++i) draws_.next(static_cast<std::uint32_t>(sources_));
      for (std::size_t i = 0; i < count; ++i)
        drawn.push_back(targets_[static_cast<std::size_t>(draws_.next(static_cast<std::uint32_t>(targets_.size())))]);
    }
    return drawn;
  }

 private:
  std::size_t sources_;
  std::vector<VertexId> targets_;
  NumpyDraws draws_;
};

class NumpyNegatives final : public GivenCandidates {
 public:
  NumpyNegatives(const EventGraph& graph, const TimeSplit& split, const VertexFlags& new_vertices, std::size_t batch)
      : first_(split.train_end), drawn_(static_cast<std::size_t>(graph.events() - split.train_end)) {
    const std::vector<EdgeId> all = events(graph, 0, graph.events(), {});
    const auto draw_part = [&](EdgeId first, EdgeId last, std::uint32_t seed) {
      put(graph, events(graph, first, last, {}), all, seed, batch);
      if (new_vertices.empty()) return;
      const std::vector<EdgeId> with_new = events(graph, first, last, new_vertices);
      put(graph, with_new, with_new, seed + 1, batch);
    };
    draw_part(split.train_end, split.validation_end, 0);
    draw_part(split.validation_end, graph.events(), 2);
  }

  std::vector<VertexId> of(EdgeId event) const override { return drawn_[static_cast<std::size_t>(event - first_)]; }
  std::int64_t most() const override { return most_; }
  std::uint64_t own_bytes() const override {
    std::uint64_t bytes = drawn_.size() * sizeof(std::vector<VertexId>);
    for (const std::vector<VertexId>& own : drawn_) bytes += own.size() * sizeof(VertexId);
    return bytes;
  }

 private:
  /// The events [first, last), or those of them that have a flagged end.
  static std::vector<EdgeId> events(const EventGraph& graph, EdgeId first, EdgeId last, const VertexFlags& flags) {
    std::vector<EdgeId> chosen;
    for (EdgeId e = first; e < last; ++e) {
      if (flags.empty() || is_inductive(graph, flags, e)) chosen.push_back(e);
    }
    return chosen;
  }

  void put(const EventGraph& graph, const std::vector<EdgeId>& judged, const std::vector<EdgeId>& known,
           std::uint32_t seed, std::size_t batch) {
    const std::vector<VertexId> drawn = PassSampler(graph, known, seed).sample(judged.size(), batch);
    for (std::size_t i = 0; i < judged.size(); ++i) {
      std::vector<VertexId>& own = drawn_[static_cast<std::size_t>(judged[i] - first_)];
      own.push_back(drawn[i]);
      most_ = std::max(most_, static_cast<std::int64_t>(own.size()));
    }
  }

  EdgeId first_;
  std::vector<std::vector<VertexId>> drawn_;  // of each validation and test event
  std::int64_t most_ = 0;
};

}  // namespace

std::int64_t NumpyDraws::next(std::uint32_t below) {
  const std::uint32_t largest = below - 1;
  if (largest == 0) return 0;
  const std::uint32_t mask = ~std::uint32_t{0} >> std::countl_zero(largest);
  std::uint32_t drawn = 0;
  do {
    drawn = static_cast<std::uint32_t>(bits_()) & mask;
  } while (drawn > largest);
  return drawn;
}

std::shared_ptr<const GivenCandidates> numpy_negatives(const EventGraph& graph, const TimeSplit& split,
                                                       const VertexFlags& new_vertices, std::int64_t batch) {
  return std::make_shared<NumpyNegatives>(graph, split, new_vertices, static_cast<std::size_t>(batch));
}

}  // namespace strobe
