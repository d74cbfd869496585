#include "harness/advisor/plan_brief.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "core/or_null.hpp"
#include "core/units.hpp"
#include "results/row/table.hpp"

namespace strobe {
namespace {

std::string band_text(const PlanOutcome& outcome) {
  const auto& band = outcome.epoch_band;
  return band ? fmt::format("{} to {}", format_seconds(band->low), format_seconds(band->high)) : "no band";
}

std::string extrapolated_text(const PlanOutcome& outcome) {
  const bool beyond = std::any_of(outcome.notes.begin(), outcome.notes.end(),
                                  [](const std::string& note) { return note.rfind("extrapolated", 0) == 0; });
  return beyond ? "extrapolated" : "";
}

std::string counted_gpus(std::int64_t count) { return fmt::format("{} GPU{}", count, count == 1 ? "" : "s"); }

std::string indented(const std::string& line) { return line.empty() ? "" : "  " + line + "\n"; }

std::string row_choices(const PlanPoint& point) {
  std::string text = point.request.strategy.at("name").get<std::string>();
  for (const auto& [key, value] : point.choices) text += fmt::format(" {}={}", key, value);
  return text;
}

const PlaceAnswer* place_of(const PlanReport& report, const PlanPoint& point) {
  for (const PlaceAnswer& one : report.places) {
    if (one.cluster == point.cluster && one.ranks == point.request.ranks && one.nodes == point.nodes &&
        (one.model.is_null() || one.model == point.request.model))
      return &one;
  }
  return nullptr;
}

Json row_json(const PlanReport& report, const GpuRow& row) {
  Json json = {{"ranks", row.ranks}, {"nodes", row.nodes}};
  const PlanOutcome* best = row.best ? &report.outcomes[*row.best] : nullptr;
  json["point"] = best == nullptr ? Json(nullptr) : Json(best->point.id);
  json["reason"] = or_null(row.refusal);
  if (best == nullptr) return json;
  json["strategy"] = best->point.request.strategy.at("name");
  json["epoch_seconds"] = best->epoch_seconds;
  json["job_seconds"] = best->job_seconds;
  json["dollars"] = or_null(best->dollars);
  json["currency"] = or_null(best->currency);
  json["peak_bytes"] = best->peak_bytes;
  json["efficiency"] = row.efficiency;
  json["epoch_seconds_band90"] =
      best->epoch_band ? Json{{"low", best->epoch_band->low}, {"high", best->epoch_band->high}} : Json(nullptr);
  json["extrapolated"] = !extrapolated_text(*best).empty();
  return json;
}

Json turn_json(const std::optional<Turn>& turn) {
  return turn ? Json{{"factor", turn->factor}, {"point", turn->point}} : Json(nullptr);
}

Json turning_json(const TurningStudy& study) {
  Json json = {{"summary", study.summary}, {"smallest_factor", 1 / widest_factor}, {"largest_factor", widest_factor},
               {"rivals", study.rivals},   {"simulations", study.simulations},     {"constants", Json::array()}};
  for (const TurnedConstant& constant : study.constants) {
    json["constants"].push_back({{"key", constant.key},
                                 {"value", constant.value},
                                 {"below", turn_json(constant.below)},
                                 {"above", turn_json(constant.above)}});
  }
  return json;
}

}  // namespace

std::string priced_text(const PlanOutcome& outcome) {
  if (!outcome.dollars) return "not sold";
  const double amount = *outcome.dollars;  // three significant digits, but all before the decimal point
  return fmt::format("{} {}", amount < 100 ? fmt::format("{:.3g}", amount) : fmt::format("{:.0f}", amount),
                     outcome.currency);
}

std::string place_text(const PlanReport& report, const PlanOutcome& outcome) {
  const PlaceAnswer* found = place_of(report, outcome.point);
  return found == nullptr ? "" : fmt::format("{}", fmt::join(found->answer.sentences, " "));
}

std::string gpu_tables_text(const PlanReport& report) {
  std::string text;
  for (const GpuTable& gpus : report.gpu_tables) {
    TextTable table("GPUs>|nodes>|best strategy|epoch>|job>|cost of the job>|memory/GPU>|efficiency>|90 % band|");
    for (const GpuRow& row : gpus.rows) {
      if (!row.best) {
        table.add(
            {std::to_string(row.ranks), std::to_string(row.nodes), "-", "-", "-", "-", "-", "-", "-", row.refusal});
        continue;
      }
      const PlanOutcome& own = report.outcomes[*row.best];
      table.add({std::to_string(row.ranks), std::to_string(row.nodes), row_choices(own.point),
                 format_seconds(own.epoch_seconds), format_seconds(own.job_seconds), priced_text(own),
                 format_bytes(static_cast<double>(own.peak_bytes)), fmt::format("{:.0f} %", 100 * row.efficiency),
                 band_text(own), extrapolated_text(own)});
    }
    text += fmt::format("\n{}, {}\n{}", gpus.cluster, gpus.model, table.text());
    if (!gpus.against.empty())
      text += fmt::format("efficiency is relative to {}; the cost includes start-up\n", gpus.against);
    for (const GpuRow& row : gpus.rows) {
      if (!row.best) continue;
      const PlanOutcome& own = report.outcomes[*row.best];
      text +=
          fmt::format("best on {}: {}\n{}", counted_gpus(row.ranks), own.point.id, indented(place_text(report, own)));
    }
    text += fmt::format("why it stops scaling: {}\n", gpus.why);
  }
  return text;
}

std::string memory_text(const PlanOutcome& best) {
  if (best.row == nullptr || !best.row->memory_bytes) return "";
  const PartsOfRanks& parts = best.row->memory_bytes->accounted;
  std::vector<std::uint64_t> sums(parts.front().size());
  for (const std::vector<std::uint64_t>& ranks : parts)
    std::transform(ranks.begin(), ranks.end(), sums.begin(), sums.begin(), std::plus<>());
  const auto rank = std::max_element(sums.begin(), sums.end()) - sums.begin();
  std::vector<std::string> words;
  for (std::size_t i = 0; i < parts.size(); ++i)
    words.push_back(fmt::format("{} {}", memory_part_names[i],
                                format_bytes(static_cast<double>(parts[i][static_cast<std::size_t>(rank)]))));
  return fmt::format("\nmemory of the best point, on the GPU that needs most: {}\n", fmt::join(words, ", "));
}

std::string turning_text(const PlanReport& report) {
  if (report.turning) return fmt::format("\nwhat would change the answer: {}\n", report.turning->summary);
  return report.until.empty() || report.best() == nullptr ? ""
                                                          : "\nwhat would change the answer: not studied with --until, "
                                                            "because each change would need new training\n";
}

void add_brief(const PlanReport& report, Json& json) {
  Answers answers{"strategy", {}, {}};
  for (const PlaceAnswer& one : report.places) answers.questions.push_back(one.answer);
  json["answers"] = answers_to_json(answers);
  json["front_sentences"] = report.front ? Json(report.front->sentences) : Json::array();
  json["by_gpus"] = report.gpu_tables.empty() ? Json(nullptr) : Json(Json::array());
  for (const GpuTable& gpus : report.gpu_tables) {
    Json rows = Json::array();
    for (const GpuRow& row : gpus.rows) rows.push_back(row_json(report, row));
    json["by_gpus"].push_back({{"cluster", gpus.cluster},
                               {"model", gpus.model},
                               {"efficiency_against", or_null(gpus.against)},
                               {"why_it_stops", gpus.why},
                               {"rows", rows}});
  }
  json["turning"] = report.turning ? turning_json(*report.turning) : Json(nullptr);
}

}  // namespace strobe
