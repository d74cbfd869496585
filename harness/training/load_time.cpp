#include "harness/training/load_time.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <utility>

#include "workloads/workload.hpp"

namespace strobe {
namespace {

/// Whether a file is one of Strobe's own, which begin alike.
bool is_binary_file(const std::string& path) {
  std::array<char, 6> begin{};
  std::ifstream(path, std::ios::binary).read(begin.data(), begin.size());
  return std::string_view(begin.data(), begin.size()) == "STROBE";
}

double entries_of(const DataPlan& data) {
  double sum = static_cast<double>(data.graph->nonzeros());
  for (const auto& support : data.supports) sum += static_cast<double>(support->nonzeros());
  return sum;
}

}  // namespace

std::optional<LoadWork> load_work(const Case& c, const DataPlan& data) {
  if (data.shape != nullptr) return std::nullopt;
  LoadWork work;
  const auto files = workload_files(c.workload.at("name").get<std::string>(), c.workload);
  for (const auto& [key, path] : files) {
    std::error_code missing;
    const auto bytes = std::filesystem::file_size(path, missing);
    if (!missing) (is_binary_file(path) ? work.binary_bytes : work.text_bytes) += static_cast<double>(bytes);
  }
  const auto steps = static_cast<double>(data.graph->steps);
  const double trained = std::min(static_cast<double>(data.trained_steps), steps);
  // One more step than models read only gives targets.
  if (files.empty() && trained > 0) work.made_entries = data.trained_edges / trained * (steps + 1);
  work.prepared_entries = entries_of(data);
  work.prepared_features = static_cast<double>(data.graph->vertices * data.graph->cell_width()) * steps;
  return work;
}

std::optional<double> load_seconds(const LoadWork& work, const HostModel& host) {
  double seconds = 0;
  for (const auto& [amount, rate] : {std::pair{work.text_bytes, host.text_bytes_per_second},
                                     {work.binary_bytes, host.binary_bytes_per_second},
                                     {work.made_entries, host.made_entries_per_second},
                                     {work.prepared_entries, host.prepared_entries_per_second},
                                     {work.prepared_features, host.prepared_features_per_second}}) {
    if (amount > 0 && rate <= 0) return std::nullopt;
    if (amount > 0) seconds += amount / rate;
  }
  const double bytes = work.text_bytes + work.binary_bytes;
  if (bytes > 0 && host.disk_bytes_per_second > 0) seconds = std::max(seconds, bytes / host.disk_bytes_per_second);
  return seconds;
}

}  // namespace strobe
