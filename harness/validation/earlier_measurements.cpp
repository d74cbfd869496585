// Reads measurements from files. Returns cases with one row each. Cost: the files' size.
// Invariants: a value that the file lacks is absent from the row, with a reason, and never zero. A row with status ok
// has a median epoch above zero.
#include "harness/validation/earlier_measurements.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "core/content_digest.hpp"
#include "core/errors.hpp"
#include "core/json_reader.hpp"
#include "harness/validation/validation_lines.hpp"
#include "results/row/sample_lines.hpp"

namespace strobe {
namespace {

namespace fs = std::filesystem;

constexpr const char* not_in_csv = "a validation.csv states the median epoch and the status of what was measured alone";

std::string text_at(const Json& json, const char* pointer) {
  const Json::json_pointer place(pointer);
  return json.contains(place) && json.at(place).is_string() ? json.at(place).get<std::string>() : "";
}

/// `candidates` are files that may hold the provenance of the measurements. The first one that exists is read.
MeasurementOrigin origin_of(const std::string& path, const std::vector<std::string>& candidates) {
  MeasurementOrigin origin{path, "", "", nullptr};
  for (const std::string& file : candidates) {
    if (!fs::exists(file)) continue;
    origin.environment = read_object_with_digest(file);
    break;
  }
  if (origin.environment.is_null()) return origin;
  origin.date = text_at(origin.environment, "/date_utc").substr(0, 10);
  std::vector<Json> parts = {origin.environment};
  if (const auto resumed = origin.environment.find("resumed");
      resumed != origin.environment.end() && resumed->is_array())
    for (const Json& part : *resumed) parts.push_back(part);
  std::set<std::string> reported;
  for (const Json& part : parts) {
    const std::string machine = text_at(part, "/host_class/text");
    if (machine.empty() || !reported.insert(machine).second) continue;
    origin.machine += (origin.machine.empty() ? "" : " and ") + machine;
  }
  return origin;
}

void leave_out(EarlierCases& cases, const std::string& id, const char* cause, const std::string& reason) {
  cases.left_out.push_back({id, cause, reason});
}

/// A row with status ok and no time could not be judged.
void check_time(const Row& row, const std::string& file) {
  if (row.status != "ok" || (row.epoch_seconds && row.epoch_seconds->median > 0)) return;
  throw InvalidInput(file, 0, 0, fmt::format("the row of {} is ok, but has no median of epochs above 0", row.case_id));
}

void add_row(EarlierCases& cases, const std::string& file, Row row, std::vector<EpochSample> samples) {
  const std::string written_id = row.case_id;
  try {
    Case c = case_from_json(case_json_of(row), "", CaseRuns::elsewhere);
    row.case_id = case_id(c);
    if (row.case_id != written_id) row.notes.push_back("the case was " + written_id + " where it ran");
    const std::string id = row.case_id;
    if (!cases.rows.emplace(id, EarlierRow{std::move(row), std::move(samples)}).second) {
      throw InvalidInput(file, 0, 0, "two rows are of the case " + id);
    }
    cases.suite.cases.push_back(std::move(c));
  } catch (const InvalidRequest& error) {
    leave_out(cases, written_id, "not_measured",
              std::string("its case is not one that can be run now: ") + error.what());
  }
}

/// Lists planned cases that the run never reached.
void name_missing_rows(EarlierCases& cases, const std::string& plan, const std::set<std::string>& seen,
                       const std::function<bool(const std::string&)>& wanted) {
  if (!fs::exists(plan)) return;
  for (const Json& planned : read_object_with_digest(plan).value("cases", Json::array())) {
    try {
      const std::string id = case_id(case_from_json(planned, "", CaseRuns::elsewhere));
      if (seen.count(id) == 0 && cases.rows.count(id) == 0 && wanted(id))
        leave_out(cases, id, "not_measured", "it is planned, but has no row");
    } catch (const Error&) {  // a planned case without a row that this program does not know
    }
  }
}

std::string name_of_run(const std::string& folder) {
  const fs::path path = fs::absolute(folder).lexically_normal();
  const std::string name = (path.has_filename() ? path : path.parent_path()).filename().string();
  return name.empty() || name.front() == '.' ? "run" : name;
}

std::string without_hash(const std::string& id) { return id.substr(0, id.find('#')); }

/// Why no case of the suite has this id. A case with the same name but another hash has other settings.
std::string unknown_id(const std::string& id, const Suite& suite) {
  for (const Case& c : suite.cases) {
    const std::string known = case_id(c);
    if (without_hash(known) == without_hash(id))
      return fmt::format("the suite's case of that name has other settings: it is {}; --set changes them", known);
  }
  return "the suite has no such case";
}

void match_lines(EarlierCases& cases, const Suite& all, const std::map<std::string, ValidationLine>& lines) {
  for (const Case& c : all.cases) {
    const std::string id = case_id(c);
    const auto line = lines.find(id);
    if (line == lines.end()) {
      leave_out(cases, id, "not_measured", "the file has no line for it");
      continue;
    }
    const ValidationLine& found = line->second;
    if (found.status == "ok" && !(found.seconds > 0)) {
      leave_out(cases, id, "not_measured", "the file has no time for it, because its prediction had failed");
      continue;
    }
    const std::string reason = found.status == "ok" ? "" : "the file does not say why";
    Row row = row_of_median(case_to_json(c), id, found.status, reason, found.seconds, not_in_csv);
    cases.rows.emplace(id, EarlierRow{std::move(row), {}});
    cases.suite.cases.push_back(c);
  }
}

}  // namespace

std::string MeasurementOrigin::what() const {
  return path + (date.empty() ? "" : ", " + date) + ", " + (machine.empty() ? "nothing about the machine" : machine);
}

std::string MeasurementOrigin::began() const { return text_at(environment, "/date_utc"); }

bool holds_whole_cases(const std::string& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    if (fs::exists(path + "/summary.json")) return true;
    const bool nested = fs::exists(path + "/measured/summary.json");
    throw InvalidRequest("--measured", path + " holds no run: summary.json is missing" +
                                           (nested ? "; its folder measured has one" : ""));
  }
  if (!fs::exists(path, ignored)) throw InvalidRequest("--measured", path + " does not exist");
  const std::string text = read_regular_file(path);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string::npos && text[first] == '{';
}

