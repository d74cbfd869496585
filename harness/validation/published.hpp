// Predictions of values that papers printed. A description names a case that predicts the value, or a reason why none
// can.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/fields.hpp"
#include "harness/validation/agreement_statistics.hpp"

namespace strobe {

/// One term of a mean. It compares a case with the mean of its reference cases:
/// - speedup: items per second of the case / those of the reference;
/// - loading_speedup: the reference's seconds of moving inputs / the case's;
/// - loading_reduction: 1 - the case's seconds of moving inputs / the reference's;
/// - epoch_reduction: 1 - the case's mean epoch / the reference's;
/// - divergence: the case's own value, without a reference.
struct SpeedupTerm {
  std::string name;  // "dataset=Wikipedia"
  /// First the case that should be faster, then its references. Each is a list of alternatives; the first alternative
  /// that runs counts.
  std::vector<std::vector<Json>> cases;
  bool over_per_rank = false;  // divide the reference by its ranks, to compare with ideal scaling
  // `predict` fills these in; 0 when a case did not end ok.
  std::string case_id;
  double rate = 0, over_rate = 0;                    // of the case and the reference, in the unit listed above
  double baseline_rate = 0, baseline_over_rate = 0;  // the same, predicted by the baseline
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
  std::string order;        // values with the same order and quantity are ranked against each other; "": not ranked
  std::vector<Json> cases;  // alternatives: the first that fits the memory counts. For device_bytes, the cases that
                            // it is a mean over. Empty: none
  std::vector<SpeedupTerm> terms;    // in place of cases, for a quantity that is a mean of terms
  bool largest = false;              // take the largest of the terms, not their mean
  double times = 1;                  // for training_seconds: the number of mean epochs
  bool at_most = false;              // the printed value is a bound: a prediction keeps it or not, and has no error
  std::optional<double> printed;     // in SI units; empty when the row is withheld
  std::string reason;                // why there is no prediction; "" with one
  std::vector<std::string> assumed;  // settings that the paper does not print, so that the case has to choose them
  // `predict` fills in the rest.
  std::string case_id, status;
  std::string blocks;      // nb of the case that counts
  bool first_fits = true;  // the first alternative fitted the memory
  std::optional<double> predicted, baseline;
  double error = 0, baseline_error = 0;  // NaN without a printed or predicted value
  // The same with the paper's software, if the description names one.
  std::string software_status;
  bool software_fits = true;  // the first alternative fitted the memory
  std::optional<double> software;
  double software_error = 0;
  std::optional<double>
      guess;               // of who knows no program: the median of the system's other printed values of the column
  double guess_error = 0;  // NaN without a guess
  std::vector<double> errors_without;  // errors without each of the paper's `terms`; NaN when there is no error
  std::string split;                   // parts of the predicted epoch, largest first; for a mean its terms

  bool has_case() const { return !cases.empty() || !terms.empty(); }
  bool keeps_bound() const { return printed && predicted && *predicted <= *printed; }
};

/// A paper's description and its predictions.
struct PublishedPaper {
  std::string name, citation, cluster;
  std::string software;                  // the software of the printed times (backends/software.hpp); "": not known
  std::vector<std::string> terms;        // terms of the software that were left out in turn for `errors_without`
  std::vector<std::string> assumptions;  // for all cases of the paper, each with its source
  std::vector<PublishedValue> values;    // every printed value, in the order of the tables
};

/// Whether the quantity is a mean of terms, one for `each` value of a label: a speed-up, a reduction or a divergence.
bool is_mean_of_terms(const std::string& quantity);

/// The papers that have a description (results/published/mapping).
std::vector<std::string> published_names();

/// Reads results/published/NAME.json and its description. Throws InvalidRequest("--published", ...) with the nearest
/// name, and InvalidInput when a printed value is covered neither by a case nor by a reason.
PublishedPaper load_published(const std::string& name);

/// The same from the two documents; `file` names the description in errors.
PublishedPaper read_published(const Json& printed, const Json& description, const std::string& file);

/// Simulates the cases of all values, each once as Strobe's own program and once as the paper's software. With
/// `each_term`, it also simulates them without each term of the software. `progress` gets the name of each case before
/// it runs.
void predict(PublishedPaper& paper, const std::function<void(const std::string&)>& progress = {},
             bool each_term = false);

/// Summary of the values with a printed and a predicted number.
struct PublishedSummary {
  ErrorSummary software_times, software_speedups;
  ErrorSummary guessed_times;  // by the guess of each time
  ErrorSummary times, baseline_times, volumes, speedups, baseline_speedups, loading_reductions, divergences;
  Share order, baseline_order, software_order;            // pairs of times within an order
  Share winners, baseline_winners, software_winners;      // orders where the fastest printed is predicted fastest
  std::optional<double> tau, baseline_tau, software_tau;  // mean of Kendall's tau-b over the orders
  Share software_memory;
  /// Correct verdicts: an out_of_memory value is as printed; for other values, the first alternative fits.
  Share memory;
  Share bounds, software_bounds;  // printed bounds that the predictions keep
  std::size_t predicted = 0, withheld = 0, without_case = 0;
};
PublishedSummary summarise_published(const std::vector<PublishedPaper>& papers);

}  // namespace strobe
