#include "harness/validation/published_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "backends/software.hpp"
#include "core/or_null.hpp"
#include "core/units.hpp"
#include "harness/validation/report_cells.hpp"
#include "harness/validation/validation_report.hpp"
#include "results/row/table.hpp"

namespace strobe {
namespace {

Json term_json(const SpeedupTerm& term, const std::string& quantity) {
  const bool known = term.rate > 0 && term.over_rate > 0;
  Json json = {{"name", term.name}, {"case_id", or_null(term.case_id)}};
  const bool alone = quantity == "divergence", loading = quantity.starts_with("loading_"),
             epoch = quantity == "epoch_reduction";
  const std::string of = alone     ? "max_over_min"
                         : loading ? "loading_seconds"
                         : epoch   ? "epoch_seconds"
                                   : "items_per_second";
  json[of] = known ? Json(term.rate) : Json(nullptr);
  if (alone) return json;
  json["over_" + of] = known ? Json(term.over_rate) : Json(nullptr);
  return json;
}

Json numbers(const std::vector<double>& values) {
  Json list = Json::array();
  for (const double value : values) list.push_back(or_null(value));
  return list;
}

Json value_json(const PublishedValue& value) {
  Json terms = Json::array();
  for (const SpeedupTerm& term : value.terms) terms.push_back(term_json(term, value.quantity));
  return {{"experiment", value.experiment},
          {"row", value.row},
          {"column", value.column},
          {"quantity", or_null(value.quantity)},
          {"printed", or_null(value.printed)},
          {"predicted", or_null(value.predicted)},
          {"error", or_null(value.error)},
          {"baseline", or_null(value.baseline)},
          {"baseline_error", or_null(value.baseline_error)},
          {"guess", or_null(value.guess)},
          {"guess_error", value.guess ? or_null(value.guess_error) : Json(nullptr)},
          {"software", or_null(value.software)},
          {"software_error", value.software ? or_null(value.software_error) : Json(nullptr)},
          {"software_status", or_null(value.software_status)},
          {"case_id", or_null(value.case_id)},
          {"status", or_null(value.status)},
          {"nb", or_null(value.blocks)},
          {"first_fits", value.has_case() ? Json(value.first_fits) : Json(nullptr)},
          {"split", or_null(value.split)},
          {"terms", terms},
          {"errors_without", numbers(value.errors_without)},
          {"at_most", value.at_most},
          {"assumed", value.assumed},
          {"reason", or_null(value.reason)}};
}

/// The number in the unit of its quantity.
std::string shown(const PublishedValue& value, const std::optional<double>& number) {
  if (!number) return "-";
  if (value.quantity == "out_of_memory") return *number != 0 ? "out of memory" : "fits";
  if (value.quantity == "sent_values") return fmt::format("{:.3g} G values", *number / 1e9);
  if (value.quantity == "device_bytes") return fmt::format("{:.3g} GB", *number / 1e9);
  if (value.quantity.ends_with("speedup")) return fmt::format("{:.3g} x", *number);
  if (value.quantity == "divergence") return fmt::format("{:.3g}", *number);
  if (value.quantity.ends_with("_reduction")) return percent(*number);
  return format_seconds(*number);
}

std::string remark(const PublishedValue& value) {
  std::vector<std::string> words;
  if (!value.printed) words.push_back("withheld: no error");
  if (!value.predicted) words.push_back("predicted " + value.status);
  if (!value.blocks.empty() && value.blocks != "1" && value.predicted) words.push_back("nb=" + value.blocks);
  if (!value.split.empty() &&
      (value.quantity == "epoch_seconds" || value.quantity == "device_bytes" || !value.terms.empty()))
    words.push_back(value.split);
  return fmt::format("{}", fmt::join(words, "; "));
}

std::string judged(const PublishedValue& value) {
  if (value.quantity == "out_of_memory") return value.error == 0 ? "right" : "wrong";
  if (value.at_most && value.printed) return value.keeps_bound() ? "right" : "wrong";
  return signed_percent(value.error);
}

std::string judged_software(const PublishedValue& value) {
  if (!value.software) return "-";
  if (value.quantity == "out_of_memory") return value.software_error == 0 ? "right" : "wrong";
  if (value.at_most && value.printed) return *value.software <= *value.printed ? "right" : "wrong";
  return signed_percent(value.software_error);
}

/// The errors of the values when each term is left out in turn.
std::string terms_table(const PublishedPaper& paper) {
  if (paper.terms.empty()) return "";
  std::vector<TextTable::Column> columns = {{"row", false}, {"value", false}, {"all terms", true}};
  for (const std::string& term : paper.terms) columns.push_back({"no " + term, true});
  TextTable table(columns);
  for (const PublishedValue& value : paper.values) {
    if (!value.software || !std::isfinite(value.software_error) || value.errors_without.empty()) continue;
    std::vector<std::string> cells = {value.row, value.column, signed_percent(value.software_error)};
    for (const double error : value.errors_without) cells.push_back(signed_percent(error));
    table.add(cells);
  }
  return fmt::format("errors of {} without one term\n{}", paper.software, table.text());
}

std::string predicted_table(const PublishedPaper& paper) {
  TextTable table(
      "experiment|row|value|printed>|predicted>|error>|their software>|error>|baseline>|error>|guess>|error>|"
      "predicted split");
  for (const PublishedValue& value : paper.values) {
    if (!value.has_case()) continue;
    table.add({value.experiment, value.row, value.column,
               (value.at_most && value.printed ? "below " : "") + shown(value, value.printed),
               shown(value, value.predicted), judged(value), shown(value, value.software), judged_software(value),
               shown(value, value.baseline), signed_percent(value.baseline_error), shown(value, value.guess),
               value.guess ? signed_percent(value.guess_error) : "-", remark(value)});
  }
  return table.text();
}

/// Reasons in order of appearance, each with the number of its values and the first of them.
std::string reasons_text(const PublishedPaper& paper) {
  std::vector<std::string> reasons;
  for (const PublishedValue& value : paper.values) {
    if (!value.has_case() && std::find(reasons.begin(), reasons.end(), value.reason) == reasons.end()) {
      reasons.push_back(value.reason);
    }
  }
  std::string text;
  for (const std::string& reason : reasons) {
    std::vector<const PublishedValue*> held;
    for (const PublishedValue& value : paper.values) {
      if (!value.has_case() && value.reason == reason) held.push_back(&value);
    }
    text += fmt::format("  {} x  {}\n         e.g. {} {} {}\n", held.size(), reason, held.front()->experiment,
                        held.front()->row, held.front()->column);
  }
  return text;
}

std::vector<std::string> assumed_by(const PublishedPaper& paper) {
  std::vector<std::string> all = paper.assumptions;
  for (const PublishedValue& value : paper.values) {
    for (const std::string& one : value.assumed) {
      if (std::find(all.begin(), all.end(), one) == all.end()) all.push_back(one);
    }
  }
  return all;
}

std::string paper_text(const PublishedPaper& paper) {
  std::string text = fmt::format("{}: {}\n", paper.name, paper.citation);
  if (!paper.cluster.empty()) text += fmt::format("cluster {}\n", paper.cluster);
  if (!paper.software.empty()) {
    text += fmt::format("their software: {}\n", software_note(*load_software(paper.software)));
  }
  const bool any = std::any_of(paper.values.begin(), paper.values.end(),
                               [](const PublishedValue& value) { return value.has_case(); });
  text += any ? "\n" + predicted_table(paper) : "no printed value can be predicted\n";
  const std::vector<std::string> assumed = assumed_by(paper);
  if (!assumed.empty()) text += fmt::format("assumed\n  {}\n", fmt::join(assumed, "\n  "));
  text += terms_table(paper);
  return text + "not predicted\n" + reasons_text(paper) + "\n";
}

/// Adds the lines of one summary: times, the baseline's times, and volumes if there are any.
void add_summary(const std::string& name, const PublishedSummary& s, TextTable& table) {
  const auto add = [&](const std::string& what, const ErrorSummary& e, const std::string& order,
                       const std::string& winners = "", const std::optional<double>& tau = std::nullopt) {
    if (e.count == 0) return;
    table.add({name, what, std::to_string(e.count), percent(e.mean_absolute), percent(e.max_absolute),
               signed_percent(e.bias), fmt::format("{:.3g} x", e.factor),
               fmt::format("{} of {}", e.within_twice, e.count), order, winners,
               tau ? fmt::format("{:.2f}", *tau) : ""});
  };
  const auto share = [](const Share& pairs) { return pairs.of == 0 ? std::string("-") : share_text(pairs); };
  add("times, strobe", s.times, share(s.order), share(s.winners), s.tau);
  add("times, their software", s.software_times, share(s.software_order), share(s.software_winners), s.software_tau);
  add("times, plain roofline plus ring", s.baseline_times, share(s.baseline_order), share(s.baseline_winners),
      s.baseline_tau);
  add("times, median of the system's other rows", s.guessed_times, "-", "-");
  add("volumes", s.volumes, "");
  add("speed-ups, strobe", s.speedups, "");
  add("speed-ups, their software", s.software_speedups, "");
  add("speed-ups, plain roofline plus ring", s.baseline_speedups, "");
  add("loading reductions, strobe", s.loading_reductions, "");
  add("divergences, strobe", s.divergences, "");
}

/// The goals for which there are printed values.
std::string goals_text(const PublishedSummary& s) {
  std::string text;
  const auto add = [&](const std::string& goal, const std::string& found, bool reached) {
    text += fmt::format("goal: {}: {}, {}\n", goal, found, reached ? "reached" : "not reached");
  };
  if (s.software_times.count > 0)
    add("times of their software within 30 % on average", percent(s.software_times.mean_absolute),
        s.software_times.mean_absolute <= 0.30);
  if (s.software_order.of > 0)
    add("their software's strategies in the printed order in 9 of 10 pairs", share_text(s.software_order),
        s.software_order.fraction() >= 0.9);
  if (s.times.count > 0)
    add("times within 30 % on average", percent(s.times.mean_absolute), s.times.mean_absolute <= 0.30);
  if (s.order.of > 0)
    add("strategies in the printed order in 9 of 10 pairs", share_text(s.order), s.order.fraction() >= 0.9);
  return text;
}

std::string summary_text(const std::vector<PublishedPaper>& papers) {
  const PublishedSummary s = summarise_published(papers);
  TextTable table(
      "over printed values||count>|mean>|max>|bias>|typical factor>|within 2 x>|pairs in order>|winners>|tau-b>");
  if (papers.size() > 1) {
    for (const PublishedPaper& paper : papers) add_summary(paper.name, summarise_published({paper}), table);
  }
  add_summary(papers.size() > 1 ? "all" : papers.front().name, s, table);
  std::string text = table.text();
  if (s.software_memory.of > 0) {
    text += fmt::format("memory verdicts of their software right: {} of {}\n", s.software_memory.right,
                        s.software_memory.of);
  }
  if (s.memory.of > 0) text += fmt::format("memory verdicts right: {} of {}\n", s.memory.right, s.memory.of);
  if (s.software_bounds.of > 0) {
    text +=
        fmt::format("printed bounds kept by their software: {} of {}\n", s.software_bounds.right, s.software_bounds.of);
  }
  if (s.bounds.of > 0) text += fmt::format("printed bounds kept: {} of {}\n", s.bounds.right, s.bounds.of);
  text += fmt::format("{} values predicted, {} of them withheld; {} without a case\n\n", s.predicted, s.withheld,
                      s.without_case);
  return text + goals_text(s);
}

Json overall_json(const PublishedSummary& s) {
  const auto errors = [](const ErrorSummary& e) {
    Json json = errors_json(e);
    json["factor"] = or_null(e.factor);
    json["within_twice"] = e.within_twice;
    return json;
  };
  return {{"time_error", errors(s.times)},
          {"baseline_error", errors(s.baseline_times)},
          {"guess_error", errors(s.guessed_times)},
          {"volume_error", errors(s.volumes)},
          {"speedup_error", errors(s.speedups)},
          {"baseline_speedup_error", errors(s.baseline_speedups)},
          {"loading_reduction_error", errors(s.loading_reductions)},
          {"divergence_error", errors(s.divergences)},
          {"bounds", share_json(s.bounds)},
          {"software_bounds", share_json(s.software_bounds)},
          {"ordered_pairs", share_json(s.order)},
          {"software_time_error", errors(s.software_times)},
          {"software_speedup_error", errors(s.software_speedups)},
          {"software_ordered_pairs", share_json(s.software_order)},
          {"winners", share_json(s.winners)},
          {"software_winners", share_json(s.software_winners)},
          {"tau_b", or_null(s.tau)},
          {"software_tau_b", or_null(s.software_tau)},
          {"software_memory_verdicts", share_json(s.software_memory)},
          {"baseline_ordered_pairs", share_json(s.baseline_order)},
          {"memory_verdicts", share_json(s.memory)},
          {"values_predicted", s.predicted},
          {"values_withheld", s.withheld},
          {"values_without_case", s.without_case}};
}

}  // namespace

Json published_to_json(const std::vector<PublishedPaper>& papers) {
  Json json = {{"schema_version", published_schema_version}, {"papers", Json::array()}};
  for (const PublishedPaper& paper : papers) {
    Json one = {{"paper", paper.name},
                {"citation", paper.citation},
                {"cluster", or_null(paper.cluster)},
                {"software", or_null(paper.software)},
                {"terms", paper.terms},
                {"assumptions", paper.assumptions},
                {"values", Json::array()}};
    for (const PublishedValue& value : paper.values) one["values"].push_back(value_json(value));
    json["papers"].push_back(one);
  }
  json["overall"] = overall_json(summarise_published(papers));
  return json;
}

std::string published_csv(const std::vector<PublishedPaper>& papers) {
  std::string csv =
      "paper,experiment,row,column,quantity,printed,predicted,error,baseline,baseline_error,case_id,status,split\r\n";
  for (const PublishedPaper& paper : papers) {
    for (const PublishedValue& v : paper.values) {
      if (!v.has_case()) continue;
      const std::vector<std::string> cells = {
          paper.name,      v.experiment,      v.row,         v.column,         v.quantity,
          cell(v.printed), cell(v.predicted), cell(v.error), cell(v.baseline), cell(v.baseline_error),
          v.case_id,       v.status,          v.split};
      for (std::size_t i = 0; i < cells.size(); ++i) csv += (i == 0 ? "" : ",") + csv_for_people(cells[i]);
      csv += "\r\n";
    }
  }
  return csv;
}

std::string published_text(const std::vector<PublishedPaper>& papers) {
  std::string text;
  for (const PublishedPaper& paper : papers) text += paper_text(paper);
  return text + summary_text(papers);
}

}  // namespace strobe
