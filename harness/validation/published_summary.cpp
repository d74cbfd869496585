// Errors of predictions of printed values, grouped by quantity. A value without a printed or predicted number has no
// error. Cost O(values).
#include "harness/validation/published.hpp"
#include "harness/validation/published_orders.hpp"

namespace strobe {
namespace {

bool is_time(const PublishedValue& value) { return value.quantity.ends_with("_seconds"); }

struct PublishedErrors {
  std::vector<double> times, baseline, volumes, speedups, baseline_speedups, loading, divergences, software,
      software_speedups, guesses;
};

void add_value(const PublishedValue& value, PublishedErrors& errors, PublishedSummary& summary) {
  if (!value.printed) return;
  const bool verdict = value.quantity == "out_of_memory";
  if (verdict || value.quantity == "epoch_seconds") {
    summary.memory.right += verdict ? value.error == 0 : value.first_fits;
    ++summary.memory.of;
    if (!value.software_status.empty()) {
      summary.software_memory.right += verdict ? value.software_error == 0 : value.software_fits;
      ++summary.software_memory.of;
    }
  }
  summary.bounds.right += value.at_most && value.keeps_bound();
  summary.bounds.of += value.at_most;
  if (value.at_most && value.software) {
    summary.software_bounds.right += *value.software <= *value.printed;
    ++summary.software_bounds.of;
  }
  if (verdict || value.at_most || !value.predicted || value.quantity == "device_bytes") return;
  if (value.quantity == "speedup") {
    errors.speedups.push_back(value.error);
    if (value.software) errors.software_speedups.push_back(value.software_error);
    errors.baseline_speedups.push_back(value.baseline_error);
    return;
  }
  if (is_mean_of_terms(value.quantity)) {
    (value.quantity == "divergence" ? errors.divergences : errors.loading).push_back(value.error);
    return;
  }
  (is_time(value) ? errors.times : errors.volumes).push_back(value.error);
  if (is_time(value) && value.software) errors.software.push_back(value.software_error);
  if (is_time(value) && value.guess) errors.guesses.push_back(value.guess_error);
  if (value.baseline) errors.baseline.push_back(value.baseline_error);
}

}  // namespace

PublishedSummary summarise_published(const std::vector<PublishedPaper>& papers) {
  PublishedSummary summary;
  PublishedErrors errors;
  for (const PublishedPaper& paper : papers) {
    for (const PublishedValue& value : paper.values) {
      summary.without_case += !value.has_case();
      if (!value.has_case()) continue;
      summary.predicted += value.predicted.has_value();
      summary.withheld += !value.printed.has_value();
      add_value(value, errors, summary);
    }
  }
  take_orders(papers, summary);
  summary.times = summarise_errors(errors.times);
  summary.software_times = summarise_errors(errors.software);
  summary.software_speedups = summarise_errors(errors.software_speedups);
  summary.baseline_times = summarise_errors(errors.baseline);
  summary.guessed_times = summarise_errors(errors.guesses);
  summary.volumes = summarise_errors(errors.volumes);
  summary.speedups = summarise_errors(errors.speedups);
  summary.baseline_speedups = summarise_errors(errors.baseline_speedups);
  summary.loading_reductions = summarise_errors(errors.loading);
  summary.divergences = summarise_errors(errors.divergences);
  return summary;
}

}  // namespace strobe
