#include "harness/cli/submission/entry.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "core/content_digest.hpp"
#include "core/errors.hpp"
#include "core/hash.hpp"
#include "core/json_reader.hpp"
#include "harness/cli/submission/closed_division.hpp"
#include "harness/cli/submission/target.hpp"
#include "results/run/verify_run.hpp"

namespace strobe {
namespace {

namespace fs = std::filesystem;

constexpr const char* entry_name = "entry.json";
constexpr int entry_version = 1;

/// The environment of the run, and of each of its continuations.
std::vector<Json> environments_of(const Json& environment) {
  std::vector<Json> all = {environment};
  for (const Json& again : environment.value("resumed", Json::array())) all.push_back(again);
  return all;
}

Json stated_source(const Json& environment) { return environment.value("source", Json::object()); }

std::string revision_of(const Json& environment) {
  const Json sha = stated_source(environment).value("git_sha", Json());
  return sha.is_string() ? sha.get<std::string>() : "";
}

void add_revision_faults(const Json& environment, std::vector<std::string>& faults) {
  std::set<std::string> revisions;
  bool dirty = false;
  for (const Json& one : environments_of(environment)) {
    revisions.insert(revision_of(one));
    dirty = dirty || stated_source(one).value("dirty", Json()) == Json(true);
  }
  if (dirty) faults.push_back("its source was changed and not committed; commit it, build, and run again");
  if (revisions.size() > 1)
    faults.push_back("several revisions trained it; run it again with one");
  else if (*revisions.begin() == "")
    faults.push_back("env.json names no revision of the source; build from a git checkout or a release");
}

void add_machine_faults(const EnteredRun& entered, std::vector<std::string>& faults) {
  const auto& classes = entered.run.host_classes;
  if (classes.size() > 1) faults.push_back("several kinds of machines ran it; run it on one");
  if (classes.empty() || *classes.begin() == "") faults.push_back("env.json does not say which machine ran it");
  const Json gpus = entered.environment.value("gpus", Json::array());
  const auto on_gpu = [](const Row& row) { return row.device.starts_with("cuda"); };
  const std::vector<Row>& rows = entered.run.summary.rows;
  if (std::any_of(rows.begin(), rows.end(), on_gpu) && gpus.empty()) faults.push_back("env.json names no GPU");
}

/// The fault of one row, whatever its division; "" when it has none.
std::string fault_of_row(const Row& row, const Sender& sender) {
  if (row.status != "ok") return fmt::format("is {}{}{}", row.status, row.reason.empty() ? "" : ": ", row.reason);
  if (std::string fault = fault_of_target(row); !fault.empty()) return fault;
  if (sender.predicted != (row.time_source == "virtual"))
    return sender.predicted ? "has measured times; leave out --predicted"
                            : "has times of a simulation; mark the entry with --predicted";
  const Json loaded = row.settings.value("load_model", Json(""));
  return loaded == Json("") ? "" : "starts from trained weights (load_model)";
}

/// A case without its seed, as text. Rows with the same one are one configuration.
std::string configuration_of(const Row& row) {
  Json json = case_json_of(row);
  json.erase("seed");
  return json.dump();
}

std::vector<std::int64_t> wanted_seeds() {
  std::vector<std::int64_t> seeds;
  for (std::int64_t seed = 1; seed <= entry_seeds; ++seed) seeds.push_back(seed);
  return seeds;
}

void add_seed_faults(const std::vector<Row>& rows, std::vector<std::string>& faults) {
  std::map<std::string, std::vector<const Row*>> configurations;
  for (const Row& row : rows) configurations[configuration_of(row)].push_back(&row);
  for (const auto& [key, own] : configurations) {
    std::vector<std::int64_t> seeds;
    for (const Row* row : own) seeds.push_back(row->seed);
    std::sort(seeds.begin(), seeds.end());
    if (seeds == wanted_seeds()) continue;
    faults.push_back(fmt::format("case {} has the seeds {}; run it with --vary seed={}", own.front()->case_id,
                                 fmt::join(seeds, ","), fmt::join(wanted_seeds(), ",")));
  }
}

std::map<std::string, std::string> files_with_digests(const std::string& folder) {
  std::map<std::string, std::string> found;
  for (const std::string& name : files_of_entry(folder)) found[name] = sha256_file(folder + "/" + name);
  return found;
}

}  // namespace

EnteredRun entered_run(const std::string& folder) {
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored))
    throw InvalidRequest("RUN", fmt::format("there is no run directory '{}'", folder));
  for (const FileVerdict& verdict : verify_run(folder, fault_of_until)) {
    if (verdict.right()) continue;
    const std::string why = verdict.faults.empty() ? verdict.unproven : verdict.faults.front();
    throw InvalidRequest("RUN", fmt::format("{}: {}; `strobe verify {}` lists all that was changed or is missing",
                                            verdict.path, why, folder));
  }
  return {load_run(folder), read_object_with_digest(folder + "/env.json")};
}

