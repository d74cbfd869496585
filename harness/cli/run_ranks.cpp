#include "harness/cli/run_ranks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "core/hash.hpp"
#include "harness/plan_digest.hpp"
#include "results/environment.hpp"

namespace strobe {
namespace {

bool in_one_process(const Case& c) { return c.comm == "local" || c.comm == "sim"; }

/// Whether the request or the suite names the communicator, rather than a default.
bool comm_is_given(const Suite& suite, const Case& c) {
  const auto origins = suite.origins.find(case_id(c));
  return origins != suite.origins.end() && origins->second.count("/comm") != 0;
}

/// What differs between processes in ways that numbers do not show, but the collectives around training would.
Json flags_of(const RunRequest& request) {
  const ModelOutputs& outputs = request.outputs;
  return {{"--save-model", !outputs.weights.empty()},       {"--dump-embeddings", !outputs.embeddings.empty()},
          {"--dump-samples", !outputs.samples.empty()},     {"--checkpoint", !outputs.checkpoint.empty()},
          {"--checkpoint-every", outputs.checkpoint_every}, {"--resume-training", outputs.resume_training},
          {"--time-limit", request.limit_seconds},          {"--resume", request.resume},
          {"--retry-failed", request.retry_failed},         {"--trace", request.trace}};
}

std::string sha256_if_any(const std::string& path) {
  try {
    return sha256_file(path);
  } catch (const SystemError& error) {
    return error.what();
  }
}

}  // namespace

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
        "--comm", fmt::format("{} processes were started (says {}), but {} runs in one process; use --comm mpi, start "
                              "one process, or give --comm {} for processes that are independent of each other",
                              world.size, world.launcher, case_id(c), c.comm));
  }
  return world;
}

Ranks ranks_of(const Suite& suite, const World& world) {
  double seconds = 60;  // one of them may still be reading its data
  const CommunicatorTag::Value* comm = nullptr;
  for (const Case& c : suite.cases) {
    seconds = std::max(seconds, c.timeout);
    const auto& of_case = CommunicatorRegistry::instance().find(c.comm, "/comm").value;
    if (comm == nullptr && of_case.gather != nullptr) comm = &of_case;
  }
  return comm == nullptr ? Ranks() : Ranks(*comm, world, seconds);
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
