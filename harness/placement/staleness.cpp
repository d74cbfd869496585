#include "harness/placement/staleness.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"

namespace strobe {
namespace {

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " or " : ", ";
    text += names[i];
  }
  return text;
}

}  // namespace

bool has_stale_fields(const FieldTable& fields) {
  const std::vector<std::string> names = fields.names();
  return std::find(names.begin(), names.end(), "stale") != names.end();
}

std::vector<std::string> searched_halos(bool /*sizes_only*/) { return {"outputs", "inputs"}; }

Staleness staleness_of(const StaleOptions& options) {
  Staleness staleness;
  if (options.stale == "static") staleness.kind = Staleness::Kind::static_share;
  if (options.stale == "adaptive") staleness.kind = Staleness::Kind::adaptive;
  staleness.theta = options.stale_theta;
  staleness.printed_sign = options.stale_sign == "printed";
  staleness.gradient_always = options.stale_gradient == "always";
  staleness.distances_on_host = options.distances == "host";
  staleness.sent_share = options.sent_share;
  return staleness;
}

std::string text_of(const Staleness& staleness) {
  const char* const gradient = staleness.gradient_always ? "always" : "fresh";
  switch (staleness.kind) {
    case Staleness::Kind::none:
      return "none";
    case Staleness::Kind::static_share:
      return fmt::format("static, stale_theta={}, stale_gradient={}", staleness.theta, gradient);
    case Staleness::Kind::adaptive:
      return fmt::format("adaptive, stale_sign={}, stale_gradient={}", staleness.printed_sign ? "printed" : "text",
                         gradient);
  }
  return "";
}

Json without_idle_stale_options(Json parameters) {
  if (!parameters.contains("stale")) return parameters;
  if (parameters.value("servers", 1) == 0) parameters.erase("servers");
  if (parameters.value("halo", "") == "outputs") parameters.erase("halo");
  const std::string stale = parameters.at("stale").get<std::string>();
  if (stale != "static") parameters.erase("stale_theta");
  if (stale != "adaptive") parameters.erase("stale_sign");
  if (stale != "none") return parameters;
  for (const char* const name : {"stale", "stale_gradient", "distances", "sent_share"}) parameters.erase(name);
  return parameters;
}

Json without_foreign_stale(const FieldTable& fields, const std::string& name, const std::vector<std::string>& others,
                           const Json& values, const std::string& pointer) {
  if (!values.is_object() || has_stale_fields(fields)) return values;
  if (values.contains("stale") && values.at("stale") != "none") {
    throw InvalidRequest(pointer + "/stale",
                         fmt::format("strategy {} has no halos, whose rows could be stale; leave stale out, or use {}",
                                     name, joined(others)));
  }
  if (values.contains("servers") && values.at("servers") != 0 && values.at("servers") != "0") {
    throw InvalidRequest(
        pointer + "/servers",
        fmt::format("strategy {} has no halos, whose rows servers could hold; leave servers out, or use {}", name,
                    joined(others)));
  }
  if (values.contains("halo") && values.at("halo") != "outputs") {
    throw InvalidRequest(
        pointer + "/halo",
        fmt::format("strategy {} sends no rows of the first layer; leave halo out, or use {}", name, joined(others)));
  }
  Json rest = values;
  for (const char* const key : {"stale", "servers", "halo"}) rest.erase(key);
  return rest;
}

}  // namespace strobe
