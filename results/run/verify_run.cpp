#include "results/run/verify_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <tuple>

#include "core/content_digest.hpp"
#include "core/errors.hpp"
#include "core/hash.hpp"
#include "core/json_reader.hpp"
#include "results/row/json_lines.hpp"
#include "results/row/rounds.hpp"
#include "results/row/sample_lines.hpp"
#include "results/run/case_values.hpp"
#include "results/run/row_against_samples.hpp"
#include "results/run/run_directory.hpp"

namespace strobe {
namespace {

namespace fs = std::filesystem;

std::string counted(std::size_t count, const std::string& thing) {
  return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
}

/// "" where every row carries a digest.
std::string unproven_rows(const Json& rows) {
  const auto without =
      std::count_if(rows.begin(), rows.end(), [](const Json& row) { return !row.contains(digest_key); });
  return without == 0 ? "" : fmt::format("{} of {} rows: {}", without, rows.size(), no_digest_text);
}

/// The end of a case's id, which depends on its settings.
std::string id_end(const Json& case_json) { return "#" + sha256_hex(case_json.dump()).substr(0, 6); }

std::string end_of(const std::string& case_id) {
  const std::size_t hash = case_id.rfind('#');
  return hash == std::string::npos ? "" : case_id.substr(hash);
}

/// Turns the errors of `read` into faults of the file.
FileVerdict verdict_of(const std::string& path, const std::function<void(FileVerdict&)>& read) {
  FileVerdict verdict{path, "", {}, ""};
  std::error_code ignored;
  if (!fs::exists(fs::symlink_status(path, ignored))) {
    verdict.faults.push_back("is missing");
    return verdict;
  }
  try {
    read(verdict);
  } catch (const InvalidInput& error) {
    verdict.faults.push_back(error.what());
  }
  return verdict;
}

/// Strobe indents its output by one or two blanks. Text with equal meaning and another form was changed all the same.
void check_text(const Json& json, const std::string& text, FileVerdict& verdict) {
  if (text != json.dump(2) + "\n" && text != json.dump(1) + "\n")
    verdict.faults.push_back("its text was changed, though not what it says");
}

/// The object in a file without its digest.
Json read_object(const std::string& path, FileVerdict& verdict) {
  const std::string text = read_regular_file(path);
  Json object = parse_json(text, path);
  if (!object.is_object()) throw InvalidInput(path, 0, 0, "not a JSON object");
  const Json whole = object;
  if (take_digest(object, path))
    check_text(whole, text, verdict);
  else
    verdict.unproven = no_digest_text;
  return object;
}

/// Lines of a file of JSON lines; a last one without an end and lines without digests are faults.
void check_lines(const std::string& path, const std::string& what, FileVerdict& verdict, const UseJsonLine& use = {}) {
  std::size_t lines = 0, changed = 0;
  const std::size_t unproven = for_each_json_line(path, what, [&](std::string_view line, Json& object, auto number) {
    ++lines;
    if (changed == 0 && std::string(line) + "\n" != json_line(object)) changed = number;
    if (use) use(line, object, number);
  });
  verdict.about = counted(lines, "line");
  if (unproven > 0) verdict.unproven = fmt::format("{} of {} lines: {}", unproven, lines, no_digest_text);
  if (unproven == 0 && changed > 0)
    verdict.faults.push_back(fmt::format("the text of line {} was changed, though not what it says", changed));
  const std::string text = read_regular_file(path);
  if (!text.empty() && text.back() != '\n') verdict.faults.push_back("its last line is cut off");
}

/// The files of one run, each read once.
class RunFiles {
 public:
  RunFiles(std::string folder, RowJudge judge) : folder_(std::move(folder)), judge_(std::move(judge)) {}

