#include "harness/files/placement_file.hpp"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <iterator>
#include <string_view>

#include "core/errors.hpp"
#include "core/json_reader.hpp"
#include "results/run/files.hpp"

namespace strobe {
namespace {

bool same_at_all_steps(const Placement& placement, VertexId v) {
  for (Step t = 1; t < placement.steps(); ++t) {
    if (placement.owner(v, t) != placement.owner(v, 0)) return false;
  }
  return true;
}

/// Appends the columns after the ranks, for the next cell of vertex v.
void append_rest(std::string& text, VertexId v, const std::uint32_t* chunk, const VertexLoads* loads) {
  const auto end = std::back_inserter(text);
  if (chunk != nullptr) fmt::format_to(end, ",{}", *chunk);
  if (loads != nullptr) fmt::format_to(end, ",{},{}", loads->load[v], loads->group[v]);
  text += '\n';
}

}  // namespace

void write_placement_file(const std::string& path, const Placement& spatial, const Placement& temporal,
                          const Column<std::uint32_t>* chunk_of_cell, const VertexLoads* loads) {
  std::string text = "step,vertex,rank,temporal_rank";
  if (chunk_of_cell != nullptr) text += ",chunk";
  if (loads != nullptr) text += ",load,group";
  text += '\n';
  const auto end = std::back_inserter(text);
  std::size_t cell = 0;
  for (std::int64_t i = 0; i < spatial.vertices; ++i) {
    const auto v = static_cast<VertexId>(i);
    if (chunk_of_cell == nullptr && spatial.owner(v, 0) >= 0 && same_at_all_steps(spatial, v) &&
        same_at_all_steps(temporal, v)) {
      fmt::format_to(end, ",{},{},{}", v, spatial.owner(v, 0), temporal.owner(v, 0));
      append_rest(text, v, nullptr, loads);
      continue;
    }
    for (Step t = 0; t < spatial.steps(); ++t) {
      if (spatial.owner(v, t) < 0) continue;  // the cell does not exist
      fmt::format_to(end, "{},{},{},{}", t, v, spatial.owner(v, t), temporal.owner(v, t));
      append_rest(text, v, chunk_of_cell == nullptr ? nullptr : &(*chunk_of_cell)[cell++], loads);
    }
  }
  write_file_atomically(path, text);
}

namespace {

/// The lines of an owners' file, one after the other.
class OwnerReader {
 public:
  explicit OwnerReader(const std::string& path) : path_(path) {
    if (!std::filesystem::is_regular_file(path))
      throw InvalidRequest("/strategy/owners",
                           "there is no file " + path + "; --dump-placement of another run writes one");
    text_ = read_regular_file(path);
  }

  CellOwners read() {
    CellOwners owners{path_, {}};
    rest_ = text_;
    read_header();
    while (next_line()) {
      OwnerLine line{number_, -1, 0, 0, 0};
      if (line_.substr(0, 1) != ",") line.step = number("a step");
      if (line.step < 0) next_field();
      line.vertex = number("a vertex");
      line.temporal_rank = line.rank = number("a rank");
      if (has_temporal_) line.temporal_rank = number("a temporal rank");
      owners.lines.push_back(line);
    }
    return owners;
  }

 private:
  void read_header() {
    next_line();
    const auto begins = [this](std::string_view names) {
      return line_ == names || line_.substr(0, names.size() + 1) == std::string(names) + ",";
    };
    has_temporal_ = begins("step,vertex,rank,temporal_rank");
    if (!has_temporal_ && !begins("step,vertex,rank"))
      refuse(fmt::format("expected the header step,vertex,rank,temporal_rank, found '{}'", line_.substr(0, 60)));
  }
  bool next_line() {
    while (!rest_.empty()) {
      const std::size_t end = std::min(rest_.find('\n'), rest_.size());
      line_ = rest_.substr(0, end);
      rest_.remove_prefix(std::min(end + 1, rest_.size()));
      ++number_;
      if (!line_.empty() && line_.back() == '\r') line_.remove_suffix(1);
      if (!line_.empty()) return true;
    }
    return false;
  }
  std::string_view next_field() {
    const std::size_t end = std::min(line_.find(','), line_.size());
    const std::string_view field = line_.substr(0, end);
    line_.remove_prefix(std::min(end + 1, line_.size()));
    return field;
  }
  std::int64_t number(const char* what) {
    const std::string_view field = next_field();
    std::int64_t value = -1;
    const auto read = std::from_chars(field.data(), field.data() + field.size(), value);
    if (read.ec != std::errc() || read.ptr != field.data() + field.size() || value < 0)
      refuse(fmt::format("expected {}, a whole number of at least 0, found '{}'", what, field));
    return value;
  }
  [[noreturn]] void refuse(const std::string& why) const {
    throw InvalidRequest("/strategy/owners", fmt::format("{}, line {}: {}", path_, number_, why));
  }

  const std::string& path_;
  std::string text_;
  std::string_view rest_, line_;
  std::int64_t number_ = 0;
  bool has_temporal_ = false;
};

}  // namespace

CellOwners read_placement_file(const std::string& path) { return OwnerReader(path).read(); }

}  // namespace strobe
