// TGL's edges.csv: header ",src,dst,time,ext_roll" or ",src,dst,time,int_roll,ext_roll"; the first column numbers the
// rows, a roll says where the event belongs in training: 0 train, 1 validation, 2 test.
// Returns one event per row; the sizes of the three parts of ext_roll are noted. Cost: one pass over the text.
// Source: Zhou et al., TGL: A General Framework for Temporal GNN Training on Billion-Scale Graphs, VLDB 2022.
#include <fmt/format.h>

#include <array>

#include "workloads/event_builder.hpp"
#include "workloads/probing.hpp"
#include "workloads/text_reader.hpp"
#include "workloads/workload.hpp"

namespace strobe {
namespace {

constexpr std::string_view one_roll = ",src,dst,time,ext_roll";
constexpr std::string_view two_rolls = ",src,dst,time,int_roll,ext_roll";
constexpr std::int64_t parts = 3;

int probe(std::string_view head, std::string_view) {
  const std::string_view line = first_line(head);
  return line == one_roll || line == two_rolls ? 100 : 0;
}

std::size_t read_roll(const TextReader& reader, const Token& token) {
  const std::int64_t roll = reader.whole(token, "roll");
  if (roll >= parts) reader.fail(token.column, fmt::format("the roll must be 0, 1 or 2, found {}", roll));
  return static_cast<std::size_t>(roll);
}

EventGraph read(const std::string& path) {
  TextReader reader(path);
  if (!reader.next()) reader.fail_file("the file is empty");
  if (reader.line() != one_roll && reader.line() != two_rolls)
    reader.fail(1, "expected the header ,src,dst,time,[int_roll,]ext_roll");
  const std::size_t columns = reader.split_commas().size();
  EventBuilder events;
  std::array<std::int64_t, parts> sizes{};
  while (reader.next()) {
    const auto& fields = reader.split_commas();
    if (fields.size() != columns) reader.fail(0, fmt::format("expected {} columns, found {}", columns, fields.size()));
    reader.whole(fields[0], "row number");
    const std::int64_t source = reader.whole(fields[1], "source vertex id");
    const std::int64_t target = reader.whole(fields[2], "target vertex id");
    events.add(source, target, reader.seconds(fields[3]));
    for (std::size_t i = 4; i + 1 < columns; ++i) read_roll(reader, fields[i]);
    ++sizes[read_roll(reader, fields.back())];
  }
  EventGraph graph = events.finish(path, "tgl");
  graph.provenance.notes.push_back(
      fmt::format("ext_roll: {} train, {} validation, {} test events", sizes[0], sizes[1], sizes[2]));
  return graph;
}

const Register<FormatTag> registered{{"tgl",
                                      "TGL edges.csv: ,src,dst,time,[int_roll,]ext_roll",
                                      "Zhou et al., TGL: A General Framework for Temporal GNN Training on "
                                      "Billion-Scale Graphs, VLDB 2022",
                                      {},
                                      {probe, read},
                                      {}}};

}  // namespace
}  // namespace strobe
