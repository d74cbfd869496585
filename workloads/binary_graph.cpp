// Strobe's binary graph, version 3, little-endian:
//   header (128 bytes) | description as JSON | sections, each from a multiple of 64 bytes on, zeros between them
// The description holds counts, provenance, and of every section its name, type, count, offset and SHA-256. The header
// holds sizes and the SHA-256 of itself and the description.
// Reading maps the file; columns are views on it, so that loading is page faults only. Strobe replaces such a file by
// renaming a new one, so that mapped columns stay whole.
// Always checked, in time that does not depend on the graph's size: exact file size, the checksum of the beginning,
// every section inside the file with the type and count that it must have.
// Checksums of the sections, ids in range and times finite and sorted are checked unless the file is sealed: the writer
// notes inode and time of change in the header, so a file that still has both is the one that was written from a valid
// graph. A copy, a download or an edited file has not, and is checked in full at every opening (convert it to seal it).
//
// Cost: O(sections) when sealed, else one pass on all threads. The version is raised by any change of this layout.
#include "workloads/binary_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "core/hash.hpp"
#include "workloads/atomic_file.hpp"
#include "workloads/mapped_file.hpp"
#include "workloads/parallel.hpp"
#include "workloads/workload.hpp"

namespace strobe {
namespace {

static_assert(std::endian::native == std::endian::little, "the binary graph is written in memory order");

constexpr char magic[8] = {'S', 'T', 'R', 'O', 'B', 'E', 'G', '\n'};
constexpr std::uint32_t version = 3;
constexpr std::uint64_t alignment = 64, digest_bytes = 64, most_description = std::uint64_t{1} << 24;
constexpr std::int64_t most_rows = std::int64_t{1} << 40, most_features = std::int64_t{1} << 20;

struct Header {
  char magic[8];
  std::uint32_t version;
  std::uint32_t header_bytes;
  std::uint64_t description_bytes, file_bytes;
  std::uint64_t seal_inode;
  std::int64_t seal_modified_ns;
  char digest[digest_bytes];  // of the header with zeros here, then the description
  std::uint64_t reserved[2];
};
static_assert(sizeof(Header) == 128);

std::uint64_t padded(std::uint64_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

std::string digest_of(Header header, std::string_view description) {
  std::fill_n(header.digest, digest_bytes, '\0');
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof(header));
  return sha256_hex(bytes.append(description));
}

Json provenance_to_json(const Provenance& p) {
  return {{"name", p.name},
          {"format", p.format},
          {"source", p.source},
          {"sha256", p.sha256},
          {"licence", p.licence},
          {"ids", p.ids},
          {"rows", p.rows},
          {"self_loops", p.self_loops},
          {"duplicates", p.duplicates},
          {"was_sorted", p.was_sorted},
          {"notes", p.notes}};
}

Provenance provenance_from_json(const Json& json) {
  Provenance p;
  json.at("name").get_to(p.name);
  json.at("format").get_to(p.format);
  json.at("source").get_to(p.source);
  json.at("sha256").get_to(p.sha256);
  json.at("licence").get_to(p.licence);
  json.at("ids").get_to(p.ids);
  json.at("rows").get_to(p.rows);
  json.at("self_loops").get_to(p.self_loops);
  json.at("duplicates").get_to(p.duplicates);
  json.at("was_sorted").get_to(p.was_sorted);
  json.at("notes").get_to(p.notes);
  return p;
}

/// A section of memory or of a file.
struct Section {
  const char* name;
  const char* type;
  std::string_view bytes;
  std::int64_t count;
};

template <class T>
constexpr const char* type_name() {
  if constexpr (std::is_same_v<T, double>) return "f64";
  if constexpr (std::is_same_v<T, float>) return "f32";
  if constexpr (std::is_same_v<T, std::int64_t>) return "i64";
  if constexpr (std::is_same_v<T, std::int32_t>) return "i32";
  if constexpr (std::is_same_v<T, std::uint32_t>) return "u32";
  if constexpr (std::is_same_v<T, std::int8_t>) return "i8";
}

std::vector<Section> sections_of(const EventGraph& graph) {
  std::vector<Section> sections;
  const auto add = [&](const char* name, const auto& column) {
    using T = typename std::decay_t<decltype(column)>::value_type;
    if (column.empty()) return;
    sections.push_back({name,
                        type_name<T>(),
                        {reinterpret_cast<const char*>(column.data()), column.size() * sizeof(T)},
                        static_cast<std::int64_t>(column.size())});
  };
  add("time", graph.time.values());
  add("time_distance", graph.time.distances());
  add("source", graph.source);
  add("target", graph.target);
  add("original_id", graph.original_id);
  add("weight", graph.weight);
  add("vertex_label", graph.vertex_label);
  add("event_label", graph.event_label);
  add("edge_features", graph.edge_features);
  add("vertex_features", graph.vertex_features);
  add("label_vertex", graph.timed_labels.vertex);
  add("label_time", graph.timed_labels.time);
  add("label_class", graph.timed_labels.label);
  add("label_share", graph.timed_labels.share);
  return sections;
}

std::vector<std::string> digests_of(const std::vector<std::string_view>& sections) {
  std::vector<std::string> digests(sections.size());
  parallel_tasks(static_cast<std::int64_t>(sections.size()), [&](std::int64_t i) {
    digests[static_cast<std::size_t>(i)] = sha256_hex(sections[static_cast<std::size_t>(i)]);
  });
  return digests;
}

/// The description; offsets of sections count from the end of the description, as its length depends on them.
Json describe(const EventGraph& graph, const std::vector<Section>& sections, const Json& tag) {
  std::vector<std::string_view> bytes;
  for (const Section& section : sections) bytes.push_back(section.bytes);
  const std::vector<std::string> digests = digests_of(bytes);
  Json table = Json::array();
  std::uint64_t offset = 0;
  for (std::size_t i = 0; i < sections.size(); ++i) {
    table.push_back({{"name", sections[i].name},
                     {"type", sections[i].type},
                     {"count", sections[i].count},
                     {"offset", offset},
                     {"sha256", digests[i]}});
    offset += padded(sections[i].bytes.size());
  }
  return {{"vertices", graph.vertices},
          {"events", graph.events()},
          {"stepped", graph.stepped},
          {"two_sided", graph.two_sided},
          {"time_base", graph.time.base()},
          {"edge_feature_width", graph.edge_feature_width},
          {"vertex_feature_width", graph.vertex_feature_width},
          {"timed_labels", graph.timed_labels.time.size()},
          {"provenance", provenance_to_json(graph.provenance)},
          {"tag", tag},
          {"sections", std::move(table)}};
}

/// A mapped binary graph whose beginning was checked.
class File {
 public:
  explicit File(const std::string& path) : path_(path), mapping_(std::make_shared<const MappedFile>(path)) {
    check_header();
    const std::string_view text = mapping_->bytes().substr(sizeof(Header), header_.description_bytes);
    if (digest_of(header_, text) != std::string_view(header_.digest, digest_bytes))
      refuse("the checksum of the binary graph's beginning is wrong; it is damaged");
    description_ = Json::parse(text, nullptr, false);
    if (!description_.is_object()) refuse("the description of the binary graph is not readable");
  }

