// A block's checksum covers the bytes of its events in every column. The words of packed times have another length in
// each block; the place of a block's first time says where they begin.
// Invariant: nothing of a block is used as a number or position before its checksum and ranges were checked.
#include "workloads/binary/binary_blocks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>

#include "core/errors.hpp"
#include "core/hash.hpp"
#include "workloads/storage/pages.hpp"
#include "workloads/storage/parallel.hpp"

namespace strobe {
namespace {

constexpr std::int64_t hex_digits = 64;
constexpr unsigned word_shift =
    24;  // the place of packed times holds the first word above these bits (packed_times.cpp)

/// The events [first, first + count), where `first` begins a block.
EventGraph events_of(const EventGraph& graph, std::size_t first, std::size_t count) {
  EventGraph part;
  part.vertices = graph.vertices;
  part.stepped = graph.stepped, part.dated = graph.dated;
  part.two_sided = graph.two_sided, part.removals = graph.removals;
  const PackedTimes& packed = graph.time.packed();
  const std::size_t places = PackedTimes::blocks_of(count), at = first / PackedTimes::block_times;
  if (graph.time.compact())
    part.time = PackedTimes(count, packed.bases().part(at, places), packed.places().part(at, places), packed.words());
  else
    part.time = graph.time.values().part(first, count);
  part.source = graph.source.part(first, count);
  part.target = graph.target.part(first, count);
  part.weight = graph.weight.part(first, count);
  part.exact_weight = graph.exact_weight.part(first, count);
  part.event_label = graph.event_label.part(first, count);
  const auto width = static_cast<std::size_t>(graph.edge_feature_width);
  part.edge_feature_width = graph.edge_feature_width;
  part.edge_feature_source = graph.edge_feature_source, part.planted = graph.planted;
  part.edge_features = graph.edge_features.part(first * width, count * width);
  return part;
}

template <class Values>
std::string_view bytes_of(const Values& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(*values.data())};
}

/// The words that the times of a block fill; nothing when the places are damaged.
Column<std::uint64_t> words_of(const PackedTimes& all, std::size_t first_place, std::size_t places) {
  const std::size_t size = all.words().size(), next = first_place + places;
  const std::size_t begin = all.places()[first_place] >> word_shift;
  const std::size_t end = next < all.places().size() ? all.places()[next] >> word_shift : size;
  if (begin > end || end > size) return {};
  return all.words().part(begin, end - begin);
}

std::string digest_of_block(const EventGraph& graph, std::int64_t block) {
  const std::size_t first = block * block_events;
  const std::size_t count = std::min<std::size_t>(block_events, graph.source.size() - first);
  const EventGraph part = events_of(graph, first, count);
  const PackedTimes& packed = part.time.packed();
  Column<std::uint64_t> words;
  if (part.time.compact())
    words = words_of(graph.time.packed(), first / PackedTimes::block_times, packed.places().size());
  Sha256 hash;
  for (const std::string_view bytes :
       {bytes_of(part.time.values()), bytes_of(packed.bases()), bytes_of(packed.places()), bytes_of(words),
        bytes_of(part.source), bytes_of(part.target), bytes_of(part.weight), bytes_of(part.exact_weight),
        bytes_of(part.event_label), bytes_of(part.edge_features)}) {
    hash.update(bytes.data(), bytes.size());
    rest_pages(bytes.data(), bytes.size());
  }
  return hash.hex();
}

}  // namespace

BlockIndex index_blocks(const EventGraph& graph) {
  BlockIndex index;
  const std::int64_t blocks = (graph.events() + block_events - 1) / block_events;
  if (blocks < 2) return index;
  index.sha256.resize(blocks * hex_digits);
  for (std::int64_t block = 0; block < blocks; ++block) {
    const std::int64_t first = block * block_events;
    index.first_time.push_back(graph.time[first]);
    index.last_time.push_back(graph.time[std::min(first + block_events, graph.events()) - 1]);
  }
  parallel_tasks(blocks, [&](std::int64_t block) {
    const std::string digest = digest_of_block(graph, block);
    std::copy(digest.begin(), digest.end(), index.sha256.begin() + block * hex_digits);
  });
  return index;
}

