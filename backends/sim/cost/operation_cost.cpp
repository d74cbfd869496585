// The described model of one operation: a roofline with a floor,
//   time = max(launch, flops / sustained peak of the precision, memory bytes / achieved bandwidth, rounds x latency).
// Rounds are the steps of a recurrence, and each waits for the one before: a GPU takes about a microsecond for one
// however little it computes, which for the evolving weights of EvolveGCN is nearly all of their time.
// Memory bytes are the compulsory ones of the operation's shapes. Rows read through an index (sparse products,
// attention over neighbours) add the accesses that the L2 cache misses:
//   - width: a row is fetched in sectors of 32 bytes, so a row of 24 bytes costs 32 (CUDA C++ Programming Guide, device
//     memory accesses);
//   - degree and working set: of the accesses beyond the first of each row the share h = min(1, L2 / window) is caught,
//     window being the sectors of one snapshot's rows: random replacement under uniform access. So the bytes lie
//     between the compulsory (all rows of a snapshot fit) and one fetch per entry (none does), the two bounds between
//     which published sparse products lie.
// Size enters by the floor, precision by the peak. Not modelled: skew of degrees (hubs stay in the cache, so skewed
// graphs are faster), the algorithm of a product (published factors of 2 to 4). A calibration replaces the model
// per operation. Invariants: more work never takes less time; more cache or bandwidth never more. Cost: O(1). Source:
// Williams, Waterman and Patterson, CACM 52(4), 2009.
#include "backends/sim/cost/operation_cost.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "backends/drawn_clusters.hpp"

namespace strobe::sim {
namespace {
constexpr double sector_bytes = 32;
}

double memory_bytes(const GpuModel& gpu, const Work& work) {
  const Gather& gather = work.gather;
  if (gpu.l2_bytes == 0 || !(gather.row_bytes > 0)) return work.bytes();
  const double waste = std::ceil(gather.row_bytes / sector_bytes) * sector_bytes / gather.row_bytes;
  const double window = gather.window_bytes * waste;
  const double caught = window > 0 ? std::min(1.0, static_cast<double>(gpu.l2_bytes) / window) : 1.0;
  const double again = std::max(0.0, gather.accessed_bytes - gather.distinct_bytes);
  return work.bytes() + again * waste * (1 - caught);
}

namespace {

/// `bytes` are those of `memory_bytes`.
double roofline(const GpuModel& gpu, double flops, double bytes, double rounds, ElementType precision) {
  const double peak = precision == ElementType::f64 ? gpu.flops_fp64_per_second : gpu.flops_fp32_per_second;
  return std::max({gpu.launch_seconds, flops / peak, bytes / gpu.memory_bytes_per_second, rounds * gpu.round_seconds});
}

}  // namespace

double roofline_seconds(const GpuModel& gpu, const Work& work, ElementType precision) {
  return roofline(gpu, work.flops, memory_bytes(gpu, work), work.rounds, precision);
}

double operation_seconds(const Cluster& cluster, std::string_view op, const Work& work, ElementType precision,
                         double ranks) {
  if (cluster.calibration != nullptr) {
    const double fitted = cluster.calibration->operation_seconds(op, work, precision, ranks);
    if (fitted >= 0) return fitted;
  }
  return roofline_seconds(cluster.gpu, work, precision);
}

DrawnOperation::DrawnOperation(std::vector<std::shared_ptr<const Cluster>> clusters) : clusters_(std::move(clusters)) {}

const std::vector<double>& DrawnOperation::factors(std::string_view op) {
  const auto known = factors_.find(op);
  if (known != factors_.end()) return known->second;
  std::vector<double> all{1};
  for (std::size_t draw = 1; draw < clusters_.size(); ++draw) all.push_back(factor_of_fits(*clusters_[draw], op));
  return factors_.emplace(op, std::move(all)).first->second;
}

void DrawnOperation::set(std::string_view op, const Work& work, ElementType precision, double ranks) {
  const Cluster& described = *clusters_.front();
  fitted_ = -1;
  if (described.calibration != nullptr) fitted_ = described.calibration->operation_seconds(op, work, precision, ranks);
  if (fitted_ >= 0) {
    own_factors_ = &factors(op);
    return;
  }
  precision_ = precision;
  flops_ = work.flops;
  bytes_ = memory_bytes(described.gpu, work);
  rounds_ = work.rounds;
}

double DrawnOperation::seconds(std::size_t cluster) const {
  if (fitted_ >= 0) return (*own_factors_)[cluster] * fitted_;
  return roofline(clusters_[cluster]->gpu, flops_, bytes_, rounds_, precision_);
}

}  // namespace strobe::sim
