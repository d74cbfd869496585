// Seconds of one operation on one GPU of a cluster. No other code turns work into time.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backends/cluster.hpp"

namespace strobe::sim {

/// Seconds of the operation called `op`: by the cluster's calibration when it has a fit for that name, else by the
/// described roofline (operation_cost.cpp). `ranks` ranks compute at the same time, on average.
double operation_seconds(const Cluster& cluster, std::string_view op, const Work& work, ElementType precision,
                         double ranks = 1);

/// `operation_seconds` in a cluster and in draws of it (drawn_clusters.hpp), which differ from it in constants alone.
/// Terms that they have in common are computed once for each operation.
class DrawnOperation {
 public:
  /// The first one is the described cluster.
  explicit DrawnOperation(std::vector<std::shared_ptr<const Cluster>> clusters);
  /// `seconds` is about this operation from now on.
  void set(std::string_view op, const Work& work, ElementType precision, double ranks);
  double seconds(std::size_t cluster) const;

 private:
  const std::vector<double>& factors(std::string_view op);

  std::vector<std::shared_ptr<const Cluster>> clusters_;
  std::map<std::string, std::vector<double>, std::less<>> factors_;  // of fits, by name and cluster
  ElementType precision_ = ElementType::f32;
  double flops_ = 0, bytes_ = 0, rounds_ = 0;
  double fitted_ = -1;                                // negative: no fit
  const std::vector<double>* own_factors_ = nullptr;  // with a fit
};

/// Seconds by the described roofline, ignoring fits.
double roofline_seconds(const GpuModel& gpu, const Work& work, ElementType precision);

/// Bytes between memory and cache; an indexed operation moves more than its compulsory bytes.
double memory_bytes(const GpuModel& gpu, const Work& work);

}  // namespace strobe::sim
