// Strobe's binary graph, version 2. Little-endian; sections begin at multiples of 8 bytes, so that a mapped file can be
// read in place:
//   header (64 bytes) | time f64[E] | original_id i64[N] | source i32[E] | target i32[E] | weight f32[E] if weighted |
//   label i8[N] if labelled | event label i8[E] if there | event features f32[E * F_e] if F_e > 0 |
//   provenance as JSON | SHA-256 of all bytes before it, as 64 hexadecimal digits
// Invariants checked on reading: exact file size for the header's counts, checksum, times finite and sorted, ids in
// range. Cost: one pass to hash and one to copy. The version is raised by any change of this layout.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "core/hash.hpp"
#include "workloads/atomic_file.hpp"
#include "workloads/workload.hpp"

namespace strobe {
namespace {

static_assert(std::endian::native == std::endian::little, "the binary graph is written in memory order");

constexpr char magic[8] = {'S', 'T', 'R', 'O', 'B', 'E', 'G', '\n'};
constexpr std::uint32_t version = 2;
constexpr std::uint64_t flag_weighted = 1, flag_labelled = 2, flag_stepped = 4, flag_event_label = 8;
constexpr std::uint64_t digest_bytes = 64;
constexpr std::uint64_t most_events = std::uint64_t{1} << 40, most_provenance_bytes = std::uint64_t{1} << 24,
                        most_features = std::uint64_t{1} << 20;

struct Header {
  char magic[8];
  std::uint32_t version;
  std::uint32_t header_bytes;
  std::uint64_t vertices, events, flags, provenance_bytes, edge_feature_width;
  std::uint64_t reserved;
};
static_assert(sizeof(Header) == 64);

std::uint64_t padded(std::uint64_t bytes) { return (bytes + 7) / 8 * 8; }

std::uint64_t file_bytes(const Header& h) {
  return sizeof(Header) + 8 * h.events + 8 * h.vertices + 2 * padded(4 * h.events) +
         (h.flags & flag_weighted ? padded(4 * h.events) : 0) + (h.flags & flag_labelled ? padded(h.vertices) : 0) +
         (h.flags & flag_event_label ? padded(h.events) : 0) + padded(4 * h.events * h.edge_feature_width) +
         padded(h.provenance_bytes) + digest_bytes;
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

Provenance provenance_from_json(const std::string& text, const std::string& path) {
  try {
    const Json json = Json::parse(text);
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
  } catch (const Json::exception&) {
    throw InvalidInput(path, 0, 0, "the provenance of the binary graph is not readable");
  }
}

/// Writes sections padded to 8 bytes and keeps what the checksum needs.
class Writer {
 public:
  explicit Writer(std::string& bytes) : bytes_(bytes) {}

  template <class T>
  void section(const std::vector<T>& values) {
    raw(values.data(), values.size() * sizeof(T));
  }
  void raw(const void* data, std::size_t size) {
    bytes_.append(static_cast<const char*>(data), size);
    bytes_.append(padded(size) - size, '\0');
  }

 private:
  std::string& bytes_;
};

/// A file mapped for reading.
class Mapping {
 public:
  explicit Mapping(const std::string& path) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) {
      if (errno == ENOENT || errno == ENOTDIR) throw InvalidInput(path, 0, 0, "no such file");
      throw SystemError("cannot open " + path + ": " + std::strerror(errno));
    }
    struct stat status {};
    const bool regular = fstat(file, &status) == 0 && S_ISREG(status.st_mode);
    size_ = regular ? static_cast<std::size_t>(status.st_size) : 0;
    if (size_ > 0) data_ = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file, 0);
    const int error = errno;
    close(file);
    if (!regular)
      throw InvalidInput(path, 0, 0, S_ISDIR(status.st_mode) ? "is a directory, not a file" : "is not a regular file");
    if (data_ == MAP_FAILED) throw SystemError("cannot map " + path + ": " + std::strerror(error));
  }
  ~Mapping() {
    if (data_ != nullptr && data_ != MAP_FAILED) munmap(data_, size_);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  std::string_view bytes() const { return {static_cast<const char*>(data_), size_}; }

 private:
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

Header check_header(std::string_view bytes, const std::string& path) {
  if (bytes.size() < sizeof(magic) || std::memcmp(bytes.data(), magic, sizeof(magic)) != 0) {
    throw InvalidInput(path, 0, 0, "is not a Strobe binary graph");
  }
  if (bytes.size() < sizeof(Header) + digest_bytes)
    throw InvalidInput(path, 0, 0, "the binary graph is truncated in its header");
  Header header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (header.version != version) {
    throw InvalidInput(path, 0, 0,
                       fmt::format("the binary graph has version {}, this program reads {}; convert its source again",
                                   header.version, version));
  }
  if (header.header_bytes != sizeof(Header) || header.vertices > std::numeric_limits<VertexId>::max() ||
      header.events > most_events || header.edge_feature_width > most_features ||
      header.provenance_bytes > most_provenance_bytes) {
    throw InvalidInput(path, 0, 0, "the header of the binary graph is damaged");
  }
  const std::uint64_t expected = file_bytes(header);
  if (bytes.size() != expected) {
    throw InvalidInput(path, 0, 0,
                       fmt::format("the binary graph has {} bytes, its header asks for {}; it is {}", bytes.size(),
                                   expected, bytes.size() < expected ? "truncated" : "followed by foreign bytes"));
  }
  const std::string_view payload = bytes.substr(0, bytes.size() - digest_bytes);
  if (sha256_hex(payload) != bytes.substr(payload.size()))
    throw InvalidInput(path, 0, 0, "the checksum of the binary graph is wrong; it is damaged");
  return header;
}

void check_content(const EventGraph& graph, const std::string& path) {
  const auto in_range = [&](VertexId v) { return v >= 0 && v < graph.vertices; };
  if (!std::all_of(graph.source.begin(), graph.source.end(), in_range) ||
      !std::all_of(graph.target.begin(), graph.target.end(), in_range)) {
    throw InvalidInput(path, 0, 0, "a vertex id of the binary graph is out of range");
  }
  if (!std::all_of(graph.time.begin(), graph.time.end(), [](double t) { return std::isfinite(t); }) ||
      !std::is_sorted(graph.time.begin(), graph.time.end())) {
    throw InvalidInput(path, 0, 0, "the times of the binary graph are not sorted finite numbers");
  }
}

/// Takes sections off the front of the mapped bytes.
class Sections {
 public:
  explicit Sections(std::string_view bytes) : rest_(bytes) {}

  template <class T>
  std::vector<T> take(std::uint64_t count) {
    std::vector<T> values(count);
    if (count > 0) std::memcpy(values.data(), rest_.data(), count * sizeof(T));
    rest_.remove_prefix(padded(count * sizeof(T)));
    return values;
  }

 private:
  std::string_view rest_;
};

}  // namespace

void write_binary_graph(const EventGraph& graph, const std::string& path) {
  AtomicFile file(path);
  const std::string provenance = provenance_to_json(graph.provenance).dump();
  Header header{};
  std::memcpy(header.magic, magic, sizeof(magic));
  header.version = version;
  header.header_bytes = sizeof(Header);
  header.vertices = static_cast<std::uint64_t>(graph.vertices);
  header.events = static_cast<std::uint64_t>(graph.events());
  header.flags = (graph.weight.empty() ? 0 : flag_weighted) | (graph.vertex_label.empty() ? 0 : flag_labelled) |
                 (graph.stepped ? flag_stepped : 0) | (graph.event_label.empty() ? 0 : flag_event_label);
  header.edge_feature_width = static_cast<std::uint64_t>(graph.edge_feature_width);
  header.provenance_bytes = provenance.size();
  std::string bytes;
  bytes.reserve(file_bytes(header));
  Writer writer(bytes);
  writer.raw(&header, sizeof(header));
  writer.section(graph.time);
  writer.section(graph.original_id);
  writer.section(graph.source);
  writer.section(graph.target);
  writer.section(graph.weight);
  writer.section(graph.vertex_label);
  writer.section(graph.event_label);
  writer.section(graph.edge_features);
  writer.raw(provenance.data(), provenance.size());
  bytes += sha256_hex(bytes);
  file.write(bytes);
  file.commit();
}

EventGraph read_binary_graph(const std::string& path) {
  const Mapping mapping(path);
  const Header header = check_header(mapping.bytes(), path);
  Sections sections(mapping.bytes().substr(sizeof(Header)));
  EventGraph graph;
  graph.vertices = static_cast<std::int64_t>(header.vertices);
  graph.time = sections.take<double>(header.events);
  graph.original_id = sections.take<std::int64_t>(header.vertices);
  graph.source = sections.take<VertexId>(header.events);
  graph.target = sections.take<VertexId>(header.events);
  if (header.flags & flag_weighted) graph.weight = sections.take<float>(header.events);
  if (header.flags & flag_labelled) graph.vertex_label = sections.take<std::int8_t>(header.vertices);
  if (header.flags & flag_event_label) graph.event_label = sections.take<std::int8_t>(header.events);
  graph.edge_feature_width = static_cast<std::int64_t>(header.edge_feature_width);
  graph.edge_features = sections.take<float>(header.events * header.edge_feature_width);
  graph.stepped = (header.flags & flag_stepped) != 0;
  const std::vector<char> provenance = sections.take<char>(header.provenance_bytes);
  graph.provenance = provenance_from_json(std::string(provenance.begin(), provenance.end()), path);
  check_content(graph, path);
  return graph;
}

void write_csv(const EventGraph& graph, const std::string& path) {
  AtomicFile file(path);
  file.write(graph.stepped ? "source,target,step" : "source,target,time");
  file.write(graph.weight.empty() ? "\n" : ",weight\n");
  fmt::memory_buffer line;
  for (std::size_t e = 0; e < graph.source.size(); ++e) {
    line.clear();
    // fmt's {} prints the shortest digits that read back to the same number.
    fmt::format_to(std::back_inserter(line), "{},{},{}", graph.original_id[static_cast<std::size_t>(graph.source[e])],
                   graph.original_id[static_cast<std::size_t>(graph.target[e])], graph.time[e]);
    if (!graph.weight.empty()) fmt::format_to(std::back_inserter(line), ",{}", graph.weight[e]);
    line.push_back('\n');
    file.write({line.data(), line.size()});
  }
  file.commit();
}

}  // namespace strobe
