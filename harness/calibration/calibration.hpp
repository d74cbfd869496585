// Calibration measures this machine and writes the results as a cluster file for the simulator.
//   measure_calibration    runs the cases of a suite and the collectives, and returns their times
//   measure_host           the same for host operations outside the devices (host_rates.hpp)
//   calibrated_cluster     fits the times and writes the fits, with their residuals, as the JSON of a cluster
//   add_bands              adds the errors of predictions for workloads that a fit has not seen
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "harness/calibration/collective_timings.hpp"
#include "harness/calibration/host_rates.hpp"
#include "harness/calibration/machine_rates.hpp"
#include "harness/calibration/operation_timings.hpp"
#include "harness/request/suite.hpp"

namespace strobe {

/// One measured case.
struct MeasuredCase {
  Case request;
  std::string id;
  std::string workload;      // as text; a judged fit leaves out all cases of one workload together
  double epoch_seconds = 0;  // median over measured epochs of the slowest rank
  double gap_seconds = 0;    // per operation: median over epochs of `other` of rank 0, over its operations
};

/// All measurements of a calibration.
struct CalibrationData {
  std::string device, comm, precision;
  int cores = 0;  // shared by the ranks; 0: each rank has a processor of its own
  std::vector<MeasuredCase> cases;
  std::vector<OperationTiming> operations;
  std::vector<CollectiveTiming> collectives;
  MachineRates rates;
  HostMeasurement host;             // without cores: not measured
  std::vector<std::string> failed;  // "ID: reason" of cases that did not end ok
};

struct CalibrationListener {
  std::function<void(const std::string& id)> begin;
  std::function<void(const std::string& id, const std::string& time, const std::string& status,
                     const std::string& reason)>
      end;
  /// Gets the samples of a case, or of the collectives at a number of ranks, as soon as they are measured. Called in
  /// the first process only. May be empty.
  std::function<void(const std::vector<OperationTiming>&, const std::vector<CollectiveTiming>&)> keep = {};
};

/// Runs every case of `suite` and keeps its spans. Then measures the collectives at each number of ranks in the suite,
/// and the machine's peak rates. It does not measure the host (measure_host). A failed case is listed and left out.
///
/// Throws InvalidRequest unless all cases have one device, communicator and precision and none is simulated. Throws
/// Interrupted on a stop signal.
CalibrationData measure_calibration(const Suite& suite, const CalibrationListener& listener);

/// The parts of a cluster file that are not fits.
struct ClusterDescription {
  std::string name, description, date, source;
  std::uint64_t memory_bytes = 0;  // of the machine
};

/// The cluster's JSON from `data`, without bands: one node with one GPU per core (or per measured rank, if there are
/// more). The number doubles if ranks share cores, because more ranks than cores take turns. Throws InvalidRequest when
/// nothing was measured.
Json calibrated_cluster(const CalibrationData& data, const ClusterDescription& about);

/// A measured epoch with its prediction from a fit to the cases of other workloads.
struct HeldOutEpoch {
  std::string id;
  double measured_seconds = 0, predicted_seconds = 0;
  std::int64_t ranks = 1;
  double ratio() const { return measured_seconds / predicted_seconds; }
};

/// Predicts the cases of each workload, except the quickest and the slowest, from a fit to all others. Empty with fewer
/// than three workloads. Simulates each such case once.
std::vector<HeldOutEpoch> held_out_epochs(const CalibrationData& data, const ClusterDescription& about);

/// Powers that turn a band's factors into a band for the epochs of real graphs.
struct BandPowers {
  double low = 1, high = 1;
};

/// Results of seven validations on processors: on one rank, on the calibrated number (2), and on twice that number (4
/// ranks on 2 cores). These powers of a calibration's factors cover 95 % of the ratios on either side. Method: split
/// conformal prediction, with the calibration's own factors as the scale of a score. A fit extrapolates to workloads
/// that it leaves out, but real graphs lie between the fitted ones. So without these powers the bands cover 98.9 %
/// (docs/explanation/calibration.md).
inline constexpr BandPowers powers_of_one_rank{0.67, 0.35}, powers_of_measured_ranks{0.57, 0.46},
    powers_of_twice_the_ranks{0.71, 0.69};

/// Adds the 90 % bands of `epochs` to the cluster: the smallest factors that cover 95 % of the ratios on either side,
/// for n + 1 exchangeable ratios. Source: split conformal prediction (Vovk, Gammerman and Shafer, Algorithmic Learning
/// in a Random World, 2005). For a processor (`device` cpu), the factors get the powers above. Fewer than 19 cases
/// cannot determine 5 %. Then the extremes are the band, and the source says so.
void add_bands(const std::vector<HeldOutEpoch>& epochs, const std::string& device, const std::string& date,
               Json& cluster);

}  // namespace strobe
