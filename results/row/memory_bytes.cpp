// Invariant: the parts of a rank add up to its entry in peak_bytes.
#include "results/row/memory_bytes.hpp"

#include <algorithm>
#include <numeric>

namespace strobe {
namespace {

using Parts = PerMemoryPart<std::uint64_t>;

std::uint64_t sum(const Parts& parts) { return std::accumulate(parts.begin(), parts.end(), std::uint64_t{0}); }

PartsOfRanks by_part(const std::vector<Parts>& ranks) {
  PartsOfRanks all;
  for (std::size_t i = 0; i < all.size(); ++i)
    for (const Parts& parts : ranks) all[i].push_back(parts[i]);
  return all;
}

}  // namespace

void take_memory_bytes(const CaseResult& result, Row& row) {
  const auto ranks = static_cast<std::size_t>(row.ranks);
  std::vector<Parts> accounted(ranks), host(ranks);
  std::vector<std::uint64_t> process(ranks);
  for (const EpochSample& sample : result.samples) {
    const std::size_t rank = sample.rank;
    if (rank >= ranks) continue;
    if (sum(sample.memory_parts) > sum(accounted[rank])) accounted[rank] = sample.memory_parts;
    host[rank] = sample.host_parts;
    process[rank] = std::max(process[rank], sample.process_bytes);
  }
  const auto without = [](const Parts& parts) { return sum(parts) == 0; };
  if (std::all_of(accounted.begin(), accounted.end(), without)) {
    row.absent["/memory_bytes"] = "its samples tell of no parts";
    return;
  }
  MemoryBytes& memory = row.memory_bytes.emplace();
  memory.accounted = by_part(accounted);
  if (!result.planned_memory.empty()) memory.planned = by_part(result.planned_memory);
  if (result.planned_memory.empty()) row.absent["/memory_bytes/planned"] = "--planned-memory did not ask for it";
  if (std::count(process.begin(), process.end(), 0) == 0) {
    memory.host = by_part(host);
    memory.process = std::move(process);
    return;
  }
  row.absent["/memory_bytes/host"] = row.absent["/memory_bytes/process"] =
      row.time_source == "virtual" ? "its ranks are simulated" : "its ranks share a process";
}

std::vector<PerMemoryPart<std::uint64_t>> planned_memory_of(const Row& row) {
  if (!row.memory_bytes || !row.memory_bytes->planned) return {};
  const PartsOfRanks& planned = *row.memory_bytes->planned;
  std::vector<Parts> ranks(planned.front().size());
  for (std::size_t i = 0; i < planned.size(); ++i)
    for (std::size_t r = 0; r < ranks.size(); ++r) ranks[r][i] = planned[i].at(r);
  return ranks;
}

}  // namespace strobe
