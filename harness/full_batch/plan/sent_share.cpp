#include "harness/full_batch/plan/sent_share.hpp"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

namespace strobe {
namespace {

struct EpochBytes {
  int ranks = 0;
  PerTraffic<std::uint64_t> sent{};
};

/// Bytes of the covered exchanges: the bytes of their kinds of traffic, minus the bytes of other exchanges.
std::uint64_t covered_bytes(const StaleTraffic& traffic, const EpochBytes& epoch) {
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < epoch.sent.size(); ++i)
    if (traffic.exact[i] > 0) bytes += epoch.sent[i] - traffic.beside[i];
  return bytes;
}

}  // namespace

void add_sent_share(const StaleTraffic& traffic, int ranks, bool exact, const std::vector<EpochSample>& samples,
                    Facts& facts) {
  std::map<int, EpochBytes> epochs;
  for (const EpochSample& sample : samples) {
    if (sample.repetition != 0) continue;
    EpochBytes& epoch = epochs[sample.epoch];
    ++epoch.ranks;
    for (std::size_t i = 0; i < epoch.sent.size(); ++i) epoch.sent[i] += sample.sent_bytes[i];
  }
  const double exact_bytes = std::accumulate(traffic.exact.begin(), traffic.exact.end(), std::uint64_t{0});
  std::vector<double> shares;
  std::vector<std::uint64_t> bytes;
  double later = 0, count = 0;
  for (const auto& [number, epoch] : epochs) {
    if (epoch.ranks != ranks) continue;
    const double share = static_cast<double>(covered_bytes(traffic, epoch)) / exact_bytes;
    shares.push_back(share);
    bytes.push_back(std::accumulate(epoch.sent.begin(), epoch.sent.end(), std::uint64_t{0}));
    if (number == 0) continue;
    later += share;
    ++count;
  }
  if (!shares.empty()) {
    facts.values["sent_share"] = shares;
    facts.values["sent_bytes_by_epoch"] = bytes;
  }
  if (count == 0) return;
  const double mean = later / count;
  (exact ? facts.notes : facts.approximations)
      .push_back(fmt::format("stale exchanges sent {:.4f} of the exact run's bytes after the first epoch", mean));
  if (mean < 1) return;
  facts.notes.push_back(
      "stale saves no bytes here: nearly all rows moved, and telling which of them come took more than the others; use "
      "stale=none or a higher threshold");
}

}  // namespace strobe
