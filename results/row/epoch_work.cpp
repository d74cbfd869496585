// The work of an epoch: from the plan, or in older rows from their rates.
#include "results/row/row.hpp"

namespace strobe {

EpochWork work_of(const Row& row) {
  if (row.epoch_work) return *row.epoch_work;
  EpochWork work;
  if (row.iterations) work.updates = static_cast<double>(*row.iterations);
  if (!row.epoch_seconds) return work;
  const auto count = [&](const char* key) {
    const auto rate = row.throughput.find(key);
    return rate == row.throughput.end() ? 0.0 : rate->second * row.epoch_seconds->median;
  };
  work.cells = count("cells_per_second");
  work.edges = count("edges_per_second");
  work.events = count("events_per_second");
  return work;
}

}  // namespace strobe
