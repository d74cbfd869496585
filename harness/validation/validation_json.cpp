// The report for programs. Invariant: every report has every key; absent values are null.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/or_null.hpp"
#include "harness/validation/report_cells.hpp"
#include "harness/validation/validation_report.hpp"
#include "results/row/table.hpp"

namespace strobe {
namespace {

template <class Value>
Json by_phase(const Value& value) {
  Json json = Json::object();
  for (std::size_t i = 0; i < phase_count; ++i) json[std::string(phase_names[i])] = value(i);
  return json;
}

Json sent_json(const Row& row) {
  if (!row.sent_bytes) return nullptr;
  Json json = Json::object();
  for (std::size_t i = 0; i < traffic_count; ++i) json[std::string(traffic_names[i])] = (*row.sent_bytes)[i];
  json["total"] = row.sent_bytes->back();
  return json;
}

/// The row's reasons why values of a side are null, by JSON pointer within the side.
Json absent_json(const Row& row) {
  Json absent = Json::object();
  for (const auto& [key, pointer] : {std::pair{"/epoch_seconds", "/epoch_seconds"},
                                     {"/ci95_low", "/epoch_seconds/ci95_low"},
                                     {"/ci95_high", "/epoch_seconds/ci95_high"},
                                     {"/phase_seconds", "/phase_seconds"},
                                     {"/sent_bytes", "/sent_bytes"},
                                     {"/peak_bytes", "/peak_bytes"}}) {
    if (const auto why = row.absent.find(pointer); why != row.absent.end()) absent[key] = why->second;
  }
  return absent;
}

/// The measured or simulated side of a case, without its error.
Json side_json(const Row& row, double seconds) {
  const bool timed = row.epoch_seconds.has_value();
  return {
      {"status", row.status},
      {"reason", or_null(row.reason)},
      {"epoch_seconds", timed ? or_null(seconds) : Json(nullptr)},
      {"ci95_low", timed ? or_null(row.epoch_seconds->ci95_low) : Json(nullptr)},
      {"ci95_high", timed ? or_null(row.epoch_seconds->ci95_high) : Json(nullptr)},
      {"phase_seconds",
       row.phase_seconds ? by_phase([&](std::size_t i) { return or_null((*row.phase_seconds)[i]); }) : Json(nullptr)},
      {"sent_bytes", sent_json(row)},
      {"peak_bytes",
       row.peak_bytes ? Json{{"host", row.peak_bytes->host}, {"device", row.peak_bytes->device}} : Json(nullptr)},
      {"absent", absent_json(row)}};
}

Json parts_json(const CaseJudgement& one) {
  Json parts = Json::array();
  for (const PartDifference& part : one.parts) {
    parts.push_back({{"part", part.part},
                     {"predicted_seconds", part.predicted_seconds},
                     {"measured_seconds", part.measured_seconds},
                     {"share_of_epoch", or_null(part.difference() / one.measured_seconds)}});
  }
  return parts;
}

Json case_json(const CaseJudgement& one) {
  Json json = {{"case_id", one.id}, {"group", one.group}, {"strategy", one.strategy}, {"judged", one.judged}};
  const auto if_judged = [&one](double value) { return one.judged ? or_null(value) : Json(nullptr); };
  json["measured"] = side_json(one.measured, one.measured_seconds);
  json["predicted"] = side_json(one.predicted, one.predicted_seconds);
  json["band90"] =
      one.band ? Json{{"low_seconds", one.band->low_seconds}, {"high_seconds", one.band->high_seconds}} : Json(nullptr);
  json["within_band"] = or_null(one.within_band);
  json["error"] = if_judged(one.error);
  json["phase_error"] =
      one.judged ? by_phase([&](std::size_t i) { return or_null(one.phase_error[i]); }) : Json(nullptr);
  json["baseline_seconds"] = if_judged(one.baseline_seconds);
  json["baseline_error"] = if_judged(one.baseline_error);
  json["bytes_equal"] = or_null(one.bytes_equal);
  json["bytes_differ"] = or_null(one.bytes_differ);
  json["memory_error"] = if_judged(one.memory_error);
  json["false_fit"] = one.false_fit;
  json["explanation"] = parts_json(one);
  return json;
}

Json group_json(const GroupJudgement& group) {
  return {{"group", group.group},
          {"strategies", group.strategies},
          {"tau_b", or_null(group.tau)},
          {"best", group.best},
          {"picked", group.picked},
          {"right", group.right},
          {"right_by_interval", group.by_interval},
          {"loss", or_null(group.loss)},
          {"baseline_tau_b", or_null(group.baseline_tau)},
          {"baseline_picked", or_null(group.baseline_picked)},
          {"baseline_right", group.baseline_right},
          {"baseline_loss", or_null(group.baseline_loss)}};
}

Json overall_json(const Judgement& judgement) {
  return {{"cases", judgement.cases.size()},
          {"judged", judgement.judged},
          {"failed", judgement.failed},
          {"epoch_error", errors_json(judgement.epoch)},
          {"baseline_error", errors_json(judgement.baseline)},
          {"phase_error", by_phase([&](std::size_t i) { return errors_json(judgement.phases[i]); })},
          {"cases_with_bytes", judgement.bytes_compared},
          {"cases_with_other_bytes", judgement.bytes_wrong},
          {"memory_error", errors_json(judgement.memory)},
          {"false_fits", judgement.false_fits},
          {"predicted_below_peak", judgement.below_peak},
          {"tau_b", or_null(judgement.tau)},
          {"baseline_tau_b", or_null(judgement.baseline_tau)},
          {"top_strategy", share_json(judgement.picks)},
          {"baseline_top_strategy", share_json(judgement.baseline_picks)},
          {"band_coverage", share_json(judgement.covered)}};
}

std::string csv_line(const CaseJudgement& one) {
  std::vector<std::string> cells = {one.id, one.group, one.strategy, one.measured.status, one.predicted.status};
  const auto add = [&](double value) { cells.push_back(one.judged ? cell(value) : std::string()); };
  add(one.measured_seconds), add(one.predicted_seconds), add(one.baseline_seconds);
  add(one.error), add(one.baseline_error);
  for (const double error : one.phase_error) add(error);
  cells.push_back(one.bytes_equal ? (*one.bytes_equal ? "1" : "0") : "");
  add(one.memory_error), add(one.false_fit ? 1 : 0);
  cells.push_back(one.band ? cell(one.band->low_seconds) : "");
  cells.push_back(one.band ? cell(one.band->high_seconds) : "");
  std::string line;
  for (const std::string& text : cells) line += (line.empty() ? "" : ",") + csv_for_people(text);
  return line + "\r\n";
}

Json machine_json(const std::vector<MachineShare>& machine) {
  Json json;
  const char* const when[] = {"before", "after"};
  for (std::size_t i = 0; i < machine.size() && i < std::size(when); ++i)
    json[when[i]] = {{"flops", machine[i].flops}, {"memory", machine[i].memory}};
  return json;
}

Json elsewhere_json(const std::optional<MeasurementOrigin>& origin) {
  if (!origin) return nullptr;
  return {{"path", origin->path}, {"date_utc", or_null(origin->date)}, {"machine", or_null(origin->machine)}};
}

/// Whether the run began after the pledge is null where the run does not say when it began.
Json pledge_json(const ValidationReport& report) {
  if (!report.pledge) return nullptr;
  const PledgeOrigin& pledge = *report.pledge;
  const std::string began = report.elsewhere ? report.elsewhere->began() : "";
  return {{"path", pledge.path},
          {"date_utc", pledge.date},
          {"program", pledge.program},
          {"sha256", pledge.sha256},
          {"points", pledge.points},
          {"run_began_utc", or_null(began)},
          {"run_began_after", began.empty() ? Json(nullptr) : Json(began >= pledge.date)}};
}

/// Why there is no share of the machine's ceilings.
Json absent_of(const ValidationReport& report) {
  if (!report.machine.empty()) return Json::object();
  return {{"/machine", report.elsewhere ? "nothing was run: the measurements are from a file"
                                        : "the cluster is not calibrated, so not of this machine"}};
}

}  // namespace

Json validation_to_json(const ValidationReport& report) {
  Json json = {{"schema_version", validation_schema_version},
               {"suite", report.suite},
               {"cluster", report.cluster},
               {"calibrated", report.calibrated},
               {"measured_elsewhere", elsewhere_json(report.elsewhere)},
               {"pledge", pledge_json(report)},
               {"machine", machine_json(report.machine)},
               {"void", void_reasons(report)},
               {"absent", absent_of(report)},
               {"overall", overall_json(report.judgement)},
               {"goals", Json::array()},
               {"groups", Json::array()},
               {"cases", Json::array()},
               {"left_out", Json::array()}};
  const bool is_void = !json["void"].empty();
  for (const Goal& goal : report.judgement.goals) {
    json["goals"].push_back(
        {{"goal", goal.what}, {"found", goal.found}, {"reached", is_void ? Json(nullptr) : Json(goal.reached)}});
  }
  for (const GroupJudgement& group : report.judgement.groups) json["groups"].push_back(group_json(group));
  for (const CaseJudgement& one : report.judgement.cases) json["cases"].push_back(case_json(one));
  for (const LeftOut& one : report.left_out) {
    json["left_out"].push_back({{"case_id", one.id}, {"cause", one.cause}, {"reason", one.reason}});
  }
  return json;
}

std::string validation_csv(const Judgement& judgement) {
  std::string csv =
      "case_id,group,strategy,measured_status,predicted_status,measured_seconds,predicted_seconds,"
      "baseline_seconds,error,baseline_error";
  for (const std::string_view phase : phase_names) csv += fmt::format(",{}_error", phase);
  csv += ",bytes_equal,memory_error,false_fit,band90_low_seconds,band90_high_seconds\r\n";
  for (const CaseJudgement& one : judgement.cases) csv += csv_line(one);
  return csv;
}

}  // namespace strobe