  std::vector<FileVerdict> verify() {
    std::vector<FileVerdict> verdicts;
    const auto add = [&](const std::string& name, void (RunFiles::*check)(const std::string&, FileVerdict&)) {
      const std::string path = folder_ + "/" + name;
      verdicts.push_back(verdict_of(path, [&](FileVerdict& verdict) { (this->*check)(path, verdict); }));
    };
    add("plan.json", &RunFiles::check_plan);
    add("env.json", &RunFiles::check_environment);
    add("samples.jsonl", &RunFiles::check_samples);
    if (in_rounds_ || is_there("rounds.jsonl")) add("rounds.jsonl", &RunFiles::check_rounds);
    if (proven_ || is_there("values.jsonl")) add("values.jsonl", &RunFiles::check_values);
    add("summary.json", &RunFiles::check_summary);
    add("summary.csv", &RunFiles::check_csv);
    for (const std::string& name : traces()) add(name, &RunFiles::check_trace);
    return verdicts;
  }

 private:
  bool is_there(const std::string& name) const {
    std::error_code ignored;
    return fs::exists(folder_ + "/" + name, ignored);
  }

  std::vector<std::string> traces() const {
    std::vector<std::string> names;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(folder_ + "/trace", ignored))
      if (entry.path().extension() == ".json") names.push_back("trace/" + entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }

  void check_plan(const std::string& path, FileVerdict& verdict) {
    const Json plan = read_object(path, verdict);
    proven_ = verdict.unproven.empty();
    if (!plan.contains("cases") || !plan["cases"].is_array()) throw InvalidInput(path, 0, 0, "it has no list of cases");
    for (const Json& case_json : plan["cases"]) planned_.insert(id_end(case_json));
    verdict.about = counted(plan["cases"].size(), "case");
    plan_hash_ = plan_hash(plan["cases"]);
    const Json named = plan.value("plan_hash", Json());
    if (named != plan_hash_)
      verdict.faults.push_back(
          fmt::format("its cases have the hash {}, but plan_hash is {}", plan_hash_, named.dump()));
    const Json outputs = plan.value("outputs", Json::object());
    in_rounds_ = outputs.is_object() && outputs.contains("rounds");
    from_start_ = !outputs.is_object() || !outputs.contains("checkpoint");
  }

  void check_environment(const std::string& path, FileVerdict& verdict) { read_object(path, verdict); }

  /// A case that the plan lacks is named once in a file.
  void expect_planned(const std::string& case_id, std::set<std::string>& reported, FileVerdict& verdict) const {
    if (plan_hash_.empty() || planned_.count(end_of(case_id)) != 0 || !reported.insert(case_id).second) return;
    verdict.faults.push_back("case " + case_id + " is not in the plan");
  }

  void check_samples(const std::string& path, FileVerdict& verdict) {
    std::set<std::tuple<std::string, int, int, int>> seen;
    std::set<std::string> reported;
    check_lines(path, "sample", verdict, [&](std::string_view, const Json& json, std::uint64_t number) {
      const std::string id = json.at("case_id").get<std::string>();
      const EpochSample sample = sample_from_json(json);
      if (!seen.insert({id, sample.repetition, sample.epoch, sample.rank}).second)
        verdict.faults.push_back(fmt::format("line {} repeats an epoch of a rank of case {}", number, id));
      samples_[id].push_back(sample);
      expect_planned(id, reported, verdict);
    });
    samples_read_ = true;
  }

  void check_rounds(const std::string& path, FileVerdict& verdict) {
    check_lines(path, "round", verdict);
    std::set<std::string> reported;
    for (const auto& [id, records] : read_rounds(path)) expect_planned(id, reported, verdict);
  }

  void check_values(const std::string& path, FileVerdict& verdict) {
    check_lines(path, "line of losses and metrics", verdict);
    values_ = read_case_values(path);
    std::set<std::string> reported;
    for (const auto& [id, lines] : values_) expect_planned(id, reported, verdict);
  }

