// Samples: the times and bytes of one rank in one epoch, computed from its spans. Rows are made from them.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/memory_part.hpp"
#include "backends/span.hpp"
#include "backends/stage_rows.hpp"
#include "core/fields.hpp"
#include "results/row/facts.hpp"

namespace strobe {

/// The items that an epoch processes per second: the keys of a row's `throughput`. Each kind of training chooses among
/// them.
inline constexpr std::string_view throughput_units[] = {"edges_per_second", "cells_per_second", "events_per_second"};

/// One rank's epoch as plain numbers. Times are seconds on the rank's clock. Phases add up to `epoch_seconds` exactly,
/// because `other` is the epoch minus the blocking spans.
struct EpochNumbers {
  int repetition = 0;
  int epoch = 0;  // counted from 0 within the repetition, warm-up epochs included
  int rank = 0;
  bool warmup = false;
  double begin_seconds = 0;  // of the epoch, on this rank's clock; not written to files
  double epoch_seconds = 0;  // from the common start to this rank's end, before the closing barrier
  double busy_seconds = 0;   // epoch minus wait
  PerPhase<double> phase_seconds{};
  PerTraffic<std::uint64_t> sent_bytes{};
  std::uint64_t transfer_bytes = 0;
  std::uint64_t messages = 0;
  double hidden_communicate_seconds = 0;  // communication at the same time as compute
  Work work;                              // of the compute spans
  std::uint64_t peak_host_bytes = 0;
  std::uint64_t peak_device_bytes = 0;
  std::uint64_t memory_limit_bytes = 0;         // of the one of both that is accounted; 0: none is known
  PerMemoryPart<std::uint64_t> memory_parts{};  // of the one of both that is accounted, at its peak
  PerMemoryPart<std::uint64_t> host_parts{};    // of the process's data; 0: the rank shares its process
  std::uint64_t process_bytes = 0;              // most private memory of the process so far; 0: the same
  StageRows stage_rows;                         // rows that its stages computed
};

/// The total time of all spans of one operation, and their work as the operations state it.
struct OperationTotals {
  std::string_view name;  // static text (kept_text)
  double seconds = 0;
  double flops = 0;
  double bytes = 0;  // read and written

  bool operator==(const OperationTotals&) const = default;
};

/// One epoch of one rank.
struct EpochSample : EpochNumbers {
  /// The rank's operations, of the device and of its host, in order of their names. Whole spans are added up, so the
  /// sum may exceed the epoch where spans overlap. Empty in samples that were written without it.
  std::vector<OperationTotals> operations;
  /// [draws] length of the epoch in each drawn cluster. Once a case is finished, the first rank's sample holds that of
  /// the slowest rank by draw, and the others hold none.
  std::vector<double> drawn_seconds = {};
};

/// The sample of one rank's epoch from its spans [first, last) and the epoch's interval on its clock.
EpochSample sample_from_spans(const std::vector<Span>& spans, std::size_t first, std::size_t last, double begin_seconds,
                              double end_seconds);

/// Values that only exist when numbers were computed; `reason` says why they are absent otherwise.
struct Series {
  std::vector<double> per_epoch;
  std::string absent_reason;
};

/// How training that shall end early ended (`--until`).
struct UntilOutcome {
  bool reached = false;
  std::int64_t iterations = 0;  // of the first repetition, until it was reached or training ended
  double seconds = 0;           // of these, the slowest rank's epochs added up
};

/// Everything that running one case produced, over all repetitions; rank 0 holds all ranks' samples.
struct CaseResult {
  std::string status = "ok";  // ok | failed | out_of_memory | timeout | skipped | interrupted
  std::string reason;
  std::vector<EpochSample> samples;
  std::string unseen;                                // why only the times of epochs are known: "" = spans tell the rest
  std::string untimed;                               // why a case that is `ok` has no samples: "" = it must have some
  Series loss;                                       // of the first repetition, summed over ranks
  std::map<std::string, Series> metrics;             // accuracy, auc, ...
  std::string time_source = "wall";                  // wall | virtual
  std::string throughput_unit = "edges_per_second";  // one of throughput_units
  double items_per_epoch = 0;                        // of that unit: edges of the trained steps, events, ...
  double cells_per_epoch = 0;                        // vertices of the trained steps, unless the unit is cells
  double edges_per_epoch = 0;                        // edges of the trained steps, unless the unit is edges
  std::int64_t iterations_per_epoch = 0;             // updates of the weights; 0 = unknown
  Facts facts;                                       // keys of the kind of training, and why some are absent
  double nonzeros_per_epoch = 0;  // stored entries of the prepared matrices of the trained steps; 0 = unknown
  std::map<std::string, std::int64_t> metric_samples;  // by metric: its number of samples
  std::map<std::string, double> metric_best_rule;      // by metric: the best rule that learns nothing
  std::map<std::string, double> metric_best_possible;  // by metric: the best that any model could reach
  std::vector<std::int64_t> threads;                   // kernel threads of each rank; empty = the device has none
  std::optional<UntilOutcome> until;                   // only where the case asks for it
  std::string currency;                                // of dollars_per_second; "" = no price
  double peak_flops_per_second = 0;                    // of all ranks together; 0 = unknown, roofline is then null
  double peak_bytes_per_second = 0;
  double dollars_per_second = 0;                                   // 0 = no price
  double band_low_factor = 0, band_high_factor = 0;                // of predicted epochs, 90 %; 0 = not known
  std::string draws_of;                                            // digest of the drawn clusters; "" = none
  std::string band_source;                                         // whence the band is, or why there is none
  double load_seconds = std::numeric_limits<double>::quiet_NaN();  // before the first epoch, slowest process
  std::string load_unknown;                                        // why load_seconds is NaN
  bool exact = true;
  std::vector<std::string> approximations;                   // in force when not exact
  std::vector<std::string> notes;                            // e.g. "uncalibrated", "extrapolated"
  Json planned_bytes = Json::object();                       // by traffic, before the run
  std::vector<PerMemoryPart<std::uint64_t>> planned_memory;  // [ranks] at the peak; empty: nobody asked for it
};

}  // namespace strobe
