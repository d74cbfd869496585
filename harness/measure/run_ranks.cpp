#include "harness/measure/run_ranks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <nlohmann/json.hpp>

#include "backends/launch_wait.hpp"
#include "backends/lost_ranks.hpp"
#include "core/errors.hpp"
#include "core/hash.hpp"
#include "harness/measure/kept_request.hpp"
#include "harness/request/bundled_suite.hpp"
#include "harness/request/json_text.hpp"
#include "harness/request/output_files.hpp"
#include "harness/run/plan_digest.hpp"
#include "results/run/environment.hpp"

namespace strobe {
namespace {

/// Whether the request or the suite names the communicator, rather than a default.
bool comm_is_given(const Suite& suite, const Case& c) {
  const auto origins = suite.origins.find(case_id(c));
  return origins != suite.origins.end() && origins->second.count("/comm") != 0;
}

/// Settings that do not change numbers, but that would make the processes' collectives outside training differ.
Json flags_of(const RunRequest& request) {
  const ModelOutputs& outputs = request.outputs;
  Json flags{{"--checkpoint-every", outputs.checkpoint_every}, {"--resume-training", outputs.resume_training},
             {"--time-limit", request.limit_seconds},          {"--resume", request.resume},
             {"--retry-failed", request.retry_failed},         {"--trace", request.trace}};
  for (const AskedFile& file : asked_files(outputs)) flags[file.flag] = true;
  return flags;
}

/// The first communicator of several processes that the suite in `json` names. `named`: `json` is a value of the key
/// "comm".
std::string shared_comm_in(const Json& json, bool named) {
  const auto& known = CommunicatorRegistry::instance();
  if (json.is_string()) {
    const std::string name = json.get<std::string>();
    return named && known.contains(name) && known.find(name).value.gather != nullptr ? name : "";
  }
  if (!json.is_structured()) return "";
  for (const auto& [key, value] : json.items()) {
    const std::string found = shared_comm_in(value, key == "comm" || (named && json.is_array()));
    if (!found.empty()) return found;
  }
  return "";
}

std::string asked_comm(const RunRequest& request) {
  if (const auto given = request.scalars.find("comm"); given != request.scalars.end()) return given->second;
  const std::string setting = "comm=";
  for (const std::string& set : request.sets)
    if (set.rfind(setting, 0) == 0) return set.substr(setting.size());
  if (request.suite.empty()) return "";
  try {
    return shared_comm_in(read_json_file(request.suite), false);
  } catch (const Error&) {
    return "";
  }
}

std::string sha256_if_any(const std::string& path) {
  try {
    return sha256_file(path);
  } catch (const SystemError& error) {
    return error.what();
  }
}

World world_of(const Suite& suite) {
  const bool independent = std::all_of(suite.cases.begin(), suite.cases.end(),
                                       [&](const Case& c) { return in_one_process(c) && comm_is_given(suite, c); });
  if (independent) {
    leave_world();
    return {};
  }
  World world = launched_world();
  if (world.size <= 1) return world;
  for (const Case& c : suite.cases) {
    if (!in_one_process(c)) continue;
    throw InvalidRequest(
        "--comm", fmt::format("{} processes were launched (according to {}), but {} runs in one process; give --comm "
                              "mpi, or start one process, or give --comm {} to make the processes independent",
                              world.size, world.launcher, case_id(c), c.comm));
  }
  return world;
}

/// Informs the other processes that this one cannot read its cases. Returns when there are no others to inform.
void fail_together(const RunRequest& request, const std::exception_ptr& failure) {
  const World world = world_if_any();
  const std::string name = asked_comm(request);
  if (world.size <= 1 || request.dry_run || !CommunicatorRegistry::instance().contains(name)) return;
  const CommunicatorTag::Value& comm = CommunicatorRegistry::instance().find(name).value;
  if (comm.gather == nullptr) return;
  try {
    const auto timeout = request.scalars.find("timeout");
    if (timeout != request.scalars.end()) limit_launch_waits(std::strtod(timeout->second.c_str(), nullptr));
    const Ranks ranks(comm, world, launch_wait_seconds());
    if (ranks.several()) ranks.agree_or_end([&]() -> std::string { std::rethrow_exception(failure); }, {});
  } catch (const RanksLost&) {
  } catch (const SystemError&) {
    // The others do not arrive, so this process reports its own error, like a single process.
  }
}

}  // namespace

std::pair<Suite, World> cases_and_world(RunRequest& request) {
  try {
    request.outputs.checkpoint_every = checkpoint_interval(request);
    request.limit_seconds = time_limit_seconds(request);
    if (!request.suite.empty() && !asks_for_kept_cases(request)) request.suite = suite_path(request.suite);
    Suite suite = asks_for_kept_cases(request) ? kept_cases(request) : cases_of(request);
    settle_resumption(request);
    settle_rounds(request);
    World world = world_of(suite);
    if (request.retry_failed && !request.resume) throw InvalidRequest("--retry-failed", "needs --resume");
    if (!request.byte_matrix.empty() && !request.dry_run) throw InvalidRequest("--byte-matrix", "needs --dry-run");
    return {std::move(suite), std::move(world)};
  } catch (const std::exception&) {
    fail_together(request, std::current_exception());
    throw;
  }
}

Ranks ranks_of(const Suite& suite, const World& world) {
  double seconds = 0;
  const CommunicatorTag::Value* comm = nullptr;
  for (const Case& c : suite.cases) {
    seconds = std::max(seconds, c.timeout);
    const auto& of_case = CommunicatorRegistry::instance().find(c.comm, "/comm").value;
    if (comm == nullptr && of_case.gather != nullptr) comm = &of_case;
  }
  limit_launch_waits(seconds);
  return comm == nullptr ? Ranks() : Ranks(*comm, world, launch_wait_seconds());
}

std::string agreed_digest(const RunRequest& request, const Suite& suite, const std::vector<std::string>& trained) {
  std::string all = plan_json(suite.cases).dump() + flags_of(request).dump() + release();
  for (const std::string& digest : trained) all += digest;
  if (request.outputs.resume_training) all += sha256_if_any(request.outputs.checkpoint);
  return digest_bytes(sha256_hex(all));
}

Json account_of(const RunRequest& request, const Suite& suite, const std::vector<std::string>& trained) {
  Json account{{"cases", plan_json(suite.cases)}, {"flags", flags_of(request)}, {"release", release()}};
  Json& files = account["files"] = Json::object();
  try {
    files = data_digests(suite.cases);
  } catch (const std::exception& error) {
    files["of the workloads"] = error.what();
  }
  for (const Case& c : suite.cases)
    if (!c.load_model.empty()) files[c.load_model] = sha256_if_any(c.load_model);
  if (request.outputs.resume_training) files[request.outputs.checkpoint] = sha256_if_any(request.outputs.checkpoint);
  for (std::size_t i = 0; i < trained.size(); ++i)
    account["trained"]["/cases/" + std::to_string(i)] = sha256_hex(trained[i]);
  return account;
}

}  // namespace strobe
