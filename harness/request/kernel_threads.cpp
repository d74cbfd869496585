#include "harness/request/kernel_threads.hpp"

#include <algorithm>

#include "backends/communicator.hpp"
#include "core/system/machine_limits.hpp"

namespace strobe {

std::vector<std::int64_t> kernel_threads(const Case& c) {
  const std::size_t ranks = std::max<std::int64_t>(1, c.ranks);
  if (c.threads > 0) return std::vector<std::int64_t>(ranks, c.threads);
  const auto& comm = CommunicatorRegistry::instance().find(c.comm, "/comm").value;
  if (comm.shared_threads != nullptr && comm.world_size() == c.ranks) {
    const std::vector<int> shared = comm.shared_threads();
    return {shared.begin(), shared.end()};
  }
  const std::int64_t cores = usable_cores();
  return std::vector<std::int64_t>(ranks, std::max<std::int64_t>(1, cores / static_cast<std::int64_t>(ranks)));
}

}  // namespace strobe
