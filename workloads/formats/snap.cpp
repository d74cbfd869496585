// SNAP temporal edge lists: "SRC DST UNIXTS" between blanks, # comment lines, no header, plain or gzip.
// Returns one event per row; rows need not be in time order. Cost: one pass over the text.
// Source: snap.stanford.edu, temporal networks (sx-*, email-Eu-core-temporal, CollegeMsg).
#include <algorithm>
#include <charconv>

#include "workloads/event_builder.hpp"
#include "workloads/text_reader.hpp"
#include "workloads/workload.hpp"

namespace strobe {
namespace {

constexpr std::size_t columns = 3;

bool is_number(std::string_view text) {
  double value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && stop == text.data() + text.size();
}

/// The first line that is no comment, or "".
std::string_view first_row(std::string_view head) {
  while (!head.empty()) {
    const std::string_view line = head.substr(0, head.find('\n'));
    if (line.empty() || line.front() != '#') return line;
    head.remove_prefix(std::min(head.size(), line.size() + 1));
  }
  return {};
}

int probe(std::string_view head, std::string_view name) {
  // SocioPatterns' tij files look the same but have the time first.
  if (name.substr(0, 3) == "tij") return 0;
  std::string_view row = first_row(head);
  std::size_t numbers = 0;
  while (!row.empty()) {
    const std::size_t begin = std::min(row.find_first_not_of(" \t\r"), row.size());
    row.remove_prefix(begin);
    const std::string_view field = row.substr(0, row.find_first_of(" \t\r"));
    if (field.empty()) break;
    if (!is_number(field)) return 0;
    ++numbers;
    row.remove_prefix(field.size());
  }
  return numbers == columns ? 30 : 0;
}

EventGraph read(const std::string& path) {
  TextReader reader(path);
  EventBuilder events;
  bool any = false;
  while (reader.next()) {
    any = true;
    if (reader.line().front() == '#') continue;
    const auto& fields = reader.split_blanks();
    if (fields.size() != columns) {
      reader.fail(0, "expected 3 columns (source, target, time), found " + std::to_string(fields.size()));
    }
    const std::int64_t source = reader.whole(fields[0], "source vertex id");
    const std::int64_t target = reader.whole(fields[1], "target vertex id");
    events.add(source, target, reader.seconds(fields[2]));
  }
  if (!any) reader.fail_file("the file is empty");
  return events.finish(path, "snap");
}

const Register<FormatTag> registered{{"snap",
                                      "SNAP temporal edge list: SRC DST UNIXTS, # comments",
                                      "snap.stanford.edu/data, temporal networks",
                                      {},
                                      {probe, read},
                                      {}}};

}  // namespace
}  // namespace strobe
