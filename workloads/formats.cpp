// Chooses the format of a file by its content. The probes see the beginning of the decompressed bytes.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "core/errors.hpp"
#include "workloads/reading/events/compact_dates.hpp"
#include "workloads/reading/ids/id_space.hpp"
#include "workloads/reading/table/table_guess.hpp"
#include "workloads/reading/text/csv_columns.hpp"
#include "workloads/reading/text/foreign_files.hpp"
#include "workloads/reading/text/probing.hpp"
#include "workloads/reading/text/text_reader.hpp"
#include "workloads/workload.hpp"

namespace strobe {
namespace {

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
  refuse_foreign_file(path, head);
  const auto table = guess_table(head, head.size() < probed_bytes, name);
  if (table && table->certain) return FormatRegistry::instance().find("table").value;
  if (table) throw InvalidInput(path, 0, 0, "no format recognises this file; " + describe_doubt(path, *table));
  const bool text = head.find('\0') == std::string::npos;
  constexpr std::size_t shown = 120;
  throw InvalidInput(
      path, 0, 0,
      fmt::format("{}; known formats: {}; give format=NAME if it is one of them, or make it csv: a first line "
                  "'source,target,time' or 'source,target,time,weight', and whole numbers or names as vertices; of a "
                  "table with other names say them: columns=source:from/target:to/time:when",
                  text ? fmt::format("no format recognises this file, whose first line is '{}'",
                                     first_line(head).substr(0, shown))
                       : "no format recognises this binary file",
                  fmt::join(FormatRegistry::instance().names(), ", ")));
}

}  // namespace

const FormatTag::Value& find_format(const std::string& path, const std::string& format) {
  return format.empty() ? detect(path) : FormatRegistry::instance().find(format, "format").value;
}

std::string format_of_columns(const std::string& path, const std::string& columns) {
  const std::string head = read_head(path, probed_bytes);
  const bool csv = find_csv_columns(csv_header_names(first_line(head)), column_names(columns, "columns")).found();
  const auto layout = look_at_table(head, head.size() < probed_bytes);
  if (!layout || layout->rows.empty()) return "csv";
  return csv && table_rows(path, *layout, columns).unit == TimeUnit::seconds ? "csv" : "table";
}

EventGraph read_events(const std::string& path, const std::string& format, const std::string& ids) {
  const FormatTag::Value& chosen = find_format(path, format);
  if (chosen.read == nullptr) {
    throw InvalidRequest("workload", path + " holds steps, not events");
  }
  EventGraph graph = chosen.read(path);
  settle_ids(graph, ids, path);
  settle_dates(graph);
  return graph;
}

}  // namespace strobe
