#include "models/tasks/protocols/protocol.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/errors.hpp"
#include "models/tasks/future_links/ranking.hpp"
#include "models/tasks/protocols/numpy_negatives.hpp"
#include "models/tasks/protocols/stored_negatives.hpp"
#include "models/tasks/task_split.hpp"

namespace strobe {
namespace {

using FixedOptions = std::vector<std::pair<std::string, Json>>;

/// The options that a protocol fixes, in the order in which they are reported.
const FixedOptions& fixed_options(const std::string& protocol) {
  static const FixedOptions none;
  static const FixedOptions tgb = {{"split", "70/15/15"},     {"candidates", "all"}, {"ties", "average"},
                                   {"self_pairs", "allowed"}, {"kept_out", 0.0},     {"evaluation_negatives", "random"},
                                   {"links", "all"},          {"history", "batch"}};
  static const FixedOptions of_batches = {
      {"split", "70/15/15"},     {"candidates", "1"},       {"ties", "average"},
      {"self_pairs", "allowed"}, {"kept_out", 0.1},         {"batch", 200},
      {"negatives", "targets"},  {"training_negatives", 1}, {"evaluation_negatives", "random"},
      {"links", "all"},          {"history", "batch"}};
  if (protocol == "tgb") return tgb;
  return protocol == "dyglib" || protocol == "tgn" ? of_batches : none;
}

std::string text_of(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

/// Whether a value means the fixed one. Shares may be parts of 100 or of 1.
bool means(const std::string& option, const Json& value, const Json& fixed, const std::string& where) {
  if (option != "split") return value == fixed;
  const auto shares = split_shares(value.get<std::string>(), where);
  const auto of_protocol = split_shares(fixed.get<std::string>(), where);
  return std::equal(shares.begin(), shares.end(), of_protocol.begin(),
                    [](double a, double b) { return std::abs(a - b) < 1e-9; });
}

void check_file(const std::string& protocol, const std::string& file, const std::string& pointer) {
  if (protocol == "tgb" && file.empty())
    throw InvalidRequest(pointer + "/negatives_file",
                         "protocol=tgb ranks among the negatives that TGB stores; give negatives_file=FILE.npz, which "
                         "python -m strobe.tgb_negatives makes of TGB's *_val_ns.pkl and *_test_ns.pkl");
  if (protocol != "tgb" && !file.empty())
    throw InvalidRequest(pointer + "/negatives_file",
                         "stored negatives are for protocol=tgb; add it, or leave the "
                         "file out");
}

}  // namespace

Json with_protocol(const Json& given, Json complete, const std::string& pointer) {
  const std::string protocol = complete.value("protocol", "none");
  check_file(protocol, complete.value("negatives_file", ""), pointer);
  for (const auto& [option, value] : fixed_options(protocol)) {
    const std::string where = pointer + "/" + option;
    if (given.is_object() && given.contains(option) && !means(option, complete.at(option), value, where)) {
      throw InvalidRequest(
          where, fmt::format("protocol={} fixes {}={}, and {} was given; leave {} out, or the protocol", protocol,
                             option, text_of(value), text_of(complete.at(option)), option));
    }
    complete[option] = value;
  }
  return complete;
}

bool averages_batches(const FutureLinksOptions& options) {
  return options.protocol == "dyglib" || options.protocol == "tgn";
}

VertexFlags never_trained(const EventGraph& graph, const TimeSplit& split, const VertexFlags& kept_out) {
  VertexFlags flags(static_cast<std::size_t>(graph.vertices), 0);
  const auto set_ends = [&](EdgeId event, char flag) {
    const std::size_t e = event;
    flags[graph.source[e]] = flags[graph.target[e]] = flag;
  };
  for (EdgeId e = 0; e < graph.events(); ++e) set_ends(e, 1);
  for (EdgeId e = 0; e < split.train_end; ++e) {
    if (!is_inductive(graph, kept_out, e)) set_ends(e, 0);
  }
  return flags;
}

std::shared_ptr<const GivenCandidates> given_candidates(const FutureLinksOptions& options, const EventGraph& graph,
                                                        const TimeSplit& split, const VertexFlags& new_vertices) {
  if (options.protocol == "tgb") return stored_negatives(options.negatives_file, graph, split);
  return averages_batches(options) ? numpy_negatives(graph, split, new_vertices, options.batch) : nullptr;
}

std::map<std::string, double> means_of_batches(const EventOutputs& scores, const std::vector<std::size_t>& events,
                                               std::int64_t batch, std::int64_t negative, const std::string& prefix,
                                               TieRule ties) {
  double reciprocal = 0, precision = 0, area = 0, batches = 0;
  const auto of_batch = static_cast<std::size_t>(batch);
  for (std::size_t first = 0; first < events.size(); first += of_batch, batches += 1) {
    std::vector<double> pairs;
    std::vector<std::int32_t> truth;
    for (std::size_t i = first; i < std::min(events.size(), first + of_batch); ++i) {
      const double* const own = scores.values.data() + scores.first[events[i]];
      const double pair[] = {own[0], own[negative]};
      pairs.insert(pairs.end(), {pair[0], pair[1]});
      truth.insert(truth.end(), {1, 0});
      reciprocal += reciprocal_rank(pair, 2, ties);
    }
    precision += average_precision(pairs, truth);
    area += area_under_roc(pairs, truth);
  }
  return {{prefix + "mrr", reciprocal / static_cast<double>(events.size())},
          {prefix + "ap", precision / batches},
          {prefix + "auc", area / batches}};
}

}  // namespace strobe
