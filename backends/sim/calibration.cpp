// Fitted times of a measured machine: sums of terms that are linear in what an operation or a collective moves.
//   operation:  seconds + seconds_per_byte * bytes + seconds_per_flop * flops + seconds_per_gathered_byte * gathered
//   collective: seconds + seconds_per_message * peers + seconds_per_byte * bytes of the busiest rank
// Returns negative seconds for what was not fitted. Invariant: coefficients are not negative, so more work never takes
// less time. Other keys of a fit (its range, its residuals) belong to whoever made it. Cost: one look-up by name.
#include "backends/sim/calibration.hpp"

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"

namespace strobe::sim {
namespace {

struct OperationFit {
  double seconds = 0, per_byte = 0, per_flop = 0, per_gathered_byte = 0;
};
struct CollectiveFit {
  double seconds = 0, per_message = 0, per_byte = 0;
};

double coefficient(const Json& fit, const char* key, const std::string& pointer) {
  if (!fit.contains(key)) return 0;
  const Json& value = fit.at(key);
  if (!value.is_number() || !std::isfinite(value.get<double>()) || value.get<double>() < 0) {
    throw InvalidRequest(pointer + "/" + key, "expected a number that is not negative, found " + value.dump());
  }
  return value.get<double>();
}

class LinearFits final : public Calibration {
 public:
  LinearFits(const Json& json, const std::string& pointer) {
    for_each(json, "operations", pointer, [this](const std::string& name, const Json& fit, const std::string& here) {
      operations_[name] = {coefficient(fit, "seconds", here), coefficient(fit, "seconds_per_byte", here),
                           coefficient(fit, "seconds_per_flop", here),
                           coefficient(fit, "seconds_per_gathered_byte", here)};
    });
    for_each(json, "collectives", pointer, [this](const std::string& name, const Json& fit, const std::string& here) {
      collectives_[name] = {coefficient(fit, "seconds", here), coefficient(fit, "seconds_per_message", here),
                            coefficient(fit, "seconds_per_byte", here)};
    });
  }

  double operation_seconds(std::string_view operation, const Work& work, ElementType) const override {
    const auto found = operations_.find(operation);
    if (found == operations_.end()) return -1;
    const OperationFit& fit = found->second;
    return fit.seconds + fit.per_byte * work.bytes() + fit.per_flop * work.flops +
           fit.per_gathered_byte * work.gather.accessed_bytes;
  }

  double collective_seconds(std::string_view collective, int, double bytes, double messages) const override {
    const auto found = collectives_.find(collective);
    if (found == collectives_.end()) return -1;
    return found->second.seconds + found->second.per_message * messages + found->second.per_byte * bytes;
  }

 private:
  template <class Visit>
  static void for_each(const Json& json, const char* group, const std::string& pointer, const Visit& visit) {
    if (!json.contains(group)) return;
    const std::string here = pointer + "/" + group;
    if (!json.at(group).is_object()) throw InvalidRequest(here, "expected a JSON object of fits by name");
    for (const auto& [name, fit] : json.at(group).items()) {
      if (!fit.is_object()) throw InvalidRequest(here + "/" + name, "expected a JSON object, found " + fit.dump());
      visit(name, fit, here + "/" + name);
    }
  }

  std::map<std::string, OperationFit, std::less<>> operations_;
  std::map<std::string, CollectiveFit, std::less<>> collectives_;
};

}  // namespace

std::shared_ptr<const Calibration> read_calibration(const Json& json, const std::string& pointer) {
  if (!json.is_object()) throw InvalidRequest(pointer, "expected a JSON object, found " + json.dump());
  return std::make_shared<LinearFits>(json, pointer);
}

}  // namespace strobe::sim