BinaryBlocks::BinaryBlocks(const std::string& path) : file_(binary_graph_kind, path) {
  try {
    all_ = event_columns(file_);
    events_ = all_.events();
    const bool indexed = file_.description().contains("block_events");
    if (indexed && file_.count("block_events", most_binary_rows) != block_events)
      file_.refuse("the binary graph has blocks of another size than this program reads; convert its source again");
    first_time_ = file_.column<double>("block_first_time", blocks(), indexed);
    last_time_ = file_.column<double>("block_last_time", blocks(), indexed);
    sha256_ = file_.column<std::int8_t>("block_sha256", blocks() * hex_digits, indexed);
  } catch (const Json::exception&) {
    file_.refuse("the description of the binary graph is not readable");
  }
  if (sha256_.empty())
    check_whole();
  else
    file_.verify({"block_first_time", "block_last_time", "block_sha256"});
}

void BinaryBlocks::check_whole() {
  file_.verify();
  if (all_.time.compact() && !all_.time.packed().sound()) file_.refuse("the times of the binary graph are damaged");
  std::vector<double> first, last;
  for (std::int64_t event = 0; event < events_; event += block_events) {
    first.push_back(all_.time[event]);
    last.push_back(all_.time[std::min(event + block_events, events_) - 1]);
  }
  first_time_ = std::move(first), last_time_ = std::move(last);
}

std::pair<std::int64_t, std::int64_t> BinaryBlocks::find(double begin, double end) const {
  const auto first = std::lower_bound(last_time_.begin(), last_time_.end(), begin) - last_time_.begin();
  const auto last = std::lower_bound(first_time_.begin(), first_time_.end(), end) - first_time_.begin();
  return {first, std::max<std::int64_t>(0, last - first)};
}

EventGraph BinaryBlocks::read(std::int64_t first, std::int64_t count) const {
  if (first < 0 || count < 1 || first + count > blocks())
    throw InvalidRequest("", fmt::format("no such blocks; the binary graph has the blocks 0 to {}", blocks() - 1));
  if (!sha256_.empty()) parallel_tasks(count, [&](std::int64_t i) { check_digest(first + i); });
  const std::size_t begin = first * block_events;
  const std::size_t events = std::min<std::size_t>(count * block_events, all_.source.size() - begin);
  EventGraph part = events_of(all_, begin, events);
  check_range(part, first);
  return part;
}

void BinaryBlocks::check_digest(std::int64_t block) const {
  const std::string digest = digest_of_block(all_, block);
  if (!std::equal(digest.begin(), digest.end(), sha256_.begin() + block * hex_digits))
    file_.refuse(fmt::format("block {} of the binary graph is damaged: its checksum is wrong", block));
}

/// Vertices and times are checked as those of a whole file are: a checksum says who wrote a file, not what is in it.
void BinaryBlocks::check_range(const EventGraph& part, std::int64_t first_block) const {
  if (part.time.compact() && !part.time.packed().sound()) file_.refuse("the times of the binary graph are damaged");
  const auto outside = [&](VertexId v) { return v < 0 || v >= all_.vertices; };
  if (std::any_of(part.source.begin(), part.source.end(), outside) ||
      std::any_of(part.target.begin(), part.target.end(), outside))
    file_.refuse("a vertex id of the binary graph is out of range");
  std::vector<double> times(std::min<std::int64_t>(block_events, part.events()));
  double before = first_time_[first_block];
  for (std::int64_t begin = 0; begin < part.events(); begin += block_events) {
    times.resize(std::min(block_events, part.events() - begin));
    part.time.copy(begin, times);
    for (const double time : times) {
      if (!std::isfinite(time) || time < before)
        file_.refuse("the times of the binary graph are not sorted finite numbers");
      before = time;
    }
  }
}

}  // namespace strobe
