// Invariants: a row in summary.json is always there together with its samples (samples are written first); a case has
// at most one row and one set of samples, and without a row whole epochs of them or none; summary.json on disk is
// complete at every moment.
#include "results/run/run_directory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/content_digest.hpp"
#include "core/errors.hpp"
#include "core/hash.hpp"
#include "core/json_reader.hpp"
#include "results/row/json_lines.hpp"
#include "results/row/sample_lines.hpp"
#include "results/run/case_values.hpp"
#include "results/run/files.hpp"
#include "results/trace/trace.hpp"

namespace strobe {
namespace {

namespace fs = std::filesystem;

std::string escaped(std::string key) {
  for (std::size_t at = 0; (at = key.find_first_of("~/", at)) != std::string::npos; at += 2) {
    key.replace(at, 1, key[at] == '~' ? "~0" : "~1");
  }
  return key;
}

/// Files of a run directory have well-known names, so nobody put a link there on purpose: it is replaced.
void write_own(const std::string& path, std::string_view content) {
  write_file_atomically(path, content, Links::replaced);
}

void refuse_other_plan(const std::string& path, const Json& recorded, const Json& asked) {
  if (!recorded.contains("cases")) throw InvalidInput(path, 0, 0, "not a plan: 'cases' is missing");
  const JsonDifference difference = first_difference(recorded["cases"], asked, "/cases");
  if (!difference.differs) return;
  throw InvalidRequest("--resume", fmt::format("{} holds another plan; {} is {} there and {} in this request", path,
                                               difference.pointer, difference.a, difference.b));
}

void refuse_other_data(const std::string& path, const Json& recorded, const Json& found) {
  if (!recorded.is_object()) throw InvalidInput(path, 0, 0, "not a plan: 'data' is not a JSON object");
  const JsonDifference difference = first_difference(recorded, found, "");
  if (!difference.differs) return;
  throw InvalidRequest("--resume", fmt::format("the data have changed since the run began: SHA-256 of {} is {} in {}, "
                                               "and {} now",
                                               key_of_pointer(difference.pointer), difference.a, path, difference.b));
}

std::string recorded_hash(const std::string& path, const Json& plan, const std::string& otherwise) {
  if (!plan.contains("plan_hash")) return otherwise;
  if (!plan["plan_hash"].is_string()) throw InvalidInput(path, 0, 0, "not a plan: 'plan_hash' is not text");
  return plan["plan_hash"].get<std::string>();
}

/// Read before anything is written: a damaged file must not cost the other files.
Json recorded_environment(const std::string& path) {
  if (!fs::exists(path)) return Json::object();
  Json recorded = read_object_with_digest(path);
  if (recorded.contains("resumed") && !recorded["resumed"].is_array())
    throw InvalidInput(path, 0, 0, "'resumed' is not a list");
  return recorded;
}

/// A folder inside the run directory, where nobody but Strobe has anything to put. A link there is refused, because it
/// leads to a foreign folder.
void make_own_folder(const std::string& path) {
  std::error_code ignored;
  if (fs::is_symlink(fs::symlink_status(path, ignored)))
    throw SystemError(fmt::format("cannot write into {}: it is a link; remove it", path));
  make_folder(path);
}

}  // namespace

std::string plan_hash(const Json& cases) { return sha256_hex(cases.dump()); }

std::string file_name_of_case(const std::string& case_id) {
  std::string name = case_id;
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.' && c != '-' && c != '_') c = '_';
  }
  return name;
}

JsonDifference first_difference(const Json& a, const Json& b, const std::string& pointer) {
  if (a.is_object() && b.is_object()) {
    for (const auto& [key, value] : a.items()) {
      const std::string here = pointer + "/" + escaped(key);
      if (!b.contains(key)) return {true, here, value.dump(), "absent"};
      const JsonDifference inner = first_difference(value, b[key], here);
      if (inner.differs) return inner;
    }
    for (const auto& [key, value] : b.items()) {
      if (!a.contains(key)) return {true, pointer + "/" + escaped(key), "absent", value.dump()};
    }
    return {};
  }
  if (a.is_array() && b.is_array()) {
    for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
      const std::string here = fmt::format("{}/{}", pointer, i);
      if (i >= b.size()) return {true, here, a[i].dump(), "absent"};
      if (i >= a.size()) return {true, here, "absent", b[i].dump()};
      const JsonDifference inner = first_difference(a[i], b[i], here);
      if (inner.differs) return inner;
    }
    return {};
  }
  if (a == b) return {};
  return {true, pointer, a.dump(), b.dump()};
}

