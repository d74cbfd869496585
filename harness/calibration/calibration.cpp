// Measures a calibration. Returns raw samples; calibrated_cluster.cpp interprets them. Invariant: every sample belongs
// to a case that ended ok and moved every byte of its plan. Cost: the cases' own time.
#include "harness/calibration/calibration.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "backends/communicator.hpp"
#include "core/errors.hpp"
#include "core/system/interrupt.hpp"
#include "core/system/machine_limits.hpp"
#include "core/units.hpp"
#include "harness/run/launch_request.hpp"
#include "harness/run/run_case.hpp"
#include "results/row/row.hpp"
#include "results/row/statistics.hpp"

namespace strobe {
namespace {

constexpr std::uint64_t largest_collective_bytes = std::uint64_t{1} << 24;

void check_suite(const Suite& suite) {
  const Case& first = suite.cases.front();
  for (const Case& c : suite.cases) {
    const std::string id = case_id(c);
    if (!c.cluster.empty())
      throw InvalidRequest(suite.place_of(id, "/device"),
                           id + " is simulated, but calibrate measures; choose a real device");
    if (c.device != first.device || c.comm != first.comm || c.precision != first.precision) {
      throw InvalidRequest(suite.place_of(id, "/device"),
                           id + " has another device, communicator or precision than the suite's first case");
    }
  }
}

/// Mean time between two operations of rank 0: an epoch's time outside operations, divided by its number of operations.
double gap_seconds(const CaseResult& result, const std::vector<Span>& spans) {
  std::vector<double> gaps;
  const double operations = std::count_if(
      spans.begin(), spans.end(), [](const Span& span) { return span.stream == Stream::compute && span.blocking; });
  double epochs = 0;
  for (const EpochSample& sample : result.samples) epochs += sample.rank == 0 ? 1 : 0;
  for (const EpochSample& sample : result.samples) {
    if (sample.rank == 0 && !sample.warmup) gaps.push_back(sample.phase_seconds[Phase::other]);
  }
  return gaps.empty() || operations == 0 ? 0 : median(gaps) / (operations / epochs);
}

/// Adds samples to the measurements. Passes them to the listener first, in case the process is lost.
void keep_samples(std::vector<OperationTiming> operations, std::vector<CollectiveTiming> collectives,
                  const CalibrationListener& listener, CalibrationData& data) {
  if (listener.keep) listener.keep(operations, collectives);
  for (OperationTiming& sample : operations) data.operations.push_back(std::move(sample));
  for (CollectiveTiming& sample : collectives) data.collectives.push_back(std::move(sample));
}

void keep_case(const Case& c, const CaseResult& result, const std::vector<std::vector<Span>>& spans,
               const CalibrationListener& listener, CalibrationData& data) {
  MeasuredCase measured{c, case_id(c), c.workload.dump(), 0, gap_seconds(result, spans.front())};
  std::vector<double> epochs;
  for (const EpochSample* sample : slowest_of_each_epoch(result.samples, c.ranks))
    epochs.push_back(sample->epoch_seconds);
  measured.epoch_seconds = median(epochs);
  OperationTiming of_case;
  of_case.configuration = measured.id;
  of_case.workload = measured.workload;
  of_case.ranks = static_cast<int>(c.ranks);
  of_case.precision = c.precision == "fp64" ? ElementType::f64 : ElementType::f32;
  const KeptEpochs kept{static_cast<int>(c.warmup), static_cast<int>(c.epochs)};
  keep_samples(operation_timings(spans, kept, of_case), epoch_collectives(spans, kept, measured.workload), listener,
               data);
  data.cases.push_back(std::move(measured));
}

void measure_case(const Case& c, bool first_process, const CalibrationListener& listener, const DataCache& cache,
                  CalibrationData& data) {
  const std::string id = case_id(c);
  listener.begin(id);
  std::vector<std::vector<Span>> spans;
  CaseResult result;
  try {
    result = run_case(c, &spans, {}, cache);
  } catch (const InvalidRequest& error) {  // the strategy cannot place this model, so there is nothing to learn
    result.status = "failed";
    result.reason = error.what();
  }
  if (result.status != "ok") data.failed.push_back(id + ": " + result.reason);
  if (result.status == "ok" && first_process) keep_case(c, result, spans, listener, data);
  const bool kept = result.status == "ok" && first_process;
  listener.end(id, kept ? format_seconds(data.cases.back().epoch_seconds) : "", result.status, result.reason);
}

/// The cases in an order that separates neighbours of the suite, by multiples of the golden ratio. If the machine is
/// slower for a minute, a few cases of every kind are slow, and not all cases of one number of ranks.
std::vector<const Case*> spread(const std::vector<Case>& cases) {
  std::vector<std::pair<double, const Case*>> places;
  for (const Case& c : cases) {
    const double turns = 0.6180339887498949 * static_cast<double>(places.size());
    places.emplace_back(turns - std::floor(turns), &c);
  }
  std::sort(places.begin(), places.end());
  std::vector<const Case*> order;
  for (const auto& place : places) order.push_back(place.second);
  return order;
}

}  // namespace

CalibrationData measure_calibration(const Suite& suite, const CalibrationListener& listener) {
  check_suite(suite);
  const Case& any = suite.cases.front();
  const auto& comm = CommunicatorRegistry::instance().find(any.comm, "/comm").value;
  const bool first_process = comm.process_rank() == 0;
  CalibrationData data;
  data.device = any.device;
  data.comm = any.comm;
  data.precision = any.precision;
  std::set<std::int64_t> ranks;
  const DataCache cache;
  for (const Case* c : spread(suite.cases)) {
    if (const int signal = stop_signal().load(); signal != 0) throw Interrupted(signal);
    measure_case(*c, first_process, listener, cache, data);
    ranks.insert(c->ranks);
  }
  for (const std::int64_t count : ranks) {
    Case c = any;
    c.ranks = count;
    listener.begin("collectives of " + std::to_string(count) + " ranks");
    const CalibrationListener& reported = first_process ? listener : CalibrationListener{};
    keep_samples({}, collective_timings(any.comm, launch_request(c), largest_collective_bytes), reported, data);
  }
  data.rates = machine_rates(any, *ranks.begin());
  if (!data.rates.own_memory) data.cores = usable_cores();
  return data;
}

}  // namespace strobe
