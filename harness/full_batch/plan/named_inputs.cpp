#include "harness/full_batch/plan/named_inputs.hpp"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "backends/cluster.hpp"
#include "core/errors.hpp"
#include "core/json_reader.hpp"
#include "harness/files/placement_file.hpp"
#include "harness/placement/chunks/chunk_workload.hpp"
#include "harness/placement/chunks/learned/learned_workload.hpp"

namespace strobe {
namespace {

WorkloadUse workload_use(const FullBatchCase& c) {
  WorkloadUse use{c.request.model, c.request.device, "", c.request.precision, c.data.graph->feature_width};
  if (!c.request.cluster.empty()) use.cluster = load_cluster(c.request.cluster)->name;
  return use;
}

LearnedWorkload read_workloads(const std::string& path, const std::string& command) {
  if (!std::filesystem::is_regular_file(path)) {
    throw InvalidRequest(
        "/strategy/workloads",
        "cost=mlp reads " + path + ", but there is no such file; make it with `" + command + "`, or name another file");
  }
  const Json json = parse_json_or_discard(read_regular_file(path));
  if (json.is_discarded()) {
    throw InvalidRequest("/strategy/workloads",
                         path + " is damaged: it is not JSON; make it again with `" + command + "`");
  }
  return learned_from_json(json, path);
}

}  // namespace

std::string workload_file(const std::string& cluster, const std::string& model) {
  const std::filesystem::path base(cluster.empty() ? "this-machine" : cluster_base(cluster));
  const std::string stem = base.extension() == ".json" ? base.stem().string() : base.filename().string();
  return (base.parent_path() / (stem + "-chunks-" + model + ".json")).string();
}

NamedInputs named_inputs(const FullBatchCase& c) {
  NamedInputs named;
  named.workloads = [&c](const std::string& file) {
    const std::string model = c.request.model.at("name").get<std::string>();
    const std::string path = file.empty() ? workload_file(c.request.cluster, model) : file;
    std::string command = "strobe calibrate --chunks --model " + model;
    if (!c.request.cluster.empty()) command += " --device sim --cluster " + c.request.cluster;
    if (c.request.cluster.empty() && c.request.device != Case().device) command += " --device " + c.request.device;
    auto learned = std::make_shared<const LearnedWorkload>(read_workloads(path, command));
    check_learned(*learned, workload_use(c), path);
    return learned;
  };
  named.rates = [](const std::string& cluster) {
    try {
      const GpuModel gpu = load_cluster(cluster)->gpu;
      return DeviceRates{gpu.flops_fp32_per_second, gpu.flops_fp64_per_second, gpu.memory_bytes_per_second};
    } catch (const InvalidRequest& error) {
      throw InvalidRequest("/strategy/rates", error.what());
    }
  };
  named.owners = [](const std::string& file) { return std::make_shared<const CellOwners>(read_placement_file(file)); };
  return named;
}

}  // namespace strobe