  const Json& description() const { return description_; }
  bool sealed() const { return mapping_->mark() == FileMark{header_.seal_inode, header_.seal_modified_ns}; }
  [[noreturn]] void refuse(const std::string& message) const { throw InvalidInput(path_, 0, 0, message); }

  /// The section `name` of `count` values; nothing when it is not there and may be absent.
  template <class T>
  Column<T> column(const char* name, std::int64_t count, bool required) const {
    for (const Json& section : description_.at("sections")) {
      if (section.at("name") != name) continue;
      if (section.at("type") != type_name<T>() || section.at("count") != count)
        refuse(fmt::format("the section {} of the binary graph has the wrong size", name));
      const std::string_view bytes = bytes_of(section, sizeof(T));
      return Column<T>(mapping_, reinterpret_cast<const T*>(bytes.data()), static_cast<std::size_t>(count));
    }
    if (required && count > 0) refuse(fmt::format("the binary graph has no section {}", name));
    return {};
  }

  /// Compares all sections with their checksums.
  void verify() const {
    std::vector<std::string_view> sections;
    const Json& table = description_.at("sections");
    std::uint64_t end = data_begin();
    for (const Json& section : table) {
      sections.push_back(bytes_of(section, size_of(section.at("type").get<std::string>())));
      const auto begin = static_cast<std::uint64_t>(sections.back().data() - mapping_->bytes().data());
      if (begin != padded(end)) refuse("the sections of the binary graph are out of place");
      check_zeros(end, begin);
      end = begin + sections.back().size();
    }
    check_zeros(end, mapping_->bytes().size());
    const std::vector<std::string> digests = digests_of(sections);
    for (std::size_t i = 0; i < digests.size(); ++i) {
      if (table[i].at("sha256") != digests[i])
        refuse(fmt::format("the checksum of the section {} of the binary graph is wrong; it is damaged",
                           table[i].at("name").get<std::string>()));
    }
  }

