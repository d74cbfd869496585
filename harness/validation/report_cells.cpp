#include "harness/validation/report_cells.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/or_null.hpp"

namespace strobe {

Json errors_json(const ErrorSummary& errors) {
  return {{"mean_absolute", or_null(errors.mean_absolute)},
          {"max_absolute", or_null(errors.max_absolute)},
          {"bias", or_null(errors.bias)},
          {"count", errors.count}};
}

Json share_json(const Share& share) { return {{"right", share.right}, {"of", share.of}}; }

std::string share_text(const Share& share) { return fmt::format("{} of {}", share.right, share.of); }

std::string percent(double fraction) {
  return std::isfinite(fraction) ? fmt::format("{:.1f} %", 100 * fraction) : std::string("-");
}

std::string cell(double value) { return std::isfinite(value) ? fmt::format("{}", value) : std::string(); }

std::string cell(const std::optional<double>& value) { return value ? cell(*value) : std::string(); }

}  // namespace strobe
