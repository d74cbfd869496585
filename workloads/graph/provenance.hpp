// The origin of a graph as JSON, in the form that binary files keep.
#pragma once

#include <nlohmann/json.hpp>

#include "workloads/graph/graph.hpp"

namespace strobe {

Json provenance_to_json(const Provenance& provenance);
/// Throws Json::exception for anything else.
Provenance provenance_from_json(const Json& json);

}  // namespace strobe
