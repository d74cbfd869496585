#include "harness/request/suite_files.hpp"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "backends/cluster.hpp"
#include "core/hash.hpp"
#include "harness/request/case_slots.hpp"

namespace strobe {
namespace {

namespace fs = std::filesystem;

constexpr const char* file_pointers[] = {"/workload/name",  "/workload/features", "/cluster",
                                         "/model/path",     "/load_model",        "/strategy/workloads",
                                         "/strategy/rates", "/strategy/owners"};

/// Whether the suite set the value, and not an option. Paths in options are relative to the user's working folder.
bool set_by_suite(const CaseTree& tree, const std::string& pointer) {
  for (std::string at = pointer; !at.empty(); at = at.substr(0, at.rfind('/'))) {
    const auto found = tree.origin.find(at);
    if (found != tree.origin.end()) return found->second.rfind('/', 0) == 0;
  }
  return false;
}

bool is_name_of_workload(const std::string& pointer, const std::string& value) {
  if (pointer != "/workload/name") return false;
  const std::vector<std::string> names = find_case_slot("workload")->names();
  return std::find(names.begin(), names.end(), value) != names.end();
}

/// The value with the folder before its path, if that file exists. A cluster may have changes after a colon.
std::string beside_suite(const std::string& pointer, const std::string& value, const std::string& folder) {
  const std::string path = pointer == "/cluster" ? cluster_base(value) : value;
  if (path.empty() || fs::path(path).is_absolute() || is_name_of_workload(pointer, value)) return value;
  const std::string beside = (fs::path(folder) / path).lexically_normal().string();
  std::error_code ignored;
  return fs::exists(beside, ignored) ? beside + value.substr(path.size()) : value;
}

}  // namespace

void take_files_of_suite(CaseTree& tree, const std::string& folder) {
  if (folder.empty()) return;
  for (const char* pointer : file_pointers) {
    const Json::json_pointer at(pointer);
    if (!tree.json.contains(at) || !tree.json.at(at).is_string() || !set_by_suite(tree, pointer)) continue;
    tree.json[at] = beside_suite(pointer, tree.json.at(at).get<std::string>(), folder);
  }
}

Json owners_digests(const Json& strategy) {
  Json digests = Json::object();
  const Json owners = strategy.value("owners", Json());
  std::error_code ignored;
  if (owners.is_string() && fs::is_regular_file(owners.get<std::string>(), ignored))
    digests[owners.get<std::string>()] = sha256_file(owners.get<std::string>());
  return digests;
}

Json model_digests(const Json& model) {
  Json digests = Json::object();
  const Json path = model.value("path", Json());
  if (!path.is_string() || path.get<std::string>().empty()) return digests;
  const fs::path at = path.get<std::string>();
  for (const fs::path& file : {at, at / "model.json", at / "weights.safetensors"}) {
    std::error_code ignored;
    if (fs::is_regular_file(file, ignored)) digests[file.string()] = sha256_file(file.string());
  }
  return digests;
}

}  // namespace strobe
