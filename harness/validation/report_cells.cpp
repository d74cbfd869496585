#include "harness/validation/report_cells.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace strobe {

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json number(const std::optional<double>& value) { return value ? number(*value) : Json(nullptr); }

std::string percent(double fraction) {
  return std::isfinite(fraction) ? fmt::format("{:.1f} %", 100 * fraction) : std::string("-");
}

std::string cell(double value) { return std::isfinite(value) ? fmt::format("{}", value) : std::string(); }

std::string cell(const std::optional<double>& value) { return value ? cell(*value) : std::string(); }

}  // namespace strobe
