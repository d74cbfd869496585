// Predictions of what papers printed: each printed value is predicted by a case that a description states, or has a
// reason why it is not.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/fields.hpp"
#include "harness/validation/agreement_statistics.hpp"

namespace strobe {

/// A share of a mean: of a speed-up items a second of a case over the mean of those of other cases; of a loading
/// reduction by how much of the other's time a case moves inputs shorter, of a loading speed-up how many times as fast;
/// of a reduction of the epoch by how much that is shorter; of a divergence the case's own, over nothing.
struct SpeedupTerm {
  std::string name;  // what it is of: "dataset=Wikipedia"
  /// The one that is faster, or should be, and behind it what it is over, if anything; each with its alternatives, of
  /// which the first that runs counts.
  std::vector<std::vector<Json>> cases;
  bool over_per_rank = false;  // what it is over counts as one of its ranks, whose speed-up would be ideal
  // Filled in by `predict`; 0 where a case did not end well.
  std::string case_id;
  double rate = 0, over_rate = 0;                    // items a second; seconds of moving inputs; divergence and 1
  double baseline_rate = 0, baseline_over_rate = 0;  // the same by the baseline
};

/// One printed value, before and after its prediction.
struct PublishedValue {
  std::string experiment;   // "esdg.table2"
  std::string row;          // its labels: "model=tmgcn ranks=4"
  std::string column;       // "time_ms_snapshot"
  std::string quantity;     // epoch_seconds | compute_seconds | communicate_seconds | sent_values | out_of_memory |
                            // speedup | loading_reduction | loading_speedup | epoch_reduction | divergence |
                            // training_seconds | sample_seconds | transfer_seconds | update_seconds | device_bytes;
                            // "" without a prediction
  std::string order;        // values of one order and quantity are ordered against each other; "" with none
  std::vector<Json> cases;  // alternatives, of which the first that fits the memory counts; of device_bytes those that
                            // it is a mean over; empty: none
  std::vector<SpeedupTerm> terms;    // of a quantity that is their mean, in place of cases
  bool largest = false;              // of the terms the largest, not their mean
  double times = 1;                  // training_seconds: so many mean epochs
  bool at_most = false;              // the printed value is a bound: a prediction keeps it or not, and has no error
  std::optional<double> printed;     // in SI units; nothing when the row is withheld
  std::string reason;                // why there is no prediction; "" with one
  std::vector<std::string> assumed;  // what the paper does not print and the case has to choose
  // Filled in by `predict`.
  std::string case_id, status;
  std::string blocks;      // nb of the case that counts
  bool first_fits = true;  // the first alternative fitted the memory
  std::optional<double> predicted, baseline;
  double error = 0, baseline_error = 0;  // NaN without a printed or predicted value
  // The same of the paper's software, where the description names one.
  std::string software_status;
  bool software_fits = true;  // the first alternative fitted the memory
  std::optional<double> software;
  double software_error = 0;
  std::vector<double> errors_without;  // without each of the paper's `terms`, NaN where there is none
  std::string split;                   // where the predicted epoch goes, largest first; of a speed-up its terms

  bool has_case() const { return !cases.empty() || !terms.empty(); }
  bool keeps_bound() const { return printed && predicted && *predicted <= *printed; }
};

/// A paper's description and what became of it.
struct PublishedPaper {
  std::string name, citation, cluster;
  std::string software;                  // whose program printed the times (backends/software.hpp); "": not said
  std::vector<std::string> terms;        // of the software, that predictions were also made without
  std::vector<std::string> assumptions;  // of all its cases, each with its source
  std::vector<PublishedValue> values;    // every printed value, in the order of the tables
};

/// Whether the quantity is a mean of terms, of `each` value of a label: a speed-up or reduction of an epoch or of
/// loading, or a divergence.
bool is_mean_of_terms(const std::string& quantity);

/// Papers that have a description (results/published/mapping).
std::vector<std::string> published_names();

/// Reads results/published/NAME.json and its description. Throws InvalidRequest("--published", ...) with the nearest
/// name, and InvalidInput when a printed value is covered neither by a case nor by a reason.
PublishedPaper load_published(const std::string& name);

/// The same from the two documents; `file` names the description in errors.
PublishedPaper read_published(const Json& printed, const Json& description, const std::string& file);

/// Simulates the cases of the values that have some, each once as Strobe's own program and once as the paper's
/// software, and with `each_term` once more without each of its terms. `progress` is told which case begins.
void predict(PublishedPaper& paper, const std::function<void(const std::string&)>& progress = {},
             bool each_term = false);

/// Errors over the values with a printed and a predicted number.
struct PublishedSummary {
  ErrorSummary software_times, software_speedups;
  ErrorSummary times, baseline_times, volumes, speedups, baseline_speedups, loading_reductions, divergences;
  Share order, baseline_order, software_order;            // pairs of times within an order
  Share winners, baseline_winners, software_winners;      // orders whose fastest is the printed one
  std::optional<double> tau, baseline_tau, software_tau;  // mean of Kendall's tau-b over the orders
  Share software_memory;
  /// Verdicts that are the printed ones: what ran out of memory does, and what ran for the paper fits as first tried.
  Share memory;
  Share bounds, software_bounds;  // printed bounds that the predictions keep
  std::size_t predicted = 0, withheld = 0, without_case = 0;
};
PublishedSummary summarise_published(const std::vector<PublishedPaper>& papers);

}  // namespace strobe