std::vector<std::string> faults_of_entry(const EnteredRun& entered, const Sender& sender) {
  const std::vector<Row>& rows = entered.run.summary.rows;
  if (rows.empty()) return {"it has no rows"};
  std::vector<std::string> faults;
  read_json_values(entered.run.folder + "/summary.json", [&] {
    for (const Row& row : rows)
      if (const std::string fault = fault_of_row(row, sender); !fault.empty())
        faults.push_back(fmt::format("case {} {}", row.case_id, fault));
  });
  add_seed_faults(rows, faults);
  read_json_values(entered.run.folder + "/env.json", [&] {
    add_revision_faults(entered.environment, faults);
    add_machine_faults(entered, faults);
  });
  if (sender.division == "closed")
    for (std::string& fault : faults_in_closed_division(entered)) faults.push_back(std::move(fault));
  return faults;
}

std::vector<std::string> files_of_entry(const std::string& folder) {
  std::vector<std::string> names = {"plan.json",    "env.json",     "samples.jsonl", "rounds.jsonl",
                                    "values.jsonl", "summary.json", "summary.csv"};
  std::error_code ignored;
  std::erase_if(names, [&](const std::string& name) { return !fs::exists(folder + "/" + name, ignored); });
  return names;
}

Json entry_json(const EnteredRun& entered, const Sender& sender) {
  const Json& environment = entered.environment;
  Json entry = {{"board_version", entry_version},
                {"who", sender.who},
                {"division", sender.division},
                {"times", sender.predicted ? "predicted" : "measured"},
                {"licence", sender.licence},
                {"date_utc", environment.value("date_utc", "")},
                {"revision", revision_of(environment)},
                {"machine", machine_of(entered, entered.run.summary.rows.front())},
                {"files", files_with_digests(entered.run.folder)}};
  return with_digest(std::move(entry));
}

Sender sender_of_entry(const std::string& folder) {
  const std::string path = folder + "/" + entry_name;
  const Json entry = read_json_object(path);
  if (!entry.contains(digest_key)) throw InvalidInput(path, 0, 0, "it has no digest; `strobe submit` writes one");
  const Json known = read_object_with_digest(path);
  return read_json_values(path, [&] {
    if (known.at("board_version") != entry_version)
      throw InvalidInput(path, 0, 0, fmt::format("board_version is not {}", entry_version));
    const auto stated = known.at("files").get<std::map<std::string, std::string>>(), found = files_with_digests(folder);
    for (const auto& [name, digest] : stated)
      if (found.count(name) == 0 || found.at(name) != digest)
        throw InvalidInput(folder + "/" + name, 0, 0, "it is not the file that entry.json names by its SHA-256");
    if (found.size() != stated.size()) throw InvalidInput(path, 0, 0, "it does not name every file of the entry");
    const std::string division = known.at("division"), times = known.at("times");
    if ((division != "closed" && division != "open") || (times != "measured" && times != "predicted"))
      throw InvalidInput(path, 0, 0, fmt::format("there is no division '{}' with '{}' times", division, times));
    return Sender{known.at("who"), known.at("licence"), division, times == "predicted"};
  });
}

std::string machine_of(const EnteredRun& entered, const Row& row) {
  if (row.time_source == "virtual") return row.cluster.empty() ? row.device : row.cluster;
  return fmt::format("{}", fmt::join(entered.run.host_classes, " and "));
}

}  // namespace strobe
