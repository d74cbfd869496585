// The cluster file: JSON to Cluster. Separate from finding the file, so that a changed copy of a cluster (a what-if)
// goes through the same checks.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "backends/cluster.hpp"

namespace strobe::sim {

/// Parses and checks the text of a cluster file. Throws InvalidInput(file, line, column) when it is not JSON, and
/// InvalidRequest with the JSON pointer for a duplicate, unknown or missing key, a key without its unit, a number
/// without source or date, or one out of range. One exception holds all mistakes about keys and values.
std::shared_ptr<const Cluster> parse_cluster(const std::string& text, const std::string& file);

/// The same for JSON that is already parsed.
std::shared_ptr<const Cluster> cluster_from_json(const Json& json);

/// JSON of the text of a cluster file; throws InvalidInput, or InvalidRequest for a key that occurs twice.
Json parse_cluster_text(const std::string& text, const std::string& file);

/// Whether `text` is a calendar day as YYYY-MM-DD.
bool is_date(const std::string& text);

/// Applies a change to a cluster's JSON: `key` as in the file, "gpu.memory_bytes" inside the object gpu. A changed
/// number is marked as a what-if instead of its source; a changed price loses its region and date. Throws
/// InvalidRequest for a key that no cluster file has.
void change_value(Json& cluster, const std::string& key, const std::string& value);

}  // namespace strobe::sim
