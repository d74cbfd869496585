// Measures prediction errors for workloads that the fit has not seen. It leaves out each workload in turn, fits the
// others, and simulates the left-out cases on the resulting cluster. Cost: one fit per workload, one simulated case per
// case.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include "core/content_digest.hpp"
#include "core/errors.hpp"
#include "harness/calibration/calibration.hpp"
#include "harness/run/run_case.hpp"
#include "harness/validation/pairs.hpp"
#include "results/row/row.hpp"
#include "results/row/statistics.hpp"
#include "results/run/files.hpp"

namespace strobe {
namespace {

/// A file in the system's temporary folder, removed by the destructor.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& name)
      : path_(std::filesystem::temp_directory_path() / fmt::format("{}-{}.json", name, ::getpid())) {}
  ~TemporaryFile() {
    std::error_code ignored;  // if the file cannot be removed, it stays
    std::filesystem::remove(path_, ignored);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

CalibrationData without(const CalibrationData& data, const std::string& workload) {
  CalibrationData rest = data;
  const auto of_it = [&](const auto& one) { return one.workload == workload; };
  const auto leave_out = [&](auto& all) { all.erase(std::remove_if(all.begin(), all.end(), of_it), all.end()); };
  leave_out(rest.cases);
  leave_out(rest.operations);
  leave_out(rest.collectives);
  return rest;
}

/// Seconds of the case's epoch on the cluster in `path`.
double simulated_seconds(const Case& measured, const std::string& path, const DataCache& cache) {
  Case simulated = simulated_case(measured, path);
  simulated.epochs = simulated.warmup = 1;
  const CaseResult result = run_case(simulated, nullptr, {}, cache);
  if (result.status != "ok") throw Error(case_id(measured) + " could not be simulated: " + result.reason);
  std::vector<double> seconds;
  for (const EpochSample* sample : slowest_of_each_epoch(result.samples, simulated.ranks))
    seconds.push_back(sample->epoch_seconds);
  return median(seconds);
}

/// Workloads sorted by the total time of their cases, without the first and the last.
std::vector<std::string> inner_workloads(const CalibrationData& data) {
  std::map<std::string, double> seconds;
  for (const MeasuredCase& c : data.cases) seconds[c.workload] += c.epoch_seconds;
  std::vector<std::pair<double, std::string>> order;
  for (const auto& [workload, sum] : seconds) order.emplace_back(sum, workload);
  std::sort(order.begin(), order.end());
  std::vector<std::string> inner;
  for (std::size_t i = 1; i + 1 < order.size(); ++i) inner.push_back(order[i].second);
  return inner;
}

}  // namespace

std::vector<HeldOutEpoch> held_out_epochs(const CalibrationData& data, const ClusterDescription& about) {
  std::vector<HeldOutEpoch> epochs;
  const DataCache cache;
  const TemporaryFile file("strobe-held-out");
  for (const std::string& workload : inner_workloads(data)) {
    write_file_atomically(file.path(), with_digest(calibrated_cluster(without(data, workload), about)).dump());
    for (const MeasuredCase& c : data.cases) {
      if (c.workload != workload) continue;
      epochs.push_back({c.id, c.epoch_seconds, simulated_seconds(c.request, file.path(), cache), c.request.ranks});
    }
  }
  return epochs;
}

namespace {

Json band_json(double low, double high, std::int64_t ranks, const std::string& source, const std::string& date) {
  return {{"low_factor", low}, {"high_factor", high}, {"ranks", ranks}, {"source", source}, {"date", date}};
}

/// The bands of a processor for one rank, for the measured number of ranks, and for twice that number.
Json bands_by_ranks(double low, double high, std::int64_t ranks, const std::string& source, const std::string& date) {
  Json bands = Json::array();
  const auto add = [&](BandPowers powers, std::int64_t most, const std::string& of) {
    const std::string how = fmt::format(
        "; as held-out {:.3g} and {:.3g} to the powers {:g} and {:g}, which hold 90 % of "
        "the epochs of real graphs on {} in seven validations of processors",
        low, high, powers.low, powers.high, of);
    bands.push_back(band_json(std::pow(low, powers.low), std::pow(high, powers.high), most, source + how, date));
  };
  add(powers_of_one_rank, 1, "one rank");
  if (ranks == 1) return bands;
  add(powers_of_measured_ranks, ranks, "as many ranks as were calibrated");
  add(powers_of_twice_the_ranks, 2 * ranks, "twice the ranks that were calibrated, which shared cores");
  return bands;
}

}  // namespace

void add_bands(const std::vector<HeldOutEpoch>& epochs, const std::string& device, const std::string& date,
               Json& cluster) {
  if (epochs.empty()) return;
  std::vector<double> ratios, errors;
  std::int64_t ranks = 1;
  for (const HeldOutEpoch& epoch : epochs) {
    ranks = std::max(ranks, epoch.ranks);
    ratios.push_back(epoch.ratio());
    errors.push_back(std::abs(1 / epoch.ratio() - 1));
  }
  std::sort(ratios.begin(), ratios.end());
  // The k-th smallest of n bounds the next ratio with probability k / (n + 1).
  const double n = ratios.size();
  const auto outside = static_cast<std::size_t>(std::max(1.0, std::floor(0.05 * (n + 1))));
  const bool enough = n >= 19;
  const std::string source = fmt::format(
      "strobe calibrate: {} epochs of this machine, each predicted from other workloads, quicker and slower ones among "
      "them; mean error {:.3g} %{}",
      epochs.size(), 100 * mean(errors), enough ? "" : "; too few for 90 %, so the band is their extremes");
  const double low = ratios[outside - 1], high = ratios[ratios.size() - outside];
  cluster["epoch_band_90"] = enough && is_on_host(device) ? bands_by_ranks(low, high, ranks, source, date)
                                                          : band_json(low, high, ranks, source, date);
}

}  // namespace strobe