 private:
  void check_header() {
    const std::string_view bytes = mapping_->bytes();
    if (bytes.size() < sizeof(magic) || std::memcmp(bytes.data(), magic, sizeof(magic)) != 0)
      refuse("is not a Strobe binary graph");
    if (bytes.size() < sizeof(Header)) refuse("the binary graph is truncated in its header");
    std::memcpy(&header_, bytes.data(), sizeof(header_));
    if (header_.version != version) {
      refuse(fmt::format("the binary graph has version {}, this program reads {}; convert its source again",
                         header_.version, version));
    }
    if (header_.header_bytes != sizeof(Header) || header_.description_bytes > most_description)
      refuse("the header of the binary graph is damaged");
    if (bytes.size() != header_.file_bytes) {
      refuse(fmt::format("the binary graph has {} bytes, its header asks for {}; it is {}", bytes.size(),
                         header_.file_bytes,
                         bytes.size() < header_.file_bytes ? "truncated" : "followed by foreign bytes"));
    }
    if (sizeof(Header) + header_.description_bytes > bytes.size()) refuse("the header of the binary graph is damaged");
  }

  std::uint64_t data_begin() const { return sizeof(Header) + header_.description_bytes; }

  std::size_t size_of(const std::string& type) const {
    for (const auto& [name, size] : {std::pair{"f64", 8}, {"i64", 8}, {"f32", 4}, {"i32", 4}, {"u32", 4}, {"i8", 1}}) {
      if (type == name) return static_cast<std::size_t>(size);
    }
    refuse("a section of the binary graph has the unknown type " + type);
  }

  std::string_view bytes_of(const Json& section, std::size_t width) const {
    const auto count = section.at("count").get<std::uint64_t>(), offset = section.at("offset").get<std::uint64_t>();
    const std::uint64_t size = mapping_->bytes().size(), begin = padded(data_begin());
    const bool inside =
        begin <= size && offset % alignment == 0 && offset <= size - begin && count <= (size - begin - offset) / width;
    if (!inside) refuse("a section of the binary graph lies outside of the file");
    return mapping_->bytes().substr(begin + offset, count * width);
  }

  void check_zeros(std::uint64_t begin, std::uint64_t end) const {
    const std::string_view gap = mapping_->bytes().substr(begin, end - begin);
    if (gap.size() >= alignment || gap.find_first_not_of('\0') != std::string_view::npos)
      refuse("there are foreign bytes between the sections of the binary graph");
  }

