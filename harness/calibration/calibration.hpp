// Calibration: this machine, measured, as a cluster file that the simulator reads.
//   measure_calibration    runs the cases of a suite and the collectives, and keeps what they took
//   measure_host           the same for what the host does beside its devices (host_rates.hpp)
//   calibrated_cluster     fits the times and writes them, with their residuals, as the JSON of a cluster
//   add_bands              how far predictions of workloads that a fit has not seen are from what they took
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "harness/calibration/collective_samples.hpp"
#include "harness/calibration/host_rates.hpp"
#include "harness/calibration/machine_rates.hpp"
#include "harness/calibration/operation_samples.hpp"
#include "harness/request/suite.hpp"

namespace strobe {

/// One measured case.
struct MeasuredCase {
  Case request;
  std::string id;
  std::string workload;      // as text; cases of one workload stay together when a fit is judged
  double epoch_seconds = 0;  // median over measured epochs of the slowest rank
  double gap_seconds = 0;    // per operation: median over epochs of `other` of rank 0, over its operations
};

/// Everything that was measured.
struct CalibrationData {
  std::string device, comm, precision;
  int cores = 0;  // that ranks share; 0: each rank has a processor of its own
  std::vector<MeasuredCase> cases;
  std::vector<OperationSample> operations;
  std::vector<CollectiveSample> collectives;
  MachineRates rates;
  HostMeasurement host;             // without cores: nobody measured it
  std::vector<std::string> failed;  // "ID: reason" of cases that did not end ok
};

struct CalibrationListener {
  std::function<void(const std::string& id)> begin;
  std::function<void(const std::string& id, const std::string& time, const std::string& status,
                     const std::string& reason)>
      end;
  /// Gets the samples of a case, or of the collectives at a number of ranks, as soon as they are measured; in the first
  /// process only. May be empty.
  std::function<void(const std::vector<OperationSample>&, const std::vector<CollectiveSample>&)> keep = {};
};

/// Runs every case of `suite` with its spans kept, then the collectives at each number of ranks that occurs, then the
/// ceilings; the host is left to measure_host. All cases must be of one device, communicator and precision, and none
/// simulated: InvalidRequest otherwise. Throws Interrupted on a stop signal; a failed case is listed and left out.
CalibrationData measure_calibration(const Suite& suite, const CalibrationListener& listener);

/// What a cluster file says beside the fits.
struct ClusterDescription {
  std::string name, description, date, source;
  std::uint64_t memory_bytes = 0;  // of the machine
};

/// The cluster's JSON from `data`, without a band: one node of as many GPUs as there are cores (or as ranks were
/// measured, if more) and, since ranks beyond the cores take turns, again as many. Throws InvalidRequest when nothing
/// was measured.
Json calibrated_cluster(const CalibrationData& data, const ClusterDescription& about);

/// An epoch that was measured, and predicted from a fit to the cases of other workloads.
struct HeldOutEpoch {
  std::string id;
  double measured_seconds = 0, predicted_seconds = 0;
  std::int64_t ranks = 1;
  double ratio() const { return measured_seconds / predicted_seconds; }
};

/// Predicts the cases of each workload but the quickest and the slowest from a fit to all others. Empty with fewer than
/// three workloads. Simulates each such case once.
std::vector<HeldOutEpoch> held_out_epochs(const CalibrationData& data, const ClusterDescription& about);

/// Powers of a band's factors that are a band for the epochs of real graphs.
struct BandPowers {
  double low = 1, high = 1;
};

/// What seven kept validations of processors found, on one rank, on as many as were calibrated (2), and on twice as
/// many (4 ranks on 2 cores): the powers of their calibrations' factors that hold 95 % of the ratios on either side, by
/// split conformal prediction with the calibration's own factors as the scale of a score. Workloads left out of a fit
/// are extrapolated to, real graphs lie between those that are fitted, so without them bands hold 98.9 %
/// (docs/calibration.md).
inline constexpr BandPowers powers_of_one_rank{0.67, 0.35}, powers_of_measured_ranks{0.57, 0.46},
    powers_of_twice_the_ranks{0.71, 0.69};

/// Adds the 90 % bands of `epochs` to the cluster: the smallest factors that hold 95 % of the ratios on either side, as
/// of n + 1 exchangeable ones (split conformal: Vovk, Gammerman and Shafer, Algorithmic Learning in a Random World,
/// 2005), and of a processor (`device` cpu) the powers above of them. Fewer than 19 cases cannot tell 5 % apart; then
/// the extremes are the band and the source says so.
void add_bands(const std::vector<HeldOutEpoch>& epochs, const std::string& device, const std::string& date,
               Json& cluster);

}  // namespace strobe
