// Rows: one per case, everything that is reported about it. A row is plain data; `summarise` makes it from samples.
//
// Version of the written form: schema_version, semantic versioning. A key added raises the minor number; a key removed,
// renamed or given another meaning or unit raises the major number. Readers refuse a newer major number and ignore keys
// that they do not know. Version 2 renamed phase `sample` to `host`; version 1 is still read. Before 2.3, the bytes of
// `sampling` were in `memory`.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "results/row/epoch_ranks.hpp"
#include "results/row/machine_reading.hpp"
#include "results/row/sample.hpp"

namespace strobe {

inline constexpr const char* summary_schema_version = "2.5.0";

/// Seconds of an epoch over all measured epochs; each epoch counts with its slowest rank. NaN where absent.
struct EpochSeconds {
  double median = std::numeric_limits<double>::quiet_NaN();
  double min = median, mean = median, max = median;
  double p95 = median;                           // linear interpolation
  double ci95_low = median, ci95_high = median;  // of the median, over rounds, or epochs of one process (6 at least)
  std::int64_t n = 0;                            // measured epochs, all repetitions
};

/// The range, in seconds, in which 90 % of the measured medians lay when such predictions were compared with them.
/// `source` says where that is known from.
struct EpochBand {
  double low = std::numeric_limits<double>::quiet_NaN();
  double high = low;
  std::string source;
};

/// The work of one epoch over all ranks; 0 = not known.
struct EpochWork {
  double cells = 0;    // vertices of the trained steps
  double edges = 0;    // edges of the trained steps
  double events = 0;   // timed edges
  double updates = 0;  // of the weights
};

/// A ratio over ranks of the busy time in an epoch, averaged over measured epochs.
struct Imbalance {
  double max_over_min = std::numeric_limits<double>::quiet_NaN();
  double max_over_mean = max_over_min;
};

/// Fractions (0 to 1) of the peaks of all ranks together.
struct Roofline {
  double flops_fraction = std::numeric_limits<double>::quiet_NaN();
  double bandwidth_fraction = flops_fraction;
};

/// Peak rates of the device of one rank.
struct DevicePeaks {
  double flops_per_second = std::numeric_limits<double>::quiet_NaN();
  double bytes_per_second = flops_per_second;  // of its memory
};

/// Peak accounted memory per rank, bytes [ranks].
struct PeakBytes {
  std::vector<std::uint64_t> host, device;
};

/// Memory per rank in bytes, by part [ranks].
using PartsOfRanks = PerMemoryPart<std::vector<std::uint64_t>>;

struct MemoryBytes {
  PartsOfRanks accounted;  // at the peak; the parts of a rank add up to it
  /// The same as planned, where that was asked for.
  std::optional<PartsOfRanks> planned;
  /// Where each rank is a process: the data that the process holds next to the accounted memory, and the most private
  /// memory that it had.
  std::optional<PartsOfRanks> host;
  std::optional<std::vector<std::uint64_t>> process;
};

/// The processes that measured a case in turn with others: `--rounds`.
struct RoundTimes {
  std::string session;          // names the processes that took turns
  std::vector<double> seconds;  // [rounds] median of the measured epochs; NaN where a round has none
};

/// Every key that a row's throughput may have.
inline constexpr std::string_view throughput_keys[] = {throughput_units[0], throughput_units[1], throughput_units[2],
                                                       "nonzeros_per_second"};

using SentBytes = EnumArray<Traffic, std::uint64_t, traffic_count + 1>;  // by traffic, then the total

/// Everything reported about one case. Optional and NaN values are written as null, with the reason in `absent` under
/// the value's JSON pointer within the row ("/loss", "/epoch_seconds/ci95_low").
struct Row {
  std::string case_id, status = "ok", reason;
  Json workload, model, strategy, task, optimizer;  // {"name", every parameter}
  std::string device, comm, cluster, numerics, precision;
  std::int64_t ranks = 1, seed = 0;
  Json settings = Json::object();  // the case's remaining scalar settings
  std::string time_source = "wall";
  std::optional<EpochSeconds> epoch_seconds;
  std::optional<EpochBand> epoch_seconds_band90;  // of predicted times
  std::optional<RoundTimes> rounds;               // of rows that several processes measured
  std::optional<MachineState> machine;            // what else it did meanwhile
  std::optional<PerPhase<double>> phase_seconds;
  double hidden_communicate_seconds = std::numeric_limits<double>::quiet_NaN();
  std::optional<std::map<std::string, double>> operation_seconds, operation_flops, operation_bytes;  // by operation
  std::optional<SentBytes> sent_bytes;
  std::optional<std::uint64_t> transfer_bytes, messages;
  std::optional<PeakBytes> peak_bytes;
  std::optional<MemoryBytes> memory_bytes;
  double device_memory_share = std::numeric_limits<double>::quiet_NaN();  // peak over limit of the fullest rank
  std::optional<Imbalance> imbalance;
  std::optional<std::vector<double>> loss;
  std::map<std::string, std::optional<std::vector<double>>> metrics;
  std::map<std::string, std::int64_t> metric_samples;              // by metric: over how many samples it is taken
  double load_seconds = std::numeric_limits<double>::quiet_NaN();  // before the first epoch, slowest process
  std::map<std::string, double> throughput;                        // of throughput_keys
  std::optional<EpochWork> epoch_work;                             // of an epoch; rows before version 1.11 have none
  std::optional<std::int64_t> iterations;                          // updates of the weights in an epoch
  std::map<std::string, Json> facts;  // keys of the kind of training (FactsTag), those that have a value
  std::optional<Roofline> roofline;
  std::optional<DevicePeaks> device_peaks;
  double dollars_per_epoch = std::numeric_limits<double>::quiet_NaN();
  std::string currency;               // of dollars_per_epoch, ISO 4217; "" = no price
  std::vector<std::int64_t> threads;  // kernel threads of each rank; empty = not known
  std::optional<UntilOutcome> until;  // only where the case asks for it
  bool exact = true;
  std::vector<std::string> approximations;  // in force when not exact
  Json planned_bytes = Json::object();      // per epoch and traffic, from the plan
  std::vector<std::string> notes;
  std::map<std::string, std::string> absent;
};

/// The row of a case (`case_json` as case_to_json gives it) from its result. Phases are those of
/// busiest_of_each_epoch, with their waiting for the slowest rank, averaged, so they add up to epoch_seconds.mean. A
/// result that claims to be ok but holds no measured epoch becomes a failed row. Throws Error when its unit of
/// throughput is none of throughput_units.
Row summarise(const Json& case_json, const std::string& case_id, const CaseResult& result);

/// The row of a case without samples: its status, its reason, and the median of its epochs in seconds (NaN: unknown).
/// Every other value is absent because of `why`.
Row row_of_median(const Json& case_json, const std::string& case_id, const std::string& status,
                  const std::string& reason, double median_seconds, const std::string& why);

/// The work of the row's epoch. Rows without `epoch_work` have it by their throughput and median, up to rounding.
EpochWork work_of(const Row& row);

/// The case that the row is of, as case_to_json gave it to `summarise`.
Json case_json_of(const Row& row);

/// The row as summary.json holds it, every key present, in the order of `row_fields`.
Json row_to_json(const Row& row);

/// Reads a row back exactly; `file` names the source in the InvalidInput that a missing key or wrong type throws.
Row row_from_json(const Json& json, const std::string& file);

/// One key of a row: what it means, in which unit, and how it is read and written. The one description that drives
/// summary.json, summary.csv and the JSON Schema.
struct RowField {
  std::string key;
  std::string unit;  // "s", "bytes", "1" for a pure number, "" for text
  std::string help;
  Json schema;  // JSON Schema of the value, without its description
  std::function<Json(const Row&)> get;
  std::function<void(Row&, const Json&)> set;
  bool later = false;  // not in files of an older version; absent there, it keeps its default
};
const std::vector<RowField>& row_fields();

/// JSON Schema (draft 2020-12) of summary.json, generated from `row_fields`.
Json summary_schema();

/// summary.json as a value.
struct Summary {
  std::string plan_hash;
  std::vector<Row> rows;
};
Json summary_to_json(const Summary& summary);

/// Reads a summary.json. Throws SystemError when it cannot be read, InvalidInput when it is not one, has another major
/// schema version, or a row was changed: its digest is wrong, or its losses and metrics differ from values.jsonl in
/// the same folder. Rows without digests are noted (note_unproven_file).
Summary read_summary(const std::string& path);

/// The rows as CSV (RFC 4180: CRLF, quotes doubled), one header line whose names carry the units; objects are
/// flattened with dots ("epoch_seconds.median"), arrays joined with ';', absent values empty.
std::string rows_to_csv(const std::vector<Row>& rows);

}  // namespace strobe
