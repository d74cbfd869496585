// Fitted times of a measured machine: sums of terms that are linear in the amounts of an operation or a collective
// (fit_terms.hpp). Each fit holds for a number of ranks that compute at the same time; other numbers take the fit
// nearest by ratio. Ranks beyond the cores take turns: times ranks / cores. Host work is fitted with one worker on an
// otherwise idle machine. Returns negative seconds for anything not fitted. Invariant: coefficients are not negative,
// so more work never takes less time. Other keys of a fit (its range, its residuals) belong to the program that made
// it. Cost: one look-up by name.
#include "backends/sim/cluster/calibration.hpp"

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "backends/sim/cluster/fit_terms.hpp"
#include "core/errors.hpp"

namespace strobe::sim {
namespace {

template <std::size_t N>
struct Fit {
  int ranks = 1;
  std::string precision;  // "": any
  std::array<double, N> coefficients{};
};
using OperationFit = Fit<operation_terms.size()>;
using HostFit = Fit<host_terms.size()>;
using CollectiveFit = Fit<collective_terms.size()>;

double number_at(const Json& fit, const char* key, const std::string& pointer, double otherwise, double least) {
  if (!fit.contains(key)) return otherwise;
  const Json& value = fit.at(key);
  if (!value.is_number() || !std::isfinite(value.get<double>()) || value.get<double>() < least) {
    throw InvalidRequest(pointer + "/" + key, least == 0
                                                  ? "expected a number that is not negative, found " + value.dump()
                                                  : "expected a number of at least 1, found " + value.dump());
  }
  return value.get<double>();
}

template <class Terms>
auto read_fit(const Json& json, const Terms& terms, const std::string& pointer) {
  if (!json.is_object()) throw InvalidRequest(pointer, "expected a JSON object, found " + json.dump());
  Fit<std::tuple_size_v<Terms>> fit;
  fit.ranks = static_cast<int>(number_at(json, "ranks", pointer, 1, 1));
  if (json.contains("precision")) {
    const Json& precision = json.at("precision");
    if (precision != "fp32" && precision != "fp64") {
      throw InvalidRequest(pointer + "/precision", "expected fp32 or fp64, found " + precision.dump());
    }
    fit.precision = precision.template get<std::string>();
  }
  for (std::size_t i = 0; i < terms.size(); ++i) fit.coefficients[i] = number_at(json, terms[i].key, pointer, 0, 0);
  return fit;
}

/// The fit of the nearest number of ranks, by ratio.
template <class FitType>
const FitType* nearest(const std::vector<FitType>& fits, double ranks, std::string_view precision) {
  const FitType* best = nullptr;
  double best_distance = 0;
  for (const FitType& fit : fits) {
    if (!fit.precision.empty() && fit.precision != precision) continue;
    const double distance = std::abs(std::log(ranks / fit.ranks));
    if (best != nullptr && distance >= best_distance) continue;
    best = &fit;
    best_distance = distance;
  }
  return best;
}

template <class FitType, class Terms, class Amounts>
double seconds_of(const FitType& fit, const Terms& terms, const Amounts& amounts) {
  double seconds = 0;
  for (std::size_t i = 0; i < terms.size(); ++i) seconds += fit.coefficients[i] * terms[i].amount(amounts);
  return seconds;
}

constexpr std::string_view pair_suffix = "_pair";  // of two like operations in one

class LinearFits final : public Calibration {
 public:
  LinearFits(const Json& json, const std::string& pointer) {
    cores_ = number_at(json, "cores", pointer, 0, 1);
    read_group(json, "operations", pointer, operation_terms, operations_);
    read_group(json, "collectives", pointer, collective_terms, collectives_);
    read_group(json, "host_operations", pointer, host_terms, host_operations_);
  }

  double operation_seconds(std::string_view operation, const Work& work, ElementType precision,
                           double ranks) const override {
    auto found = operations_.find(operation);
    // Older calibrations have no fit for a pair of operations, only for each operation alone.
    if (found == operations_.end() && operation.ends_with(pair_suffix))
      found = operations_.find(operation.substr(0, operation.size() - pair_suffix.size()));
    if (found == operations_.end()) return -1;
    const OperationFit* fit = nearest(found->second, ranks, precision == ElementType::f64 ? "fp64" : "fp32");
    return fit == nullptr ? -1 : seconds_of(*fit, operation_terms, work) * turns(ranks, fit->ranks);
  }

  double host_seconds(std::string_view name, const Work& work) const override {
    const auto found = host_operations_.find(name);
    if (found == host_operations_.end()) return -1;
    const HostFit* fit = nearest(found->second, 1, "");
    return fit == nullptr ? -1 : seconds_of(*fit, host_terms, work);
  }

  double shared_cores() const override { return cores_; }

  int fitted_ranks(std::string_view collective, int ranks) const override {
    const auto found = collectives_.find(collective);
    const CollectiveFit* fit = found == collectives_.end() ? nullptr : nearest(found->second, ranks, "");
    return fit == nullptr ? 0 : fit->ranks;
  }

  int most_ranks() const override {
    int most = 1;
    for (const auto& [name, fits] : collectives_) {
      for (const CollectiveFit& fit : fits) most = std::max(most, fit.ranks);
    }
    return most;
  }

  double collective_seconds(std::string_view collective, int ranks, double bytes, double messages) const override {
    const auto found = collectives_.find(collective);
    if (found == collectives_.end()) return -1;
    const CollectiveFit* fit = nearest(found->second, ranks, "");
    if (fit == nullptr) return -1;
    return seconds_of(*fit, collective_terms, CollectiveAmounts{bytes, messages}) * turns(ranks, fit->ranks);
  }

 private:
  /// How many times longer than with `fitted` ranks each of `ranks` ranks waits for a core.
  double turns(double ranks, int fitted) const {
    if (cores_ == 0) return 1;
    return std::max(1.0, ranks / cores_) / std::max(1.0, fitted / cores_);
  }

  template <class Terms, class Fits>
  static void read_group(const Json& json, const char* group, const std::string& pointer, const Terms& terms,
                         Fits& fits) {
    if (!json.contains(group)) return;
    const std::string here = pointer + "/" + group;
    if (!json.at(group).is_object()) throw InvalidRequest(here, "expected a JSON object of fits by name");
    for (const auto& [name, list] : json.at(group).items()) {
      const std::string place = here + "/" + name;
      if (!list.is_array()) throw InvalidRequest(place, "expected a JSON array of fits, found " + list.dump());
      for (std::size_t i = 0; i < list.size(); ++i) {
        fits[name].push_back(read_fit(list[i], terms, place + "/" + std::to_string(i)));
      }
    }
  }

  double cores_ = 0;  // 0: ranks have a processor each
  std::map<std::string, std::vector<OperationFit>, std::less<>> operations_;
  std::map<std::string, std::vector<CollectiveFit>, std::less<>> collectives_;
  std::map<std::string, std::vector<HostFit>, std::less<>> host_operations_;  // by one worker, of no precision
};

}  // namespace

std::shared_ptr<const Calibration> read_calibration(const Json& json, const std::string& pointer) {
  if (!json.is_object()) throw InvalidRequest(pointer, "expected a JSON object, found " + json.dump());
  return std::make_shared<LinearFits>(json, pointer);
}

}  // namespace strobe::sim
