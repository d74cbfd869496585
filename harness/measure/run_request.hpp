// The request of `strobe run`, before it becomes cases.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/request/suite.hpp"

namespace strobe {

struct RunRequest {
  std::string suite;                           // file; "" = the one case that the flags describe
  std::map<std::string, std::string> plugins;  // --workload, --model, ...: by slot, as typed
  std::map<std::string, std::string> scalars;  // --ranks, --epochs, ...: by field, as typed
  std::vector<std::string> sets;               // --set key.path=value
  std::vector<std::string> varied;             // --vary key.path=a,b,...
  std::string filter;
  std::string out;
  ModelOutputs outputs;
  std::string checkpoint_every;  // --checkpoint-every, as typed
  std::string time_limit;        // --time-limit, as typed
  double limit_seconds = 0;      // the parsed time limit; 0 = none
  std::string rounds;            // --rounds, as typed
  std::string until_interval;    // --until-interval, as typed
  std::string launch;            // --launch: words before the program, for processes of rounds
  std::string session;           // of a resumed run's rounds; "" = a new one
  std::string tune;              // --tune, as typed
  Json tuning;                   // how trials were chosen, as a run of trials keeps it (tuned_run.hpp); null = none
  Json tuned = Json::object();   // by case id, the row key `tuning`
  std::string byte_matrix;       // folder of --byte-matrix; "" = none
  bool resume = false, retry_failed = false, dry_run = false, trace = false, json = false;
  bool strict = false;  // --strict: one impossible combination refuses the whole run
};

/// The number of --checkpoint-every, 0 when it is not given. Throws InvalidRequest.
std::int64_t checkpoint_interval(const RunRequest& request);

/// The seconds of --time-limit, 0 when it is not given. Throws InvalidRequest.
double time_limit_seconds(const RunRequest& request);

/// Reads the cluster to check it. Throws InvalidRequest that names `option`, wherever in the file the mistake is.
void check_cluster(const std::string& cluster, const std::string& option);

/// The cases of the request, filtered.
Suite cases_of(const RunRequest& request);

/// --out, or a new folder runs/NAME-UTCTIME. If another run has that name, -2, -3, ... is appended.
std::string output_folder(const RunRequest& request, const Suite& suite);

}  // namespace strobe
