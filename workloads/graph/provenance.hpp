// Where a graph came from, as JSON: what binary files keep of it.
#pragma once

#include <nlohmann/json.hpp>

#include "workloads/graph/graph.hpp"

namespace strobe {

Json provenance_to_json(const Provenance& provenance);
/// Throws Json::exception for anything else.
Provenance provenance_from_json(const Json& json);

}  // namespace strobe
