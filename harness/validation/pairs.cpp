// Chooses the cases to judge. The two cases of a pair differ only in device, communicator, cluster and numerics.
// Invariant: no pair shares its workload with a case that the cluster was fitted to, so that the errors are of
// predictions and not of a fit.
#include "harness/validation/pairs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "backends/cluster.hpp"
#include "core/errors.hpp"

namespace strobe {
namespace {

/// The cases of the cluster file's /calibration/cases, whose entries are ids ("chess/tm-gcn/...") or case objects.
std::vector<Json> calibration_cases(const Cluster& cluster) {
  std::vector<Json> cases;
  if (!cluster.raw.is_object() || !cluster.raw.contains("calibration")) return cases;
  const Json& calibration = cluster.raw.at("calibration");
  if (!calibration.is_object() || !calibration.contains("cases")) return cases;
  for (const Json& entry : calibration.at("cases")) cases.push_back(entry);
  return cases;
}

std::string workload_of_id(const std::string& id) { return id.substr(0, id.find('/')); }

[[noreturn]] void refuse_nothing_left(const PairSelection& selection) {
  const auto used = std::count_if(selection.left_out.begin(), selection.left_out.end(),
                                  [](const LeftOut& one) { return one.cause == "calibration"; });
  throw InvalidRequest(
      "/cases", fmt::format("nothing is left to judge: of {} cases {} were used for calibration and {} "
                            "cannot be simulated on this cluster; e.g. {}: {}",
                            selection.left_out.size(), used, selection.left_out.size() - static_cast<std::size_t>(used),
                            selection.left_out.front().id, selection.left_out.front().reason));
}

}  // namespace

std::string calibrated_with(const Case& c, const std::string& cluster) {
  const std::vector<Json> used = calibration_cases(*load_cluster(cluster));
  const std::string id = case_id(c);
  const Json json = case_to_json(c);
  for (const Json& entry : used) {
    if (entry.is_string()) {
      const std::string name = entry.get<std::string>();
      if (name == id) return "the cluster was calibrated with this case";
      if (workload_of_id(name) == workload_of_id(id)) {
        return fmt::format("the cluster was calibrated with its workload ({})", name);
      }
    }
    if (!entry.is_object()) continue;
    if (entry == json) return "the cluster was calibrated with this case";
    if (!entry.contains("workload")) continue;
    const Json& workload = entry.at("workload");
    if (workload == json.at("workload") || workload == json.at("workload").at("name")) {
      return fmt::format("the cluster was calibrated with its workload ({})", workload.dump());
    }
  }
  return "";
}

Case simulated_case(const Case& measured, const std::string& cluster) {
  Json json = case_to_json(measured);
  json["device"] = "sim";
  json["comm"] = "sim";
  json["numerics"] = "none";
  json["cluster"] = cluster;
  json["repeat"] = 1;
  json.erase("until");  // without values there are none to look at
  // A simulation computes no values and does not know the kernels of other devices.
  if (kernel_numerics(measured.device) != kernel_numerics("sim")) json["kernels"] = "";
  return case_from_json(json, "");
}

PairSelection select_pairs(const Suite& suite, const std::string& cluster) {
  const auto described = load_cluster(cluster);
  PairSelection selection;
  selection.calibrated = described->calibrated;
  for (const Case& c : suite.cases) {
    const std::string id = case_id(c);
    if (!c.cluster.empty()) {
      throw InvalidRequest("/device",
                           fmt::format("{} is itself simulated; a judged case runs for real, on cpu or cuda", id));
    }
    if (const std::string why = calibrated_with(c, cluster); !why.empty()) {
      selection.left_out.push_back({id, "calibration", why});
      continue;
    }
    try {
      selection.pairs.push_back({id, c, simulated_case(c, cluster)});
    } catch (const InvalidRequest& error) {
      if (error.where() != "/ranks") throw;
      selection.left_out.push_back({id, "cannot_run", error.message()});
    }
  }
  if (selection.pairs.empty()) refuse_nothing_left(selection);
  return selection;
}

}  // namespace strobe
