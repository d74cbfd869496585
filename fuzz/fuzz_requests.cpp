// Reads one input as a file that a run reads in addition to graphs.
// Random bytes are no safetensors file, so a checkpoint's bytes are those of a valid one, changed by the input, three
// bytes per change. An input that begins with a quote is the JSON header of a checkpoint. A run directory's files share
// one input, separated by lines "=====": plan, environment, summary, samples.
#include "fuzz/fuzz_requests.hpp"

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>

#include "backends/cluster.hpp"
#include "core/errors.hpp"
#include "fuzz/folder.hpp"
#include "harness/files/checkpoint.hpp"
#include "harness/measure/kept_request.hpp"
#include "harness/request/suite.hpp"
#include "harness/training/make_plan.hpp"
#include "results/run/run_directory.hpp"

namespace strobe {
namespace {

std::string write_file(const FuzzFolder& folder, const std::string& name, std::string_view content) {
  std::ofstream(folder.path / name, std::ios::binary) << content;
  return (folder.path / name).string();
}

const Case& small_case() {
  static const Case c = suite_from_settings({{"workload", "uniform", "--workload"},
                                             {"workload.steps", "4", "--set"},
                                             {"workload.vertices", "8", "--set"},
                                             {"epochs", "4", "--epochs"}})
                            .cases.front();
  return c;
}

void read_checkpoint(const FuzzFolder& folder, std::string_view input) {
  static const auto plan = make_plan(small_case());
  const std::vector<ParameterShape>& parameters = plan->schedule->summary().parameters;
  static const std::string valid = [&] {
    TrainingState state;
    state.epoch = 2;
    for (const ParameterShape& shape : parameters)
      state.weights.resize(state.weights.size() + static_cast<std::size_t>(shape.rows * shape.columns), 0.5);
    state.optimizer["first_moment"] = state.optimizer["second_moment"] = state.weights;
    state.loss = {1, 0.5};
    state.metrics["auc"] = {0.5, 0.75};
    save_checkpoint((folder.path / "valid").string(), small_case(), parameters, state, Json::object());
    std::ifstream stream(folder.path / "valid", std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(stream), {});
  }();
  std::string bytes = valid;
  if (!input.empty() && input.front() == '{') {
    const std::uint64_t size = input.size();
    bytes.assign(reinterpret_cast<const char*>(&size), sizeof size);
    bytes += std::string(input) + valid.substr(valid.size() / 2);
  } else {
    for (std::size_t i = 0; i + 2 < input.size(); i += 3) {
      const auto at = static_cast<std::size_t>(static_cast<unsigned char>(input[i])) * 256 +
                      static_cast<unsigned char>(input[i + 1]);
      bytes[at % bytes.size()] = input[i + 2];
    }
  }
  load_checkpoint(write_file(folder, "state", bytes), small_case(), parameters);
}

void read_run(const FuzzFolder& folder, std::string_view input) {
  constexpr std::string_view separator = "\n=====\n";
  const std::filesystem::path run = folder.path / "run";
  std::filesystem::create_directories(run);
  for (const char* name : {"plan.json", "env.json", "summary.json", "samples.jsonl"}) {
    const std::size_t end = input.find(separator);
    std::ofstream(run / name, std::ios::binary) << input.substr(0, end);
    input.remove_prefix(end == std::string_view::npos ? input.size() : end + separator.size());
  }
  RunRequest request;
  request.resume = true;
  request.suite = run.string();
  const Suite suite = kept_cases(request);
  const RunDirectory directory(run.string(), plan_json(suite.cases), Json::object(), true);
  for (const Case& c : suite.cases) static_cast<void>(directory.left_samples(case_id(c)));
}

void read_request(const std::string& reader, std::string_view input) {
  static const FuzzFolder folder;
  if (reader == "suite") load_suite(write_file(folder, "suite.json", input), {});
  if (reader == "cluster") load_cluster(write_file(folder, "cluster.json", input));
  if (reader == "checkpoint") read_checkpoint(folder, input);
  if (reader == "run-directory") read_run(folder, input);
}

}  // namespace

void fuzz_request(const std::string& reader, const std::uint8_t* data, std::size_t size) {
  try {
    read_request(reader, {reinterpret_cast<const char*>(data), size});
  } catch (const Error&) {
    return;
  }
}

}  // namespace strobe
