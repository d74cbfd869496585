// Chooses the format of a file by its content. The probes see the beginning of the decompressed bytes.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "core/errors.hpp"
#include "workloads/id_space.hpp"
#include "workloads/text_reader.hpp"
#include "workloads/workload.hpp"

namespace strobe {
namespace {

constexpr std::size_t probed_bytes = std::size_t{1} << 16;

const FormatTag::Value& detect(const std::string& path) {
  const std::string head = read_head(path, probed_bytes);
  if (head.empty()) throw InvalidInput(path, 0, 0, "the file is empty");
  const std::string name = std::filesystem::path(path).filename().string();
  const FormatTag::Value* best = nullptr;
  int best_score = 0;
  for (const auto& [format, entry] : FormatRegistry::instance().entries()) {
    const int score = entry.value.probe(head, name);
    if (score > best_score) {
      best = &entry.value;
      best_score = score;
    }
  }
  if (best != nullptr) return *best;
  throw InvalidInput(
      path, 0, 0,
      fmt::format("{}; known formats: {}; give format=NAME if it is one of them, or make it csv: a first line "
                  "'source,target,time' or 'source,target,time,weight', and whole numbers as vertex ids",
                  head.find('\0') == std::string::npos ? "no format recognises this file"
                                                       : "no format recognises this binary file",
                  fmt::join(FormatRegistry::instance().names(), ", ")));
}

}  // namespace

const FormatTag::Value& find_format(const std::string& path, const std::string& format) {
  return format.empty() ? detect(path) : FormatRegistry::instance().find(format, "format").value;
}

EventGraph read_events(const std::string& path, const std::string& format, const std::string& ids) {
  const FormatTag::Value& chosen = find_format(path, format);
  if (chosen.read == nullptr) {
    throw InvalidRequest("workload", path + " holds steps, not events");
  }
  EventGraph graph = chosen.read(path);
  settle_ids(graph, ids, path);
  return graph;
}

}  // namespace strobe
