#include "harness/advisor/gpu_counts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "backends/cluster.hpp"
#include "core/errors.hpp"
#include "harness/advisor/plan_places.hpp"
#include "harness/request/option_text.hpp"
#include "harness/request/varied_values.hpp"

namespace strobe {
namespace {

constexpr const char* gpus_flag = "--gpus";

/// A cluster that shall have the GPUs.
struct Wanted {
  std::string text;
  std::shared_ptr<const Cluster> cluster;
};

/// The counts of one part: a number, or all of a range.
std::vector<int> numbers_of(const std::string& part) {
  std::vector<std::string> texts;
  try {
    texts = varied_values("ranks", part);
  } catch (const InvalidRequest& error) {
    throw InvalidRequest(gpus_flag, error.message());
  }
  std::vector<int> numbers;
  for (const std::string& text : texts) {
    const double number = number_from_text(text, gpus_flag);
    if (number != std::floor(number) || number < 1 || number > 1 << 20)
      throw InvalidRequest(gpus_flag, fmt::format("expected a number of GPUs from 1 to {}, found {}", 1 << 20, text));
    numbers.push_back(static_cast<int>(number));
  }
  return numbers;
}

/// The first key that the file of the cluster lacks for that many nodes; "" when it lacks none.
std::string lacking(const std::string& cluster) {
  try {
    load_cluster(cluster);
    return "";
  } catch (const InvalidRequest& error) {
    const std::string& where = error.where();
    return where.rfind('/', 0) == 0 ? where.substr(1) : error.message();
  }
}

/// The reason why the cluster cannot have that many GPUs; "" when it can.
std::string refusal_of(const Wanted& wanted, int gpus) {
  const int per_node = wanted.cluster->gpus_per_node;
  if (!suit_nodes(*wanted.cluster, gpus)) {
    const int below = gpus / per_node * per_node;
    return fmt::format(
        "{} GPUs do not fill whole nodes of {}, which has {} GPUs a node; the nearest numbers are {} and {}", gpus,
        wanted.text, per_node, below, below + per_node);
  }
  const int nodes = gpus / per_node;
  if (nodes <= wanted.cluster->nodes) return "";
  const std::string lacks = lacking(change_cluster(wanted.text, "nodes", std::to_string(nodes)));
  if (lacks.empty()) return "";
  return fmt::format(
      "{} describes {} node{} with {} GPUs; {} GPUs need {} nodes, and for those the cluster file lacks {}",
      wanted.text, wanted.cluster->nodes, wanted.cluster->nodes == 1 ? "" : "s", wanted.cluster->gpus(), gpus, nodes,
      lacks);
}

/// The reason why the count cannot be asked of these clusters; "" when it can. Every named cluster must have it. One
/// built-in cluster is enough.
std::string refusal_of(const std::vector<Wanted>& clusters, bool named, int gpus) {
  std::string first;
  for (const Wanted& wanted : clusters) {
    const std::string why = refusal_of(wanted, gpus);
    if (why.empty() && !named) return "";
    if (first.empty()) first = why;
  }
  return first;
}

}  // namespace

std::vector<int> gpu_counts(const std::string& text, const std::vector<std::string>& clusters) {
  std::vector<Wanted> wanted;
  for (const std::string& cluster : clusters.empty() ? cluster_names() : clusters)
    wanted.push_back({cluster, load_cluster(cluster)});
  std::set<int> counts;
  for (const std::string& part : split_text(text, ',')) {
    const std::vector<int> numbers = numbers_of(part);
    if (numbers.empty())
      throw InvalidRequest(gpus_flag, fmt::format("expected numbers such as 8,16,32, found '{}'", text));
    const std::size_t before = counts.size();
    std::string why;
    for (const int gpus : numbers) {
      const std::string refusal = refusal_of(wanted, !clusters.empty(), gpus);
      if (refusal.empty())
        counts.insert(gpus);
      else if (why.empty())
        why = refusal;
    }
    const bool range = numbers.size() > 1;
    if (!why.empty() && (!range || counts.size() == before)) throw InvalidRequest(gpus_flag, why);
  }
  if (counts.empty()) throw InvalidRequest(gpus_flag, "expected numbers such as 8,16,32");
  return {counts.begin(), counts.end()};
}

}  // namespace strobe
