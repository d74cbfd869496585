// Chooses the format of a file by its content. The probes see the beginning of the decompressed bytes.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "core/errors.hpp"
#include "workloads/reading/events/compact_dates.hpp"
#include "workloads/reading/ids/id_space.hpp"
#include "workloads/reading/text/foreign_files.hpp"
#include "workloads/reading/text/probing.hpp"
#include "workloads/reading/text/text_reader.hpp"
#include "workloads/workload.hpp"

namespace strobe {
namespace {

constexpr std::size_t probed_bytes = std::size_t{1} << 16;

/// `line` as the header that it was meant to be: lower case, commas between the names, no quotes and blanks.
std::string plain_header(std::string_view line) {
  std::string text;
  for (const char c : line) {
    if (c == '"' || c == '\'' || c == ' ') continue;
    const bool upper = c >= 'A' && c <= 'Z';
    text += c == ';' || c == '\t' || c == '|' ? ',' : upper ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return text;
}

/// Refuses a first line that comes close to the header of csv: says how it differs, as the known formats would not
/// help.
void refuse_near_csv(const std::string& path, std::string_view head) {
  const std::string_view line = first_line(head);
  const std::string meant = plain_header(line);
  if (meant.rfind("source,target,time", 0) != 0 && meant.rfind("source,target,step", 0) != 0) return;
  const std::size_t separator = line.find_first_of(";\t|");
  if (separator != std::string_view::npos) {
    const std::string name = line[separator] == '\t' ? "tabs" : fmt::format("'{}'", line[separator]);
    throw InvalidInput(
        path, 1, separator + 1,
        fmt::format("the columns are separated by {}; csv wants commas: replace decimal commas by points "
                    "first, then each {} by a comma",
                    name, line[separator] == '\t' ? "tab" : name));
  }
  throw InvalidInput(path, 1, 1,
                     fmt::format("the first line is '{}'; for csv it must be 'source,target,time' or "
                                 "'source,target,step', or one of them and ',weight', in lower case; or say what "
                                 "its columns are called: columns=source:from/target:to/time:when",
                                 printable(line)));
}

/// What a file may be whose first row is four or five bare numbers, which several kinds of files have; "" for others.
std::string hint_for_quadruples(std::string_view head) {
  const auto rows = data_lines(head, "#%", 1);
  if (rows.empty() || rows[0].find(',') != std::string_view::npos) return {};
  const std::size_t numbers = line_numbers(rows[0]).size();
  if (numbers != 4 && numbers != 5) return {};
  return fmt::format(
      "; rows of {} numbers may be source, target, weight and time (format=network-repository), or facts of a "
      "temporal knowledge graph (head, relation, tail, time), whose relations are not read",
      numbers);
}

/// Refuses the temporal knowledge graphs of TGB 2 by name: their facts have a relation, which no format here keeps.
void refuse_knowledge_graph(const std::string& path, std::string_view head) {
  if (plain_header(first_line(head)) != "timestamp,head,tail,relation_type") return;
  throw InvalidInput(
      path, 1, 1,
      "this is a temporal knowledge graph of TGB 2 (timestamp,head,tail,relation_type); relations are not "
      "read: write head, tail and time of the facts as csv (source,target,time)");
}

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
  refuse_near_csv(path, head);
  refuse_knowledge_graph(path, head);
  throw InvalidInput(
      path, 0, 0,
      fmt::format(
          "{}; known formats: {}; give format=NAME if it is one of them, or make it csv: a first line "
          "'source,target,time' or 'source,target,time,weight', and whole numbers or names as vertices; of a csv "
          "with other names say them: columns=source:from/target:to/time:when",
          head.find('\0') == std::string::npos ? "no format recognises this file"
                                               : "no format recognises this binary file",
          fmt::join(FormatRegistry::instance().names(), ", ")) +
          hint_for_quadruples(head));
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
  settle_dates(graph);
  return graph;
}

}  // namespace strobe
