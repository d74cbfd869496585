// Returns the host's numbers from the file, in SI units. Cost: O(1).
#include "backends/sim/cluster/cluster_host_file.hpp"

#include <nlohmann/json.hpp>

namespace strobe::sim {
namespace {

constexpr Key host_keys[] = {{"cores", Form::count, Need::always, true},
                             {"core_operations_per_second", Form::positive, Need::always, true},
                             {"core_bytes_per_second", Form::positive, Need::always, true},
                             {"memory_bytes_per_second", Form::positive, Need::always, true},
                             {"random_access_seconds", Form::positive, Need::always, true},
                             {"disk_bytes_per_second", Form::positive, Need::always, true},
                             {"memory_bytes", Form::bytes, Need::never, true},
                             {"text_bytes_per_second", Form::positive, Need::never, true},
                             {"binary_bytes_per_second", Form::positive, Need::never, true},
                             {"made_entries_per_second", Form::positive, Need::never, true},
                             {"prepared_entries_per_second", Form::positive, Need::never, true},
                             {"prepared_features_per_second", Form::positive, Need::never, true}};

}  // namespace

Keys host_file_keys() { return host_keys; }

HostModel read_host(const Json& json) {
  check_keys(json, host_keys, "/host");
  const Numbers numbers(json, host_keys, "/host");
  HostModel host;
  host.cores = static_cast<int>(numbers.at("cores", 0));
  host.core_operations_per_second = numbers.at("core_operations_per_second", 0);
  host.core_bytes_per_second = numbers.at("core_bytes_per_second", 0);
  host.memory_bytes_per_second = numbers.at("memory_bytes_per_second", 0);
  host.random_access_seconds = numbers.at("random_access_seconds", 0);
  host.disk_bytes_per_second = numbers.at("disk_bytes_per_second", 0);
  host.memory_bytes = static_cast<std::uint64_t>(numbers.at("memory_bytes", 0));
  host.text_bytes_per_second = numbers.at("text_bytes_per_second", 0);
  host.binary_bytes_per_second = numbers.at("binary_bytes_per_second", 0);
  host.made_entries_per_second = numbers.at("made_entries_per_second", 0);
  host.prepared_entries_per_second = numbers.at("prepared_entries_per_second", 0);
  host.prepared_features_per_second = numbers.at("prepared_features_per_second", 0);
  return host;
}

void complete_host(Json& json) {
  for (const Key& key : host_keys) {
    if (!json.contains(key.name)) json[key.name] = {{"value", nullptr}, {"reason", "the file does not say"}};
  }
}

}  // namespace strobe::sim
