// The run directory: everything one plan produced, on disk as soon as it exists, and safe to continue.
//
// Every JSON object in it carries its digest (core/content_digest.hpp).
//   plan.json      {"schema_version", "plan_hash", "cases", "data", "outputs"}
//   env.json       provenance; "resumed" lists the provenance of every continuation
//   samples.jsonl  one line per case, repetition, epoch and rank; with rounds it names the round, too
//   rounds.jsonl   with rounds: one line per case and round, its row and the machine's activity, after its samples
//   values.jsonl   losses and metrics of each row, written before the row
//   summary.json, summary.csv   one row per case, replaced in one step after each case
//   trace/*.json, logs/strobe.log
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "results/row/rounds.hpp"
#include "results/row/row.hpp"
#include "results/run/files.hpp"

namespace strobe {

/// Hash that identifies a plan: SHA-256 of the compact JSON of its cases.
std::string plan_hash(const Json& cases);

/// The first place, depth first in the order of `a`, at which two JSON values differ.
struct JsonDifference {
  bool differs = false;
  std::string pointer;  // JSON pointer
  std::string a, b;     // compact JSON of both sides there, or "absent"
};
JsonDifference first_difference(const Json& a, const Json& b, const std::string& pointer = "");

/// The key that a pointer of one level (/data~1x.csv) names.
std::string key_of_pointer(const std::string& pointer);

/// The note of a row whose samples were gone when its run was continued.
inline constexpr const char* no_samples_note = "samples.jsonl has no samples of this row any more";

/// One run's folder, opened for writing by one process.
class RunDirectory {
 public:
  /// Makes or reopens the folder `path` and writes plan.json and env.json, before anything is measured. `cases` is the
  /// plan: an array of the cases as case_to_json gives them. Without `resume`, an existing run there is refused with
  /// InvalidRequest("--out"). With `resume`, another plan is refused with InvalidRequest("--resume") that names the
  /// first differing field and both values. Rows of interrupted cases and samples of cases without a row are dropped;
  /// everything else is kept. While the value lives, a second one for that folder is refused, here or in another
  /// process: InvalidRequest("--out"). Throws SystemError when the folder cannot be written to. `digests`: of the files
  /// of each workload, kept in plan.json under "data". With `resume`, files whose content changed since the run began
  /// are refused too. `retry_failed`: rows that are not `ok` are dropped as well. `outputs`: other things that the
  /// request asked for, kept in plan.json when the run begins. Links in the places of the directory's own files are
  /// replaced, never followed.
  RunDirectory(std::string path, const Json& cases, const Json& environment, bool resume,
               const Json& digests = Json::object(), bool retry_failed = false, const Json& outputs = Json::object());

  const std::string& path() const { return path_; }
  const std::vector<Row>& rows() const { return summary_.rows; }

  /// Whether the case has a row from before or from this run that is not `interrupted`; such a case is not run again.
  bool finished(const std::string& case_id) const;

  /// Samples of the case from a run that ended before its row was written: whole epochs; empty when there are none.
  std::vector<EpochSample> left_samples(const std::string& case_id) const;

  /// Appends the lines of whole epochs of a case that is still running. They survive any end of this process; the disk
  /// has them for certain after `append_samples` of the case. Throws SystemError; the file is then unchanged. Throws it
  /// also when samples.jsonl is gone or is another file, because rows were made from it.
  void append_epochs(const std::string& case_id, const std::vector<EpochSample>& samples);

  /// Appends one line for each sample that `append_epochs` has not, and flushes all lines to the disk. Throws
  /// SystemError; the file is then as it was.
  void append_samples(const std::string& case_id, const std::vector<EpochSample>& samples);

  /// The rounds of cases whose row is still missing or `interrupted`, as an earlier run left them, and their samples.
  std::vector<RoundRecord> left_rounds(const std::string& case_id) const;

  /// Appends the samples of one process of a case, numbered for its round, and then its line in rounds.jsonl. Samples
  /// without that line are dropped when the run is continued. Throws SystemError like `append_samples`.
  void append_round(const RoundRecord& record, const std::vector<EpochSample>& samples);

  /// Adds the row, or replaces the row of the same case, and rewrites summary.json and summary.csv. Throws SystemError;
  /// the files on disk are then the previous ones.
  void add_row(const Row& row);

  /// Writes trace/CASE.json and returns its path; see trace.hpp. Throws SystemError.
  std::string write_trace(const std::string& case_id, const std::vector<std::vector<Span>>& ranks,
                          const std::string& time_source);

  std::string log_path() const { return file("logs/strobe.log"); }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  using SampleKey = std::tuple<int, int, int>;  // repetition, epoch, rank
  static SampleKey key_of(const EpochSample& sample) { return {sample.repetition, sample.epoch, sample.rank}; }
  bool holds_run() const;
  void refuse_existing(bool resume) const;
  void lock();
  void start(const Json& cases, const Json& environment, const Json& digests, const Json& outputs);
  void keep_samples(const std::map<std::string, bool>& keep, Summary& kept);
  void keep_rounds(const std::map<std::string, bool>& keep, const std::set<std::string>& dropped);
  void check_samples() const;
  void reopen(const Json& cases, const Json& environment, const Json& digests, bool retry_failed);
  void write_summary(const Summary& summary) const;

  std::string path_;
  std::shared_ptr<void> lock_;  // on the log, the one file that is neither replaced nor read by us
  Summary summary_;
  std::map<std::string, std::set<SampleKey>> appended_;          // by append_epochs, of cases that run
  std::map<std::string, std::vector<EpochSample>> left_;         // by an earlier run, of cases without a row
  std::map<std::string, std::vector<RoundRecord>> left_rounds_;  // by an earlier run, of cases without a row
  HeldFile samples_;                                             // of samples.jsonl, as this run began it
};

/// `case_id` as a file name: every character but letters, digits, '.', '-' and '_' becomes '_'.
std::string file_name_of_case(const std::string& case_id);

}  // namespace strobe