std::string key_of_pointer(const std::string& pointer) {
  std::string key = pointer.substr(1);
  for (std::size_t at = 0; (at = key.find('~', at)) != std::string::npos; ++at) {
    key.replace(at, 2, key.compare(at, 2, "~0") == 0 ? "~" : "/");
  }
  return key;
}

RunDirectory::RunDirectory(std::string path, const Json& cases, const Json& environment, bool resume,
                           const Json& digests, bool retry_failed, const Json& outputs)
    : path_(std::move(path)) {
  while (path_.size() > 1 && path_.back() == '/') path_.pop_back();
  refuse_existing(resume);
  make_folder(path_);
  check_writable(path_);
  make_own_folder(file("trace"));
  make_own_folder(file("logs"));
  lock();
  refuse_existing(resume);  // another run may have begun here, and ended, since
  summary_.plan_hash = plan_hash(cases);
  if (holds_run())
    reopen(cases, environment, digests, retry_failed);
  else
    start(cases, environment, digests, outputs);
}

bool RunDirectory::holds_run() const {
  return fs::exists(file("plan.json")) || fs::exists(file("summary.json")) || fs::exists(file("samples.jsonl"));
}

void RunDirectory::refuse_existing(bool resume) const {
  if (!holds_run() || resume) return;
  throw InvalidRequest("--out", fmt::format("{} already holds a run; choose another folder or add --resume", path_));
}

void RunDirectory::lock() {
  lock_ = lock_file(log_path());
  if (lock_ != nullptr) return;
  throw InvalidRequest(
      "--out", fmt::format("another run is writing into {}; wait for its end, or choose another folder", path_));
}

void RunDirectory::start(const Json& cases, const Json& environment, const Json& digests, const Json& outputs) {
  const Json plan{{"schema_version", summary_schema_version},
                  {"plan_hash", summary_.plan_hash},
                  {"cases", cases},
                  {"data", digests},
                  {"outputs", outputs}};
  write_own(file("plan.json"), with_digest(plan).dump(2) + "\n");
  write_own(file("env.json"), with_digest(environment).dump(2) + "\n");
  write_own(file("samples.jsonl"), "");
  write_own(file("values.jsonl"), "");
  samples_ = HeldFile(file("samples.jsonl"));
  write_summary(summary_);
}

void RunDirectory::reopen(const Json& cases, const Json& environment, const Json& digests, bool retry_failed) {
  if (!fs::exists(file("plan.json"))) {
    throw InvalidRequest("--resume",
                         fmt::format("{} holds results without a plan.json, so they cannot be continued", path_));
  }
  const Json plan = read_object_with_digest(file("plan.json"));
  refuse_other_plan(file("plan.json"), plan, cases);
  refuse_other_data(file("plan.json"), plan.value("data", digests), digests);
  Json recorded = recorded_environment(file("env.json"));
  std::map<std::string, bool> keep;
  std::set<std::string> dropped;
  Summary kept{recorded_hash(file("plan.json"), plan, summary_.plan_hash), {}};
  if (fs::exists(file("summary.json"))) {
    for (Row& row : read_summary(file("summary.json")).rows) {
      keep[row.case_id] = row.status != "interrupted" && (row.status == "ok" || !retry_failed);
      if (retry_failed && row.status != "ok" && row.status != "interrupted") dropped.insert(row.case_id);
      if (keep[row.case_id]) kept.rows.push_back(std::move(row));
    }
  }
  keep_rounds(keep, dropped);
  keep_samples(keep, kept);
  std::string values;
  for (const Row& row : kept.rows) values += values_line(row);
  write_own(file("values.jsonl"), values);
  write_summary(kept);
  summary_ = std::move(kept);
  recorded["resumed"].push_back(environment);
  write_own(file("env.json"), with_digest(recorded).dump(2) + "\n");
}

/// Whole rounds stay, except those of failures that shall be tried again. `left_rounds_` has those of cases to
/// continue.
void RunDirectory::keep_rounds(const std::map<std::string, bool>& keep, const std::set<std::string>& dropped) {
  const std::string path = file("rounds.jsonl");
  if (!fs::exists(path)) return;
  std::string lines;
  for (auto& [case_id, records] : read_rounds(path)) {
    if (dropped.count(case_id) != 0) continue;
    for (const RoundRecord& record : records) lines += json_line(round_to_json(record));
    const auto has_row = keep.find(case_id);
    if (has_row == keep.end() || !has_row->second) left_rounds_[case_id] = std::move(records);
  }
  write_own(path, lines);
}