EarlierCases cases_of_run(const std::string& path, const std::string& filter) {
  const auto wanted = id_filter(filter);
  std::error_code ignored;
  const bool is_folder = fs::is_directory(path, ignored);
  const std::string file = is_folder ? path + "/summary.json" : path;
  const std::string parent = fs::path(file).parent_path().string(), folder = parent.empty() ? "." : parent;
  EarlierCases cases;
  cases.origin = origin_of(path, {folder + "/env.json"});
  cases.suite.name = name_of_run(folder);
  std::map<std::string, std::vector<EpochSample>> samples;
  if (fs::exists(folder + "/samples.jsonl")) samples = read_samples(folder + "/samples.jsonl");
  std::set<std::string> seen;
  for (Row& row : read_summary(file).rows) {
    seen.insert(row.case_id);
    if (!wanted(row.case_id)) continue;
    check_time(row, file);
    if (row.time_source == "virtual" || !row.cluster.empty()) {
      leave_out(cases, row.case_id, "not_measured", "its row is itself a prediction, of cluster " + row.cluster);
      continue;
    }
    std::vector<EpochSample> own = std::move(samples[row.case_id]);
    add_row(cases, file, std::move(row), std::move(own));
  }
  name_missing_rows(cases, folder + "/plan.json", seen, wanted);
  if (!cases.suite.cases.empty()) return cases;
  if (cases.left_out.empty() && !filter.empty()) {
    throw InvalidRequest("--filter", fmt::format("no case of {} matches '{}'", path, filter));
  }
  throw InvalidRequest("--measured", fmt::format("{} has no measured row{}", path,
                                                 cases.left_out.empty() ? ""
                                                                        : "; e.g. " + cases.left_out.front().id + ": " +
                                                                              cases.left_out.front().reason));
}

EarlierCases cases_of_csv(const std::string& path, const Suite& suite, const std::string& filter) {
  const auto wanted = id_filter(filter);
  const std::vector<ValidationLine> lines = read_validation_csv(path);
  Suite filtered = suite;
  filter_cases(filtered, filter);
  const std::string parent = fs::path(path).parent_path().string(), folder = parent.empty() ? "." : parent;
  EarlierCases cases;
  cases.origin = origin_of(path, {folder + "/measured/env.json", folder + "/env.json", folder + "/environment.json"});
  cases.suite.name = suite.name;
  std::map<std::string, ValidationLine> by_id;
  for (const ValidationLine& line : lines) by_id.emplace(line.id, line);
  match_lines(cases, filtered, by_id);
  std::set<std::string> known;
  for (const Case& c : suite.cases) known.insert(case_id(c));
  for (const ValidationLine& line : lines) {
    if (known.count(line.id) == 0 && wanted(line.id))
      leave_out(cases, line.id, "not_in_suite", unknown_id(line.id, suite));
  }
  if (!cases.suite.cases.empty()) return cases;
  throw InvalidRequest(
      "--measured", fmt::format("{} and the suite {} have no case in common: it has {}, the suite has {}; SUITE, --set "
                                "and --filter choose the cases",
                                path, suite.name, lines.front().id, case_id(filtered.cases.front())));
}

std::vector<PairResult> earlier_results(const std::vector<ValidationPair>& pairs, const EarlierCases& cases) {
  std::vector<PairResult> results;
  for (const ValidationPair& pair : pairs) {
    const EarlierRow& known = cases.rows.at(pair.id);
    PairResult result{pair, {}, {}, {}, {}, {}, 0};
    result.measured.status = known.row.status;
    result.measured.reason = known.row.reason;
    result.measured.samples = known.samples;
    result.earlier = known.row;
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace strobe
