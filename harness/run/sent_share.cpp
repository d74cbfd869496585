#include "harness/run/sent_share.hpp"

#include <fmt/format.h>

#include <map>
#include <numeric>

namespace strobe {
namespace {

struct EpochBytes {
  int ranks = 0;
  std::array<std::uint64_t, traffic_count> sent{};
};

/// Bytes of the covered exchanges: what was sent in their kinds of traffic without what others send.
std::uint64_t covered_bytes(const StaleTraffic& traffic, const EpochBytes& epoch) {
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < epoch.sent.size(); ++i)
    if (traffic.exact[i] > 0) bytes += epoch.sent[i] - traffic.beside[i];
  return bytes;
}

}  // namespace

void add_sent_share(const StaleTraffic& traffic, int ranks, CaseResult& result) {
  std::map<int, EpochBytes> epochs;
  for (const EpochSample& sample : result.samples) {
    if (sample.repetition != 0) continue;
    EpochBytes& epoch = epochs[sample.epoch];
    ++epoch.ranks;
    for (std::size_t i = 0; i < epoch.sent.size(); ++i) epoch.sent[i] += sample.sent_bytes[i];
  }
  const auto exact = static_cast<double>(std::accumulate(traffic.exact.begin(), traffic.exact.end(), std::uint64_t{0}));
  double later = 0, count = 0;
  for (const auto& [number, epoch] : epochs) {
    if (epoch.ranks != ranks) continue;
    const double share = static_cast<double>(covered_bytes(traffic, epoch)) / exact;
    result.sent_share.push_back(share);
    result.sent_bytes_by_epoch.push_back(std::accumulate(epoch.sent.begin(), epoch.sent.end(), std::uint64_t{0}));
    if (number == 0) continue;
    later += share;
    ++count;
  }
  if (count == 0) return;
  (result.exact ? result.notes : result.approximations)
      .push_back(
          fmt::format("stale exchanges sent {:.4f} of the exact run's bytes after the first epoch", later / count));
}

}  // namespace strobe