  std::string path_;
  std::shared_ptr<const MappedFile> mapping_;
  Header header_{};
  Json description_;
};

/// What the checksums of a file that is not sealed cannot tell: ids in range, times finite and sorted.
void check_content(const EventGraph& graph, const File& file) {
  constexpr std::int64_t part_events = std::int64_t{1} << 20;
  std::atomic<bool> ids{true}, times{true};
  parallel_tasks((graph.events() + part_events - 1) / part_events, [&](std::int64_t part) {
    const auto begin = static_cast<std::size_t>(part * part_events);
    const std::size_t end = std::min(begin + part_events, graph.source.size());
    const auto in_range = [&](VertexId v) { return v >= 0 && v < graph.vertices; };
    for (std::size_t e = begin; e < end; ++e) {
      if (!in_range(graph.source[e]) || !in_range(graph.target[e])) ids = false;
      if (!std::isfinite(graph.time[e]) || (e > 0 && graph.time[e - 1] > graph.time[e])) times = false;
    }
  });
  if (!ids) file.refuse("a vertex id of the binary graph is out of range");
  if (!times) file.refuse("the times of the binary graph are not sorted finite numbers");
  for (const VertexId v : graph.timed_labels.vertex) {
    if (v < 0 || v >= graph.vertices) file.refuse("a labelled vertex of the binary graph is out of range");
  }
}

std::int64_t checked_count(const File& file, const char* name, std::int64_t most) {
  const auto count = file.description().at(name).get<std::int64_t>();
  if (count < 0 || count > most) file.refuse(fmt::format("the number of {} in the binary graph is impossible", name));
  return count;
}

TimedLabels timed_labels(const File& file) {
  const std::int64_t labels = checked_count(file, "timed_labels", most_rows);
  return {file.column<VertexId>("label_vertex", labels, true).copy(),
          file.column<double>("label_time", labels, true).copy(),
          file.column<std::int32_t>("label_class", labels, true).copy(),
          file.column<float>("label_share", labels, true).copy()};
}

EventGraph graph_of(const File& file) {
  const Json& description = file.description();
  EventGraph graph;
  graph.vertices = checked_count(file, "vertices", std::numeric_limits<VertexId>::max());
  const std::int64_t events = checked_count(file, "events", most_rows);
  graph.edge_feature_width = checked_count(file, "edge_feature_width", most_features);
  graph.vertex_feature_width = checked_count(file, "vertex_feature_width", most_features);
  description.at("stepped").get_to(graph.stepped);
  description.at("two_sided").get_to(graph.two_sided);
  const auto distances = file.column<std::uint32_t>("time_distance", events, false);
  graph.time = distances.empty() ? TimeColumn(file.column<double>("time", events, true))
                                 : TimeColumn(description.at("time_base").get<double>(), distances);
  graph.source = file.column<VertexId>("source", events, true);
  graph.target = file.column<VertexId>("target", events, true);
  graph.original_id = file.column<std::int64_t>("original_id", graph.vertices, true);
  graph.weight = file.column<float>("weight", events, false);
  graph.vertex_label = file.column<std::int8_t>("vertex_label", graph.vertices, false);
  graph.event_label = file.column<std::int8_t>("event_label", events, false);
  graph.edge_features = file.column<float>("edge_features", events * graph.edge_feature_width, true);
  graph.vertex_features = file.column<float>("vertex_features", graph.vertices * graph.vertex_feature_width, true);
  graph.timed_labels = timed_labels(file);
  graph.provenance = provenance_from_json(description.at("provenance"));
  return graph;
}

}  // namespace

void write_tagged_graph(const EventGraph& graph, const Json& tag, const std::string& path) {
  AtomicFile file(path);
  const std::vector<Section> sections = sections_of(graph);
  const std::string description = describe(graph, sections, tag).dump();
  if (description.size() > most_description) throw InvalidInput(path, 0, 0, "the graph's provenance is above 16 MiB");
  Header header{};
  std::memcpy(header.magic, magic, sizeof(magic));
  header.version = version;
  header.header_bytes = sizeof(Header);
  header.description_bytes = description.size();
  std::uint64_t written = sizeof(Header) + description.size();
  const auto pad = [&] {
    file.write(std::string(padded(written) - written, '\0'));
    written = padded(written);
  };
  file.write({reinterpret_cast<const char*>(&header), sizeof(header)});
  file.write(description);
  for (const Section& section : sections) {
    pad();
    file.write(section.bytes);
    written += section.bytes.size();
  }
  header.file_bytes = written;
  const FileMark seal = file.mark();
  header.seal_inode = seal.inode;
  header.seal_modified_ns = seal.modified_ns;
  std::memcpy(header.digest, digest_of(header, description).data(), digest_bytes);
  file.overwrite_begin({reinterpret_cast<const char*>(&header), sizeof(header)}, seal);
  file.commit();
}

TaggedGraph read_tagged_graph(const std::string& path, bool verify) {
  const File file(path);
  try {
    TaggedGraph result{graph_of(file), file.description().at("tag")};
    if (!verify && file.sealed()) return result;
    file.verify();
    check_content(result.graph, file);
    return result;
  } catch (const Json::exception&) {
    file.refuse("the description of the binary graph is not readable");
  }
}

void write_binary_graph(const EventGraph& graph, const std::string& path) {
  write_tagged_graph(graph, Json::object(), path);
}

EventGraph read_binary_graph(const std::string& path, bool verify) { return read_tagged_graph(path, verify).graph; }

}  // namespace strobe
