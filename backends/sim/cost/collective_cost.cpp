#include "backends/sim/cost/collective_cost.hpp"

#include <algorithm>
#include <limits>
#include <string_view>

namespace strobe::sim {

ExchangeLoad::ExchangeLoad(const Topology& topology)
    : sent_inside(static_cast<std::size_t>(topology.ranks)),
      received_inside(static_cast<std::size_t>(topology.ranks)),
      sent_outside(static_cast<std::size_t>(topology.ranks)),
      received_outside(static_cast<std::size_t>(topology.ranks)) {}

void ExchangeLoad::add(const Topology& topology, int from, int to, std::uint64_t bytes) {
  if (bytes == 0 || from == to) return;
  sent_messages_.resize(sent_inside.size());
  received_messages_.resize(sent_inside.size());
  ++messages;
  most_messages = std::max({most_messages, ++sent_messages_[from], ++received_messages_[to]});
  const bool inside = topology.node_of(from) == topology.node_of(to);
  (inside ? sent_inside : sent_outside)[from] += bytes;
  (inside ? received_inside : received_outside)[to] += bytes;
}

double busiest_rank_bytes(const CollectiveLoad& load, int ranks) {
  const auto bytes = static_cast<double>(load.bytes), others = (ranks - 1.0) / ranks;
  switch (load.kind) {
    case CollectiveKind::all_reduce:
      return 2 * others * bytes;
    case CollectiveKind::all_gather_v:
    case CollectiveKind::reduce_scatter:
      return bytes - static_cast<double>(load.smallest_part_bytes);
    case CollectiveKind::all_to_all_v: {
      std::uint64_t most = 0;
      const ExchangeLoad& e = load.exchange;
      for (std::size_t r = 0; r < e.sent_inside.size(); ++r) {
        most = std::max({most, e.sent_inside[r] + e.sent_outside[r], e.received_inside[r] + e.received_outside[r]});
      }
      return static_cast<double>(most);
    }
    case CollectiveKind::broadcast:
    case CollectiveKind::send:
    case CollectiveKind::receive:
      return bytes;
    case CollectiveKind::barrier:
      break;
  }
  return 0;
}

double busiest_rank_messages(const CollectiveLoad& load, int ranks) {
  if (load.kind == CollectiveKind::all_to_all_v) return static_cast<double>(load.exchange.most_messages);
  if (load.kind == CollectiveKind::send || load.kind == CollectiveKind::receive) return 1;
  return load.kind == CollectiveKind::all_reduce ? 2.0 * (ranks - 1) : ranks - 1.0;
}

namespace {

/// Seconds of a model are at least those of its messages.
double model_seconds(const CollectiveCostTag::Value& model, const CollectiveLoad& load, const Topology& topology) {
  const double seconds = model.seconds(load, topology);
  if (topology.message_seconds == 0 || seconds == std::numeric_limits<double>::infinity()) return seconds;
  return std::max(seconds, model.messages(load, topology) * topology.message_seconds);
}

/// The fewest messages one after the other by which some model carries out the collective.
double fewest_messages(const CollectiveLoad& load, const Topology& topology) {
  double fewest = std::numeric_limits<double>::infinity();
  for (const auto& [name, entry] : Registry<CollectiveCostTag>::instance().entries()) {
    const CollectiveCostTag::Value& model = entry.value;
    if (model.collective != load.kind || model.seconds(load, topology) == std::numeric_limits<double>::infinity())
      continue;
    fewest = std::min(fewest, model.messages(load, topology));
  }
  return fewest == std::numeric_limits<double>::infinity() ? 0 : fewest;
}

/// Messages of the collective on the ranks that were measured: an exchange was with all of them.
double messages_of_fit(const CollectiveLoad& load, const Topology& topology, int ranks) {
  if (load.kind == CollectiveKind::all_to_all_v) return ranks - 1.0;
  Topology measured = topology;
  measured.ranks = std::min(topology.ranks, ranks);
  measured.nodes = (measured.ranks + topology.gpus_per_node - 1) / topology.gpus_per_node;
  measured.places = nullptr;
  return fewest_messages(load, measured);
}

/// Seconds by the fit of a measured machine, negative where there is none.
double fitted_seconds(const CollectiveLoad& load, const Topology& topology) {
  const Calibration& fits = *topology.calibration;
  const std::string_view name = collective_names[static_cast<int>(load.kind)];
  const double bytes = busiest_rank_bytes(load, topology.ranks);
  const double sent = busiest_rank_messages(load, topology.ranks);
  const double fitted = fits.collective_seconds(name, topology.ranks, bytes, sent);
  const int ranks = fits.fitted_ranks(name, topology.ranks);
  if (fitted < 0 || ranks >= topology.ranks || topology.message_seconds == 0) return fitted;
  const double messages = fewest_messages(load, topology), seen = messages_of_fit(load, topology, ranks);
  if (messages <= seen) return fitted;
  const double of_seen = fits.collective_seconds(name, topology.ranks, bytes, std::min(sent, seen));
  return std::max(
      {fitted, of_seen + (messages - seen) * topology.message_seconds, messages * topology.message_seconds});
}

}  // namespace

double collective_seconds(const CollectiveLoad& load, const Topology& topology) {
  if (topology.ranks == 1) return 0;
  if (load.kind == CollectiveKind::all_to_all_v && load.exchange.messages == 0) return 0;
  if (topology.calibration != nullptr) {
    const double fitted = fitted_seconds(load, topology);
    if (fitted >= 0) return fitted;
  }
  double best = std::numeric_limits<double>::infinity();
  for (const auto& [name, entry] : Registry<CollectiveCostTag>::instance().entries()) {
    if (entry.value.collective == load.kind) best = std::min(best, model_seconds(entry.value, load, topology));
  }
  if (best == std::numeric_limits<double>::infinity()) {
    throw Unavailable("no cost model for collective " + std::string(collective_names[static_cast<int>(load.kind)]));
  }
  return best;
}

}  // namespace strobe::sim
