// Strobe's binary graph, version 4: an event graph in the form of binary_file.cpp, packed times as they are in memory.
// The reader always checks that ids are in range and times finite and sorted: no file, damaged or made up, can lead it
// out of its arrays. It also checks the checksums of a file that is not sealed.
// Cost: one pass on all threads over ids and times; over everything when it is not sealed.
#include "workloads/binary/binary_graph.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>

#include "core/errors.hpp"
#include "workloads/binary/binary_blocks.hpp"
#include "workloads/graph/provenance.hpp"
#include "workloads/reading/ids/vertex_names.hpp"
#include "workloads/storage/binary_file.hpp"
#include "workloads/storage/pages.hpp"
#include "workloads/storage/parallel.hpp"

namespace strobe {
namespace {

/// `names` and `blocks` must live until the file is written.
std::vector<BinarySection> sections_of(const EventGraph& graph, const NameColumn& names, const BlockIndex& blocks) {
  std::vector<BinarySection> sections;
  add_section(sections, "time", graph.time.values());
  add_section(sections, "time_bases", graph.time.packed().bases());
  add_section(sections, "time_places", graph.time.packed().places());
  add_section(sections, "time_words", graph.time.packed().words());
  add_section(sections, "source", graph.source);
  add_section(sections, "target", graph.target);
  add_section(sections, "original_id", graph.original_id);
  add_section(sections, "weight", graph.weight);
  add_section(sections, "exact_weight", graph.exact_weight);
  add_section(sections, "vertex_label", graph.vertex_label);
  add_section(sections, "event_label", graph.event_label);
  add_section(sections, "edge_features", graph.edge_features);
  add_section(sections, "vertex_features", graph.vertex_features);
  add_section(sections, "label_vertex", graph.timed_labels.vertex);
  add_section(sections, "label_time", graph.timed_labels.time);
  add_section(sections, "label_class", graph.timed_labels.label);
  add_section(sections, "label_share", graph.timed_labels.share);
  add_section(sections, "name_ends", names.ends());
  add_section(sections, "name_bytes", names.bytes());
  add_section(sections, "block_first_time", blocks.first_time);
  add_section(sections, "block_last_time", blocks.last_time);
  add_section(sections, "block_sha256", blocks.sha256);
  return sections;
}

/// The settings that make features and classes of events on demand. Written only where there are some, so that other
/// files stay as they were.
void describe_generated(const EventGraph& graph, Json& description) {
  const GeneratedFeatures& features = graph.edge_feature_source;
  if (features.width > 0) description["edge_feature_source"] = {{"seed", features.seed}, {"width", features.width}};
  if (graph.planted.communities > 0) {
    const PlantedLinks& law = graph.planted;
    description["planted"] = {{"communities", law.communities},
                              {"first_target", law.first_target},
                              {"targets", law.targets},
                              {"drift", law.drift},
                              {"noise", law.noise},
                              {"rate", law.rate},
                              {"tempo", law.tempo}};
  }
  const GeneratedClasses& classes = graph.event_class_source;
  if (classes.classes == 0) return;
  description["event_class_source"] = {
      {"seed", classes.seed},          {"classes", classes.classes},        {"per_event", classes.per_event},
      {"noise", classes.noise},        {"topic_seed", classes.topics.seed}, {"topics", classes.topics.topics},
      {"drift", classes.topics.drift}, {"span", classes.topics.span}};
}

void read_planted(const Json& from, const BinaryFile& file, EventGraph& graph) {
  PlantedLinks& law = graph.planted;
  from.at("communities").get_to(law.communities), from.at("first_target").get_to(law.first_target);
  from.at("targets").get_to(law.targets), from.at("drift").get_to(law.drift), from.at("noise").get_to(law.noise);
  from.at("rate").get_to(law.rate), from.at("tempo").get_to(law.tempo);
  const auto share = [](double p) { return p >= 0 && p <= 1; };
  const bool sound = law.communities > 0 && law.communities <= law.targets && law.first_target > 0 &&
                     law.first_target + law.targets == graph.vertices && share(law.drift) && share(law.noise) &&
                     law.rate > 0 && law.tempo > 0;
  if (!sound) file.refuse("a setting of the planted links of the binary graph is out of range");
}

void read_generated(const Json& description, const BinaryFile& file, EventGraph& graph) {
  if (description.contains("edge_feature_source")) {
    const Json& from = description.at("edge_feature_source");
    graph.edge_feature_source = {from.at("seed").get<std::uint64_t>(), from.at("width").get<std::int64_t>()};
    if (graph.edge_feature_source.width != graph.edge_feature_width || graph.edge_feature_width == 0)
      file.refuse("the generated features of the binary graph do not have the width of its edge features");
  }
  if (description.contains("planted")) read_planted(description.at("planted"), file, graph);
  if (!description.contains("event_class_source")) return;
  const Json& from = description.at("event_class_source");
  GeneratedClasses& classes = graph.event_class_source;
  from.at("seed").get_to(classes.seed), from.at("noise").get_to(classes.noise);
  from.at("classes").get_to(classes.classes), from.at("per_event").get_to(classes.per_event);
  from.at("topic_seed").get_to(classes.topics.seed), from.at("topics").get_to(classes.topics.topics);
  from.at("drift").get_to(classes.topics.drift), from.at("span").get_to(classes.topics.span);
  const bool sound = classes.classes > 0 && classes.classes <= GeneratedClasses::most_classes &&
                     classes.per_event > 0 && classes.per_event <= classes.classes && classes.topics.topics > 0 &&
                     classes.topics.drift >= 0 && classes.topics.span > 0;
  if (!sound) file.refuse("a setting of the generated event classes of the binary graph is out of range");
}

Json describe(const EventGraph& graph, const NameColumn& names, const Json& tag) {
  Json description = {{"vertices", graph.vertices},
                      {"events", graph.events()},
                      {"stepped", graph.stepped},
                      {"two_sided", graph.two_sided},
                      {"labels_before", graph.labels_before},
                      {"removals", graph.removals},
                      {"time_words", graph.time.packed().words().size()},
                      {"edge_feature_width", graph.edge_feature_width},
                      {"vertex_feature_width", graph.vertex_feature_width},
                      {"timed_labels", graph.timed_labels.time.size()},
                      {"dated", graph.dated},
                      {"name_bytes", names.bytes().size()},
                      {"provenance", provenance_to_json(graph.provenance)},
                      {"tag", tag}};
  describe_generated(graph, description);
  return description;
}

/// Whether `exact`, unless it is empty, are the values that fp32 rounds to `rounded`.
bool rounds_to(std::span<const double> exact, const Column<float>& rounded) {
  return exact.empty() || std::equal(exact.begin(), exact.end(), rounded.begin(), rounded.end(),
                                     [](double value, float single) { return static_cast<float>(value) == single; });
}

/// Classes are used as numbers of places, so none is negative. -1 means that an event has no class.
void check_labels(const EventGraph& graph, const BinaryFile& file) {
  const TimedLabels& labels = graph.timed_labels;
  const auto negative = [](std::int32_t label) { return label < 0; };
  const auto below_none = [](std::int8_t label) { return label < -1; };
  const auto finite = [](double value) { return std::isfinite(value); };
  for (const VertexId v : labels.vertex) {
    if (v < 0 || v >= graph.vertices) file.refuse("a labelled vertex of the binary graph is out of range");
  }
  if (std::any_of(labels.label.begin(), labels.label.end(), negative) ||
      std::any_of(graph.event_label.begin(), graph.event_label.end(), below_none))
    file.refuse("a class of the binary graph is negative");
  if (!std::all_of(labels.time.begin(), labels.time.end(), finite) ||
      !std::is_sorted(labels.time.begin(), labels.time.end()))
    file.refuse("the times of labels of the binary graph are not sorted finite numbers");
  if (!std::all_of(graph.weight.begin(), graph.weight.end(), finite))
    file.refuse("a weight of the binary graph is not finite");
}

/// Checks the facts that checksums cannot show and a seal does not promise: ids in range, times finite and sorted.
void check_content(const EventGraph& graph, const BinaryFile& file) {
  constexpr std::int64_t part_events = std::int64_t{1} << 18;
  if (graph.time.compact() && !graph.time.packed().sound()) file.refuse("the times of the binary graph are damaged");
  std::atomic<bool> ids{true}, times{true};
  parallel_tasks((graph.events() + part_events - 1) / part_events, [&](std::int64_t part) {
    const std::size_t begin = part * part_events;
    const std::size_t end = std::min(begin + part_events, graph.source.size());
    const auto in_range = [&](VertexId v) { return v >= 0 && v < graph.vertices; };
    std::vector<double> time(end - begin);
    graph.time.copy(begin, time);
    double before = begin > 0 ? graph.time[begin - 1] : time.front();
    for (std::size_t e = begin; e < end; ++e) {
      if (!in_range(graph.source[e]) || !in_range(graph.target[e])) ids = false;
      if (!std::isfinite(time[e - begin]) || before > time[e - begin]) times = false;
      before = time[e - begin];
    }
    rest_pages(graph.source.data() + begin, (end - begin) * sizeof(VertexId));
    rest_pages(graph.target.data() + begin, (end - begin) * sizeof(VertexId));
  });
  if (!ids) file.refuse("a vertex id of the binary graph is out of range");
  if (!rounds_to(graph.exact_weight, graph.weight))
    file.refuse("the exact weights of the binary graph do not round to its fp32 weights");
  if (!times) file.refuse("the times of the binary graph are not sorted finite numbers");
  check_labels(graph, file);
}

TimedLabels timed_labels(const BinaryFile& file) {
  const std::int64_t labels = file.count("timed_labels", most_binary_rows);
  return {file.column<VertexId>("label_vertex", labels, true), file.column<double>("label_time", labels, true),
          file.column<std::int32_t>("label_class", labels, true), file.column<float>("label_share", labels, true)};
}

TimeColumn times_of(const BinaryFile& file, std::int64_t events) {
  const std::int64_t words = file.count("time_words", most_binary_rows);
  if (words == 0) return file.column<double>("time", events, true);
  const std::size_t size = events;
  const std::int64_t blocks = PackedTimes::blocks_of(size);
  return PackedTimes(size, file.column<std::int64_t>("time_bases", blocks, true),
                     file.column<std::uint64_t>("time_places", blocks, true),
                     file.column<std::uint64_t>("time_words", words, true));
}

EventGraph graph_of(const BinaryFile& file) {
  const Json& description = file.description();
  EventGraph graph = event_columns(file);
  graph.vertex_feature_width = file.count("vertex_feature_width", most_binary_features);
  graph.original_id = file.column<std::int64_t>("original_id", graph.vertices, true);
  graph.vertex_label = file.column<std::int8_t>("vertex_label", graph.vertices, false);
  graph.vertex_features = file.column<float>("vertex_features", graph.vertices * graph.vertex_feature_width, true);
  graph.timed_labels = timed_labels(file);
  graph.vertex_name = names_of(file, graph.vertices);
  graph.provenance = provenance_from_json(description.at("provenance"));
  graph.labels_before =
      description.value("labels_before", graph.provenance.format == "tgb");  // files of before: by format
  return graph;
}

}  // namespace

EventGraph event_columns(const BinaryFile& file) {
  const Json& description = file.description();
  EventGraph graph;
  graph.vertices = file.count("vertices", std::numeric_limits<VertexId>::max());
  const std::int64_t events = file.count("events", most_binary_rows);
  graph.edge_feature_width = file.count("edge_feature_width", most_binary_features);
  description.at("stepped").get_to(graph.stepped);
  description.at("two_sided").get_to(graph.two_sided);
  graph.removals = description.value("removals", false);
  graph.dated = description.value("dated", false);  // files of before have neither this nor names
  graph.time = times_of(file, events);
  graph.source = file.column<VertexId>("source", events, true);
  graph.target = file.column<VertexId>("target", events, true);
  graph.weight = file.column<float>("weight", events, false);
  graph.exact_weight = file.column<double>("exact_weight", events, false);  // files of before have none
  if (graph.removals && graph.weight.empty()) file.refuse("the binary graph has removals, but no weights");
  graph.event_label = file.column<std::int8_t>("event_label", events, false);
  read_generated(description, file, graph);
  const std::int64_t stored = graph.edge_feature_source.width > 0 ? 0 : events * graph.edge_feature_width;
  graph.edge_features = file.column<float>("edge_features", stored, stored > 0);
  return graph;
}

void write_tagged_graph(const EventGraph& graph, const Json& tag, const std::string& path) {
  const NameColumn& names = graph.vertex_name;
  const BlockIndex blocks = index_blocks(graph);
  Json description = describe(graph, names, tag);
  if (!blocks.sha256.empty()) description["block_events"] = block_events;
  write_binary_file(binary_graph_kind, description, sections_of(graph, names, blocks), path);
}

TaggedGraph read_tagged_graph(const std::string& path, bool verify) {
  const BinaryFile file(binary_graph_kind, path);
  try {
    TaggedGraph result{graph_of(file), file.description().at("tag")};
    if (verify || !file.sealed()) file.verify();
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

void write_passing_events(const EventGraph* graph, const TimeCsr& neighbours, const std::string& path) {
  const NameColumn names = graph == nullptr ? NameColumn() : graph->vertex_name;
  const BlockIndex blocks;
  Json description = graph == nullptr ? Json::object() : describe(*graph, names, Json::object());
  std::vector<BinarySection> sections;
  if (graph != nullptr) sections = sections_of(*graph, names, blocks);
  description["has_graph"] = graph != nullptr;
  description["neighbour_offsets"] = neighbours.offsets.size();
  description["neighbours"] = neighbours.entries.size();
  add_section(sections, "neighbour_offsets", neighbours.offsets);
  const std::string_view entries(reinterpret_cast<const char*>(neighbours.entries.data()),
                                 neighbours.entries.size() * sizeof(TimedNeighbour));
  if (!entries.empty())
    sections.push_back({"neighbours",
                        binary_type<std::int32_t>(),
                        {entries},
                        2 * static_cast<std::int64_t>(neighbours.entries.size())});
  write_binary_file(binary_graph_kind, description, sections, path, Keeping::passing);
}

PassingEvents read_passing_events(const std::string& path, std::shared_ptr<const void> keeper) {
  const BinaryFile file(binary_graph_kind, path, std::move(keeper));
  PassingEvents events;
  if (file.description().at("has_graph").get<bool>()) events.graph = graph_of(file);
  const std::int64_t offsets = file.count("neighbour_offsets", most_binary_rows);
  const std::int64_t entries = file.count("neighbours", most_binary_rows);
  events.neighbours.offsets = file.column<std::int64_t>("neighbour_offsets", offsets, true);
  const auto words =
      std::make_shared<const Column<std::int32_t>>(file.column<std::int32_t>("neighbours", 2 * entries, true));
  events.neighbours.entries = Column<TimedNeighbour>(words, reinterpret_cast<const TimedNeighbour*>(words->data()),
                                                     static_cast<std::size_t>(entries));
  return events;
}

}  // namespace strobe
