// JSON of what may not exist: null in place of NaN, an infinity, an empty text or an absent value.
#pragma once

#include <cmath>
#include <concepts>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "core/fields.hpp"

namespace strobe {

inline Json or_null(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }
inline Json or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }
inline Json or_null(const std::optional<double>& value) { return value ? or_null(*value) : Json(nullptr); }
Json or_null(std::integral auto) = delete;  // it would become a real number
template <class Value>
Json or_null(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}

}  // namespace strobe
