// Sizes of `like` are those of DistTGL (Zhou et al., SC'23), Table 2. Numbers of sources and shares of labels are those
// of the JODIE files (Kumar et al., KDD 2019, Table 2: 217, 366 and 4,066 events with a changed state). Repeats, bursts
// and skew of `wikipedia` are near those of its file. There, 0.898 of the events whose source had an earlier event go
// to one of its last 8 targets. Half of the gaps between the events of a source are below 313 s. The busiest source and
// target have 1,603 and 1,937 events.
#include "workloads/generators/bursty_parameters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "core/system/machine_limits.hpp"
#include "core/units.hpp"

namespace strobe {
namespace {

Json gdelt_sizes() {
  return {{"vertices", 16682},    {"events", 191290882},    {"sides", 1},    {"span", 1.6e8},
          {"edge_features", 130}, {"vertex_features", 413}, {"classes", 56}, {"classes_per_event", 6}};
}

const std::map<std::string, Json>& presets() {
  static const std::map<std::string, Json> all = {
      {"wikipedia",
       {{"vertices", 9227},
        {"sources", 8227},
        {"events", 157474},
        {"sides", 2},
        {"span", 2.7e6},
        {"edge_features", 172},
        {"labels", 217.0 / 157474},
        {"repeat", 0.9},
        {"burst", 0.75},
        {"burst_decay", 600.0},
        {"skew", 0.6}}},
      {"reddit",
       {{"vertices", 10984},
        {"sources", 10000},
        {"events", 672447},
        {"sides", 2},
        {"span", 2.7e6},
        {"edge_features", 172},
        {"labels", 366.0 / 672447}}},
      {"mooc",
       {{"vertices", 7144},
        {"sources", 7047},
        {"events", 411749},
        {"sides", 2},
        {"span", 2.6e7},
        {"labels", 4066.0 / 411749}}},
      {"flights", {{"vertices", 13169}, {"events", 1927145}, {"sides", 1}, {"span", 1e7}}},
      {"gdelt", gdelt_sizes()}};
  return all;
}

using B = BurstyParameters;

void refuse_sides(const B& p) {
  if (p.sides == 1 && p.sources > 0) {
    throw InvalidRequest("/sources", "with sides=1 every vertex may be a source; leave sources out, or give sides=2");
  }
  if (p.sides == 2 && p.sources >= p.vertices) {
    throw InvalidRequest("/sources", fmt::format("{} sources leave no targets among {} vertices; give fewer sources or "
                                                 "more vertices",
                                                 p.sources, p.vertices));
  }
  // A new target is none of the last ones, nor, with one side, the source itself.
  const std::int64_t least = history_depth + 2;
  if (p.target_count() < least) {
    throw InvalidRequest("/vertices", fmt::format("{} targets are too few to tell repeats from new choices; at least "
                                                  "{} are needed",
                                                  p.target_count(), least));
  }
}

}  // namespace

EventTopics BurstyParameters::topics(std::uint64_t seed) const {
  return {seed, std::clamp<std::int64_t>(target_count() / 32, 1, 32), drift, span};
}

const FieldTable& bursty_fields() {
  static const FieldTable table =
      make_fields<B>()
          .choice("like", &B::like, {"none", "wikipedia", "reddit", "mooc", "flights", "gdelt"},
                  "published sizes (DistTGL, Table 2) as defaults of the parameters that are not given")
          .integer("vertices", &B::vertices, "", "number of vertices N", 2, 2147483647)
          .integer("sources", &B::sources, "", "vertices that are sources of a two-sided graph; 0 = half of them", 0,
                   2147483647)
          .integer("events", &B::events, "", "number of events E", 1, 1e12)
          .integer("sides", &B::sides, "", "2: sources and targets are apart (users and items); 1: they are not", 1, 2)
          .real("span", &B::span, "s", "time from the first event, at 0, to the last", 1e-3, 1e12)
          .real("repeat", &B::repeat, "",
                "share of the events that go to one of the last 8 targets of their source, of those whose source had "
                "one before",
                0, 1)
          .real("burst", &B::burst, "",
                "events that an event sets off by itself, on average: branching ratio of a Hawkes process, below 1", 0,
                1)
          .real("burst_decay", &B::burst_decay, "s",
                "mean time from an event to one that it sets off; 0 = a thousandth of the span", 0, 1e12)
          .real("drift", &B::drift, "", "how often a source changes what it prefers over the span; 0 = never", 0, 1e9)
          .real("skew", &B::skew, "", "activity and popularity fall with the rank to the power -skew; 0 = all the same",
                0, 10)
          .real("labels", &B::labels, "", "share of the events with label 1; 0 = no labels", 0, 1)
          .integer("edge_features", &B::edge_features, "", "features of an event F_e, made on demand", 0, 65536)
          .integer("vertex_features", &B::vertex_features, "", "features of a vertex F_v", 0, 65536)
          .integer("classes", &B::classes, "", "number of classes; an event has several of them; 0 = none", 0,
                   GeneratedClasses::most_classes)
          .integer("classes_per_event", &B::classes_per_event, "", "classes of an event; 0 = one where there are any",
                   0, GeneratedClasses::most_classes);
  return table;
}

Json bursty_preset(const Json& given) {
  const auto like = given.find("like");
  if (like == given.end() || !like->is_string()) return given;
  const auto found = presets().find(like->get<std::string>());
  if (found == presets().end()) return given;
  Json all = given;
  for (const auto& [name, value] : found->second.items()) {
    // Sources go with the vertices and the sides that they are published with.
    const bool others = name == "sources" && (given.contains("vertices") || given.contains("sides"));
    if (!all.contains(name) && !others) all[name] = value;
  }
  return all;
}

double bursty_bytes(const B& p) {
  const auto events = static_cast<double>(p.events), vertices = static_cast<double>(p.vertices);
  // Ends, times as doubles and packed (4 bytes at most, or they stay doubles), labels.
  const double event_bytes = 4 + 4 + 8 + 4 + (p.labels > 0 ? 1 : 0);
  // Original ids and features; weights, tables of choice and history while events are made.
  const double vertex_bytes = 8 + 4 * static_cast<double>(p.vertex_features) + 120;
  const double waiting_bytes = 8 * (p.waiting() + 1e4);
  return events * event_bytes + vertices * vertex_bytes + waiting_bytes;
}

void check_bursty(const B& p) {
  if (!(p.burst < 1)) {
    throw InvalidRequest("/burst", "an event that sets off one event or more never ends doing so; give less than 1");
  }
  if (p.burst_decay > p.span) {
    throw InvalidRequest("/burst_decay", fmt::format("{:.6g} s are longer than the span of {:.6g} s; give a longer "
                                                     "span or a shorter decay",
                                                     p.burst_decay, p.span));
  }
  refuse_sides(p);
  if (p.classes_per_event > p.classes) {
    throw InvalidRequest("/classes_per_event", fmt::format("an event cannot have {} of {} classes; give more classes",
                                                           p.classes_per_event, p.classes));
  }
  const double bytes = bursty_bytes(p), memory = usable_memory_bytes();
  if (bytes <= memory) return;
  B without_events = p;
  without_events.events = 0;
  const bool many_vertices = bursty_bytes(without_events) > bytes / 2;
  throw InvalidRequest(many_vertices ? "/vertices" : "/events",
                       fmt::format("{} events of {} vertices need {}, this machine has {}; ask for fewer {}",
                                   format_count(p.events), format_count(p.vertices), format_bytes(bytes),
                                   format_bytes(memory), many_vertices ? "vertices" : "events"));
}

}  // namespace strobe
