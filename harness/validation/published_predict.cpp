// Simulates the cases of published values. Returns each value with its prediction, its error and the baseline's.
// Cost: one simulated run of the case's epochs (mostly two) per distinct case.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "backends/cluster.hpp"
#include "backends/software.hpp"
#include "core/errors.hpp"
#include "core/system/interrupt.hpp"
#include "harness/hybrid_batches/batch_bytes.hpp"
#include "harness/run/run_case.hpp"
#include "harness/schedule/planned_case.hpp"
#include "harness/validation/baseline.hpp"
#include "harness/validation/published.hpp"
#include "harness/validation/published_guess.hpp"
#include "harness/validation/published_orders.hpp"
#include "harness/validation/span_parts.hpp"
#include "results/row/row.hpp"

namespace strobe {
namespace {

constexpr double unpredicted = std::numeric_limits<double>::quiet_NaN();

/// A simulated case.
struct Prediction {
  std::string case_id;
  Row row;
  double baseline_seconds = unpredicted;
  double update_seconds = 0;    // sums of gradients, waits for them, and the optimiser's steps; mean over ranks
  double transfer_seconds = 0;  // copies to the device, hidden ones included; mean over ranks
};

/// Mean over ranks of the seconds in spans that `counts` accepts.
template <class Counts>
double mean_seconds(const std::vector<std::vector<Span>>& spans, const Counts& counts) {
  double seconds = 0;
  for (const std::vector<Span>& rank : spans) {
    for (const Span& span : rank) seconds += counts(span) ? span.end_seconds - span.begin_seconds : 0;
  }
  return seconds / static_cast<double>(spans.size());
}

bool is_copy(const Span& span) { return span.phase == Phase::transfer && span.transfer_bytes > 0; }

/// Collectives on gradients or parameters, the waits in them, and steps of the optimiser.
bool is_update(const Span& span) {
  const bool step = span.name == "adam_step" || span.name == "sgd_step";
  const bool exchange = span.phase == Phase::communicate || span.phase == Phase::wait;
  const bool of_weights = span.traffic == Traffic::gradient || span.traffic == Traffic::parameters;
  return span.blocking && (step || (exchange && of_weights));
}

Prediction simulate(const Json& json, const DataCache& cache) {
  if (const int signal = stop_signal().load(); signal != 0) throw Interrupted(signal);
  const Case c = case_from_json(json, "");
  Prediction prediction;
  prediction.case_id = case_id(c);
  std::vector<std::vector<Span>> spans;
  CaseResult result;
  try {
    result = run_case(c, &spans, {}, cache);
  } catch (const NoRoom& refusal) {
    result.status = "out_of_memory";
    result.reason = refusal.what();
  }
  prediction.row = summarise(case_to_json(c), prediction.case_id, result);
  if (prediction.row.status != "ok") return prediction;
  const std::vector<std::vector<Span>> last = last_epoch_spans(result.samples, spans);
  prediction.baseline_seconds = roofline_ring_seconds(last, *load_cluster(c.cluster), c.precision == "fp64");
  prediction.update_seconds = mean_seconds(last, is_update);
  prediction.transfer_seconds = mean_seconds(last, is_copy);
  return prediction;
}

/// Values of rows and halos that ranks sent each other, without weight gradients.
double sent_values(const Row& row) {
  double bytes = 0;
  for (const Traffic traffic : {Traffic::redistribute, Traffic::halo, Traffic::state}) {
    bytes += static_cast<double>((*row.sent_bytes)[traffic]);
  }
  return bytes / (row.precision == "fp64" ? 8 : 4);
}

double phase_seconds(const Row& row, Phase phase) { return (*row.phase_seconds)[phase]; }

std::string split_of(const Row& row) {
  std::vector<std::pair<double, std::string_view>> parts;
  for (std::size_t i = 0; i < phase_count; ++i) parts.emplace_back((*row.phase_seconds)[i], phase_names[i]);
  std::stable_sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<std::string> words;
  for (const auto& [seconds, name] : parts) {
    const double share = seconds / row.epoch_seconds->mean;
    if (share >= 0.005) words.push_back(fmt::format("{} {:.0f} %", name, 100 * share));
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

/// Items per second over the whole training: items of an epoch / mean `seconds` of an epoch.
double rate_of(const Prediction& prediction, double seconds) {
  const Row& row = prediction.row;
  if (row.status != "ok" || row.throughput.empty()) return 0;
  const auto events = row.throughput.find("events_per_second");
  const auto& rate = events == row.throughput.end() ? *row.throughput.begin() : *events;
  return rate.second * row.epoch_seconds->median / seconds;
}

/// The value of a case in a term, predicted by Strobe and by the baseline. The baseline predicts only epochs.
struct Counted {
  double own = 0, baseline = 0;
};

Counted counted(const std::string& quantity, const Prediction& prediction) {
  const Row& row = prediction.row;
  if (quantity == "divergence") return {row.imbalance ? row.imbalance->max_over_min : unpredicted, unpredicted};
  if (quantity == "epoch_reduction") return {row.epoch_seconds->mean, prediction.baseline_seconds};
  if (quantity.starts_with("loading_")) return {phase_seconds(row, Phase::transfer), unpredicted};
  return {rate_of(prediction, row.epoch_seconds->mean), rate_of(prediction, prediction.baseline_seconds)};
}

/// The first of the alternatives that runs; the last if none does.
template <class Find>
const Prediction& first_that_runs(const Find& find, const std::vector<Json>& alternatives) {
  const Prediction* one = nullptr;
  for (const Json& json : alternatives) {
    one = &find(json);
    if (one->row.status == "ok") break;
  }
  return *one;
}

/// Fills in a term. False when one of its cases did not end ok.
template <class Find>
bool take_term(const Find& find, SpeedupTerm& term, PublishedValue& value) {
  bool all = true;
  for (const std::vector<Json>& alternatives : term.cases) {
    const Prediction& one = first_that_runs(find, alternatives);
    const bool own = &alternatives == &term.cases.front(), ok = one.row.status == "ok";
    if (own) term.case_id = one.case_id;
    if (all) value.status = one.row.status;
    all = all && ok;
    if (!ok) continue;
    const Counted counts = counted(value.quantity, one);
    const double share = !own && term.over_per_rank ? one.row.ranks : 1;
    (own ? term.rate : term.over_rate) += counts.own / share;
    (own ? term.baseline_rate : term.baseline_over_rate) += counts.baseline / share;
  }
  const double count = term.cases.size() - 1;
  if (count == 0) term.over_rate = term.baseline_over_rate = 1;
  if (count > 1) term.over_rate /= count, term.baseline_over_rate /= count;
  if (!all) term.over_rate = 0;
  return all;
}

/// The value of a term from its case's rate and its reference's.
double ratio_of(const std::string& quantity, double rate, double over) {
  if (quantity == "loading_speedup") return over / rate;
  return quantity.ends_with("_reduction") ? 1 - rate / over : rate / over;
}

/// Sets the mean or the largest of the terms. `find` returns the prediction of a case.
template <class Find>
void take_mean(const Find& find, PublishedValue& value) {
  std::vector<double> own, baseline;
  std::vector<std::string> words;
  for (SpeedupTerm& term : value.terms) {
    if (!take_term(find, term, value)) return;
    own.push_back(ratio_of(value.quantity, term.rate, term.over_rate));
    baseline.push_back(ratio_of(value.quantity, term.baseline_rate, term.baseline_over_rate));
    words.push_back(fmt::format("{} {:.3g}", term.name.substr(term.name.find('=') + 1), own.back()));
  }
  const auto taken = [&value](const std::vector<double>& of) {
    return value.largest ? *std::max_element(of.begin(), of.end())
                         : std::accumulate(of.begin(), of.end(), 0.0) / static_cast<double>(of.size());
  };
  value.predicted = taken(own);
  if (value.quantity == "speedup" || value.quantity == "epoch_reduction") value.baseline = taken(baseline);
  value.split = fmt::format("{}", fmt::join(words, ", "));
}

void take(const Prediction& prediction, PublishedValue& value) {
  const Row& row = prediction.row;
  value.case_id = prediction.case_id;
  value.status = row.status;
  if (value.quantity == "out_of_memory") {
    value.predicted = row.status == "out_of_memory" ? 1.0 : 0.0;
    return;
  }
  if (row.status != "ok") return;
  value.split = split_of(row);
  if (value.quantity == "epoch_seconds") {
    value.predicted = row.epoch_seconds->median;
    value.baseline = prediction.baseline_seconds;
  } else if (value.quantity == "training_seconds") {
    value.predicted = row.epoch_seconds->mean * value.times;
    value.baseline = prediction.baseline_seconds * value.times;
  } else if (value.quantity == "compute_seconds") {
    value.predicted = phase_seconds(row, Phase::compute);
  } else if (value.quantity == "communicate_seconds") {
    value.predicted = phase_seconds(row, Phase::communicate) + phase_seconds(row, Phase::wait);
  } else if (value.quantity == "sample_seconds") {
    value.predicted = phase_seconds(row, Phase::host);
  } else if (value.quantity == "transfer_seconds") {
    value.predicted = prediction.transfer_seconds;
  } else if (value.quantity == "update_seconds") {
    value.predicted = prediction.update_seconds;
  } else if (value.quantity == "sent_values") {
    value.predicted = sent_values(row);
  } else {
    throw InvalidRequest(
        "/quantity", unknown_name_message(
                         "quantity", value.quantity,
                         {"epoch_seconds", "compute_seconds", "communicate_seconds", "sent_values", "out_of_memory",
                          "speedup", "loading_reduction", "loading_speedup", "epoch_reduction", "divergence",
                          "training_seconds", "sample_seconds", "transfer_seconds", "update_seconds", "device_bytes"}));
  }
}

/// Sets the value from the first alternative that fits the memory.
template <class Find>
void take_first_that_fits(const Find& find, PublishedValue& value) {
  for (const Json& json : value.cases) {
    take(find(json), value);
    value.blocks = json.contains("nb") ? json.at("nb").get<std::string>() : "";
    if (value.status != "out_of_memory") return;
    value.first_fits = false;
  }
}

/// Sets the largest rank's peak device memory, a mean over the cases that fit.
template <class Find>
void take_mean_bytes(const Find& find, PublishedValue& value) {
  double sum = 0;
  int fitting = 0;
  for (const Json& json : value.cases) {
    const Row& row = find(json).row;
    if (row.status != "ok" || row.peak_bytes->device.empty()) continue;
    sum += static_cast<double>(*std::max_element(row.peak_bytes->device.begin(), row.peak_bytes->device.end()));
    ++fitting;
  }
  value.split = fmt::format("{} of {} cases fit", fitting, value.cases.size());
  if (fitting == 0) return;
  value.status = "ok";
  value.predicted = sum / fitting;
}

double error_of(const std::optional<double>& predicted, const std::optional<double>& printed) {
  return predicted && printed ? relative_error(*predicted, *printed) : unpredicted;
}

void predict_own(PublishedPaper& paper, const std::function<void(const std::string&)>& progress) {
  const DataCache cache;
  std::map<std::string, Prediction> known;
  for (PublishedValue& value : paper.values) {
    const auto find = [&](const Json& json) -> const Prediction& {
      const auto [found, is_new] = known.try_emplace(json.dump());
      if (!is_new) return found->second;
      if (progress) progress(value.experiment + " " + value.row + " " + value.column);
      return found->second = simulate(json, cache);
    };
    if (!value.terms.empty()) take_mean(find, value);
    if (value.quantity == "device_bytes") {
      take_mean_bytes(find, value);
    } else {
      take_first_that_fits(find, value);
    }
    value.error = value.at_most ? unpredicted : error_of(value.predicted, value.printed);
    value.baseline_error = value.at_most ? unpredicted : error_of(value.baseline, value.printed);
  }
}

/// The paper with all cases set to `software`, without predictions.
PublishedPaper as_software(const PublishedPaper& paper, const std::string& software) {
  PublishedPaper laid = paper;
  for (PublishedValue& value : laid.values) {
    for (Json& json : value.cases) json["software"] = software;
    for (SpeedupTerm& term : value.terms) {
      for (std::vector<Json>& alternatives : term.cases) {
        for (Json& json : alternatives) json["software"] = software;
      }
    }
  }
  return laid;
}

std::string without(const std::string& software, const std::string& term) {
  const bool some = software.find(":without=") != std::string::npos;
  return software + (some ? "+" : ":without=") + term;
}

}  // namespace

void predict(PublishedPaper& paper, const std::function<void(const std::string&)>& progress, bool each_term) {
  const PublishedPaper before = paper;
  predict_own(paper, progress);
  take_guesses(paper);
  if (paper.software.empty()) return;
  const auto tell = [&progress](const std::string& of) {
    return [&progress, of](const std::string& what) {
      if (progress) progress(of + ": " + what);
    };
  };
  PublishedPaper theirs = as_software(before, paper.software);
  predict_own(theirs, tell(paper.software));
  for (std::size_t i = 0; i < paper.values.size(); ++i) {
    PublishedValue& value = paper.values[i];
    const PublishedValue& laid = theirs.values[i];
    value.software_status = laid.status;
    value.software_fits = laid.first_fits;
    value.software = laid.predicted;
    value.software_error = laid.error;
  }
  const std::shared_ptr<const Software> profile = load_software(paper.software);
  for (int t = 0; each_term && t < software_term_count; ++t) {
    if (!profile->uses[t]) continue;
    paper.terms.emplace_back(software_term_names[t]);
    PublishedPaper fewer = as_software(before, without(paper.software, paper.terms.back()));
    predict_own(fewer, tell("without " + paper.terms.back()));
    for (std::size_t i = 0; i < paper.values.size(); ++i) {
      paper.values[i].errors_without.push_back(fewer.values[i].error);
    }
  }
}

}  // namespace strobe