  void check_summary(const std::string& path, FileVerdict& verdict) {
    const std::string text = read_regular_file(path);
    const Json json = parse_json(text, path);
    const Summary summary = read_summary(path);
    rows_ = summary.rows;
    rows_read_ = true;
    verdict.about = counted(rows_.size(), "row");
    verdict.unproven = unproven_rows(json.at("rows"));
    if (verdict.unproven.empty()) check_text(json, text, verdict);
    written_by_this_ = json.at("schema_version") == summary_schema_version;
    if (!plan_hash_.empty() && summary.plan_hash != plan_hash_)
      verdict.faults.push_back("its plan_hash is not that of plan.json");
    check_rows(verdict);
  }

  void check_rows(FileVerdict& verdict) const {
    std::set<std::string> reported, seen, missing = planned_;
    for (const Row& row : rows_) {
      if (!seen.insert(row.case_id).second) verdict.faults.push_back("it has two rows of case " + row.case_id);
      expect_planned(row.case_id, reported, verdict);
      missing.erase(end_of(row.case_id));
      check_row(row, verdict);
    }
    for (const std::string& end : missing)
      verdict.faults.push_back(fmt::format("it has no row of the planned case {}, which did not end or was lost", end));
  }

  void check_row(const Row& row, FileVerdict& verdict) const {
    const bool has_values = row.loss || !row.metrics.empty();
    if (proven_ && has_values && values_.count(row.case_id) == 0)
      verdict.faults.push_back(fmt::format("the row of case {} has no line in values.jsonl", row.case_id));
    if (const std::string fault = judge_ ? judge_(row) : ""; !fault.empty())
      verdict.faults.push_back(fmt::format("the row of case {}: {}", row.case_id, fault));
    if (!samples_read_) return;
    const auto samples = samples_.find(row.case_id);
    const std::vector<EpochSample> none;
    const std::string fault =
        difference_from_samples(row, samples == samples_.end() ? none : samples->second, from_start_);
    if (!fault.empty()) verdict.faults.push_back(fmt::format("the row of case {}: {}", row.case_id, fault));
  }

  void check_csv(const std::string& path, FileVerdict& verdict) {
    if (!rows_read_) throw InvalidInput(path, 0, 0, "cannot be compared with summary.json");
    if (!written_by_this_) return;  // another revision has other columns
    const std::string text = read_regular_file(path);
    if (text != rows_to_csv(rows_)) verdict.faults.push_back("is not the table of the rows of summary.json");
  }

  void check_trace(const std::string& path, FileVerdict& verdict) {
    const Json trace = read_json_object(path);
    if (!trace.contains("traceEvents")) throw InvalidInput(path, 0, 0, "is no trace");
    verdict.about = "JSON; a trace carries no digest";
  }

  std::string folder_, plan_hash_;
  RowJudge judge_;
  std::set<std::string> planned_;  // how the ids of the plan's cases end
  std::map<std::string, std::vector<EpochSample>> samples_;
  CaseValues values_;
  std::vector<Row> rows_;
  bool proven_ = false;      // the plan carries a digest, so every file that a run writes must exist
  bool from_start_ = false;  // its cases continued no checkpoint
  bool in_rounds_ = false, samples_read_ = false, rows_read_ = false, written_by_this_ = false;
};

}  // namespace

std::vector<FileVerdict> verify_run(const std::string& folder, RowJudge judge) {
  return RunFiles(folder, std::move(judge)).verify();
}

FileVerdict verify_json_file(const std::string& path) {
  return verdict_of(path, [&](FileVerdict& verdict) {
    if (fs::path(path).extension() == ".jsonl") return check_lines(path, "line of Strobe's", verdict);
    const Json json = read_object(path, verdict);
    if (!json.contains("rows") || !json.contains("schema_version")) return;
    verdict.about = counted(read_summary(path).rows.size(), "row");
    verdict.unproven = unproven_rows(json.at("rows"));
  });
}

}  // namespace strobe