/// Samples of rows stay. Those of cases without one are kept for the caller who can make the row of them.
void RunDirectory::keep_samples(const std::map<std::string, bool>& keep, Summary& kept) {
  const std::string path = file("samples.jsonl");
  std::string lines;
  if (fs::exists(path)) {
    const auto is_left = [&](const std::string& id, int round) {
      const std::vector<RoundRecord> rounds = left_rounds(id);
      return std::any_of(rounds.begin(), rounds.end(), [&](const RoundRecord& left) { return left.round == round; });
    };
    lines = kept_sample_lines(path, [&](const std::string& id, int round) {
      const auto row = keep.find(id);
      return (row != keep.end() && row->second) || is_left(id, round);
    });
    left_ = read_samples(path);
    for (const auto& [id, rounds] : left_rounds_) {
      const int repetitions = repetitions_of(rounds.front().row);
      std::erase_if(left_[id], [&](const EpochSample& s) { return !is_left(id, s.repetition / repetitions); });
    }
  }
  for (Row& row : kept.rows) {
    const std::string note = no_samples_note;
    const bool there = left_.erase(row.case_id) > 0 || !row.epoch_seconds;
    if (!there && std::count(row.notes.begin(), row.notes.end(), note) == 0) row.notes.push_back(note);
  }
  write_own(path, lines);
  samples_ = HeldFile(path);
}

void RunDirectory::check_samples() const {
  if (samples_.is_at(file("samples.jsonl"))) return;
  throw SystemError(
      fmt::format("{} was removed or replaced while the run was under way; what rows were made from is "
                  "lost",
                  file("samples.jsonl")));
}

std::vector<EpochSample> RunDirectory::left_samples(const std::string& case_id) const {
  const auto found = left_.find(case_id);
  return found == left_.end() ? std::vector<EpochSample>() : found->second;
}

std::vector<RoundRecord> RunDirectory::left_rounds(const std::string& case_id) const {
  const auto found = left_rounds_.find(case_id);
  return found == left_rounds_.end() ? std::vector<RoundRecord>() : found->second;
}

void RunDirectory::append_round(const RoundRecord& record, const std::vector<EpochSample>& samples) {
  check_samples();
  append_durably(file("samples.jsonl"), sample_lines(record.case_id, samples, record.round), Links::replaced);
  append_durably(file("rounds.jsonl"), json_line(round_to_json(record)), Links::replaced);
}

bool RunDirectory::finished(const std::string& case_id) const {
  return std::any_of(summary_.rows.begin(), summary_.rows.end(),
                     [&](const Row& row) { return row.case_id == case_id && row.status != "interrupted"; });
}

void RunDirectory::append_epochs(const std::string& case_id, const std::vector<EpochSample>& samples) {
  check_samples();
  append(file("samples.jsonl"), sample_lines(case_id, samples), Links::replaced);
  std::set<SampleKey>& keys = appended_[case_id];
  for (const EpochSample& sample : samples) keys.insert(key_of(sample));
}

void RunDirectory::append_samples(const std::string& case_id, const std::vector<EpochSample>& samples) {
  const std::set<SampleKey>& there = appended_[case_id];
  std::vector<EpochSample> missing;
  for (const EpochSample& sample : samples)
    if (there.count(key_of(sample)) == 0) missing.push_back(sample);
  check_samples();
  append_durably(file("samples.jsonl"), sample_lines(case_id, missing), Links::replaced);
  appended_.erase(case_id);
}

void RunDirectory::add_row(const Row& row) {
  Summary next = summary_;
  const auto same =
      std::find_if(next.rows.begin(), next.rows.end(), [&](const Row& other) { return other.case_id == row.case_id; });
  if (same == next.rows.end())
    next.rows.push_back(row);
  else
    *same = row;
  const std::string values = values_line(row);  // first: a row on disk always has its line
  if (!values.empty()) append_durably(file("values.jsonl"), values, Links::replaced);
  write_summary(next);
  summary_ = std::move(next);
}

void RunDirectory::write_summary(const Summary& summary) const {
  write_own(file("summary.json"), summary_to_json(summary).dump(2) + "\n");
  write_own(file("summary.csv"), rows_to_csv(summary.rows));
}

std::string RunDirectory::write_trace(const std::string& case_id, const std::vector<std::vector<Span>>& ranks,
                                      const std::string& time_source) {
  const std::string path = file("trace/" + file_name_of_case(case_id) + ".json");
  write_own(path, trace_json(case_id, ranks, time_source));
  return path;
}

}  // namespace strobe
