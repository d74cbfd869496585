// Reads the list of programs into pairs of cases: one that another program trains, and Strobe's that predicts it.
// Invariant: the halves come from the list alone, never from what was measured. Cost: O(runs^2) comparisons.
#include "harness/validation/programs/programs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "core/or_null.hpp"
#include "harness/request/suite.hpp"
#include "harness/validation/report_cells.hpp"
#include "harness/validation/validation_report.hpp"
#include "results/row/statistics.hpp"
#include "results/row/table.hpp"

namespace strobe {
namespace {

bool is_in(const Json& list, const std::string& name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

/// The words of "a,b".
std::vector<std::string> names_in(const std::string& text) {
  std::vector<std::string> names;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    names.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return names;
}

/// A workload as --workload takes it. Programs get its window as an option of their own.
std::string workload_words(const Json& workload) {
  std::string words = workload.at("name").get<std::string>();
  char before = ':';
  for (const auto& [key, value] : workload.items()) {
    if (key == "name" || key == "window") continue;
    words += before + key + "=" + value.dump();
    before = ',';
  }
  return words;
}

/// "ddp-2": the way's name and its number of ranks; "alone" has one.
std::pair<std::string, int> way_and_ranks(const std::string& way) {
  const std::size_t dash = way.rfind('-');
  if (dash == std::string::npos) return {way, 1};
  return {way.substr(0, dash), std::stoi(way.substr(dash + 1))};
}

/// The module that the program needs and the interpreter lacks; "" when it lacks none.
std::string lacking_module(const Json& program, const ProgramPlace& place) {
  const std::string module = program.value("needs", "");
  return module.empty() || !place.has_module || place.has_module(module) ? "" : module;
}

struct NamedRun {
  std::string program, graph, way;
  std::string name() const { return program + "/" + graph + "/" + way; }
};

/// The script of a program or graph: programs of events read no snapshots, and the others no events.
std::string script_of(const Json& described) { return described.value("script", "snapshots.py"); }

/// The settings that both cases of a run have.
Json shared_settings(const Json& list, const NamedRun& run) {
  Json json = list.at("programs").at(run.program).at("case");
  json["workload"] = list.at("graphs").at(run.graph).at("workload");
  json["ranks"] = way_and_ranks(run.way).second;
  for (const char* key : {"epochs", "warmup"}) json[key] = list.at("defaults").at(key);
  return json;
}

Case predicted_case(const Json& list, const NamedRun& run, const ProgramPlace& place) {
  Json json = shared_settings(list, run);
  json["strategy"] = list.at("ways").at(way_and_ranks(run.way).first).at("strategy");
  json["device"] = "sim";
  json["comm"] = "sim";
  json["numerics"] = "none";
  json["cluster"] = place.cluster;
  json["software"] = place.software;
  return case_from_json(json, "");
}

Case measured_case(const Json& list, const NamedRun& run, const ProgramPlace& place) {
  const Json& graph = list.at("graphs").at(run.graph);
  const std::string command = fmt::format(
      "STROBE_PROGRAM='{}' '{}' -W ignore '{}/{}' --model {} --workload '{}' --window {} --way {} --ranks {{ranks}} "
      "--seed {{seed}}",
      place.strobe, place.python, place.folder, script_of(graph), run.program, workload_words(graph.at("workload")),
      graph.value("window_seconds", 0), way_and_ranks(run.way).first);
  Json json = shared_settings(list, run);
  json["strategy"] = {{"name", "external"}, {"program", run.name()}, {"command", command}};
  json["repeat"] = list.at("defaults").at("repeat");
  return case_from_json(json, "");
}

/// Pairs of two ways of one program on one graph, by the order of their measured times.
Share ordered_ways(const std::vector<const ProgramRun*>& runs, const std::vector<const CaseJudgement*>& cases) {
  std::map<std::string, std::pair<std::vector<double>, std::vector<double>>> groups;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    auto& [measured, predicted] = groups[runs[i]->name.substr(0, runs[i]->name.rfind('/'))];
    measured.push_back(cases[i]->measured_seconds);
    predicted.push_back(cases[i]->predicted_seconds);
  }
  Share all;
  for (const auto& [name, times] : groups) {
    const Share share = ordered_pairs(times.first, times.second);
    all.right += share.right;
    all.of += share.of;
  }
  return all;
}

}  // namespace

std::vector<std::string> chosen_programs(const Json& list, const std::string& chosen) {
  std::vector<std::string> known;
  for (const auto& [name, program] : list.at("programs").items()) known.push_back(name);
  if (chosen == "all") return known;
  std::vector<std::string> names = names_in(chosen);
  for (const std::string& name : names) {
    if (std::find(known.begin(), known.end(), name) == known.end())
      throw InvalidRequest("--programs", unknown_name_message("program", name, known));
  }
  return names;
}

ProgramRuns program_runs(const Json& list, const std::string& chosen, const std::string& filter,
                         const ProgramPlace& place) {
  ProgramRuns found;
  const auto kept = id_filter(filter);
  const Json& held_out = list.at("held_out");
  for (const std::string& program : chosen_programs(list, chosen)) {
    const std::string lacking = lacking_module(list.at("programs").at(program), place);
    for (const auto& [graph, described] : list.at("graphs").items()) {
      if (script_of(described) != script_of(list.at("programs").at(program))) continue;
      for (const Json& way : list.at("programs").at(program).at("ways")) {
        const NamedRun run{program, graph, way.get<std::string>()};
        if (!kept(run.name())) continue;
        if (!lacking.empty()) {
          found.left_out.push_back({run.name(), "cannot_run", place.python + " has no module " + lacking});
          continue;
        }
        const bool held = is_in(held_out.at("programs"), program) || is_in(held_out.at("graphs"), graph);
        try {
          const Case predicted = predicted_case(list, run, place);
          const Case measured = measured_case(list, run, place);
          found.runs.push_back({run.name(), held, {case_id(measured), measured, predicted}});
        } catch (const InvalidRequest& error) {
          if (error.where() != "/ranks") throw;
          found.left_out.push_back({run.name(), "cannot_run", error.message()});
        }
      }
    }
  }
  if (!found.runs.empty()) return found;
  if (found.left_out.empty()) throw InvalidRequest("--filter", "no run of these programs matches it");
  throw InvalidRequest("--cluster", found.left_out.front().id + ": " + found.left_out.front().reason);
}

void set_drifts(ProgramRuns& runs, const std::map<std::string, std::vector<double>>& kernel_seconds) {
  std::vector<double> typical;
  for (const auto& [id, seconds] : kernel_seconds) {
    if (!seconds.empty()) typical.push_back(median(seconds));
  }
  for (ProgramRun& run : runs.runs) {
    const auto found = kernel_seconds.find(run.pair.id);
    if (found != kernel_seconds.end() && !found->second.empty()) run.drift = median(found->second) / median(typical);
  }
}

std::vector<ProgramHalf> program_halves(const ProgramRuns& runs, const Judgement& judgement) {
  std::vector<ProgramHalf> halves;
  for (const bool held : {true, false}) {
    std::vector<const ProgramRun*> of;
    std::vector<const CaseJudgement*> cases;
    std::vector<double> errors, steady, roofline;
    for (std::size_t i = 0; i < runs.runs.size(); ++i) {
      const CaseJudgement& one = judgement.cases[i];
      if (runs.runs[i].held_out != held || !one.judged) continue;
      of.push_back(&runs.runs[i]);
      cases.push_back(&one);
      errors.push_back(one.error);
      steady.push_back(relative_error(one.predicted_seconds, one.measured_seconds / runs.runs[i].drift));
      roofline.push_back(one.baseline_error);
    }
    halves.push_back({held ? "held_out" : "visible", summarise_errors(errors), summarise_errors(steady),
                      summarise_errors(roofline), ordered_ways(of, cases)});
  }
  return halves;
}

std::string program_halves_text(const std::vector<ProgramHalf>& halves) {
  TextTable table(
      "programs|runs>|mean error>|bias>|typical factor>|without drift>|plain roofline>|within twice>|order of ways "
      "right>");
  const auto factor = [](const ErrorSummary& errors) {
    return errors.count > 0 ? fmt::format("{:.2f}", errors.factor) : std::string("-");
  };
  for (const ProgramHalf& half : halves) {
    const bool any = half.epoch.count > 0;
    table.add({half.name == "held_out" ? "held out" : half.name, std::to_string(half.epoch.count),
               any ? percent(half.epoch.mean_absolute) : "-", any ? signed_percent(half.epoch.bias) : "-",
               factor(half.epoch), factor(half.steady), factor(half.roofline),
               fmt::format("{} of {}", half.epoch.within_twice, half.epoch.count), share_text(half.ordered)});
  }
  return table.text() +
         "(goals for the held-out half: mean error 25 %, typical factor 1.25, order right in 9 of 10 pairs)\n";
}

Json program_halves_json(const ProgramRuns& runs, const std::vector<ProgramHalf>& halves) {
  Json json = {{"halves", Json::array()}, {"runs", Json::array()}};
  for (const ProgramHalf& half : halves) {
    json["halves"].push_back({{"name", half.name},
                              {"epoch", errors_json(half.epoch)},
                              {"without_drift", errors_json(half.steady)},
                              {"roofline", errors_json(half.roofline)},
                              {"ordered", share_json(half.ordered)}});
  }
  for (const ProgramRun& run : runs.runs)
    json["runs"].push_back(
        {{"name", run.name}, {"case_id", run.pair.id}, {"held_out", run.held_out}, {"drift", run.drift}});
  return json;
}

}  // namespace strobe
