#include "harness/run/plan_digest.hpp"

#include <nlohmann/json.hpp>

#include "core/hash.hpp"
#include "harness/request/suite_files.hpp"

namespace strobe {

std::string digest_bytes(const std::string& hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return bytes;
}

std::string plan_digest(const PlannedCase& plan) {
  return digest_bytes(sha256_hex(case_to_json(plan.request).dump() + model_digests(plan.request.model).dump() +
                                 plan.schedule->digest()));
}

}  // namespace strobe
