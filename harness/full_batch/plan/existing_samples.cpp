// Samples are drawn as without presence, and then some are left out. So the remaining ones are a subset of those of
// presence=all, and models stay comparable from one presence to another. Classes are the exception. Their frequencies
// decide the weights of the loss and the most frequent class. If any class sample is left out, classes are drawn again
// from the labels of existing cells.
#include "harness/full_batch/plan/existing_samples.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/errors.hpp"
#include "core/units.hpp"
#include "models/tasks/growing_samples.hpp"

namespace strobe {
namespace {

template <class T>
void append_element(const Column<T>& from, std::size_t i, GrowingColumn<T>& to) {
  if (!from.empty()) to.push_back(from[i]);
}

/// Whether each sample reads existing cells only.
std::vector<bool> existing(const Samples& samples, const Presence& presence) {
  const std::size_t arity = samples.arity;
  std::vector<bool> exists(samples.step.size(), true);
  for (std::size_t i = 0; i < samples.vertices.size(); ++i)
    if (!presence.exists(samples.vertices[i], samples.step[i / arity])) exists[i / arity] = false;
  return exists;
}

/// The graph with a class for each existing cell, and none for other cells.
SnapshotGraph with_existing_labels(const SnapshotGraph& graph, const Presence& presence) {
  SnapshotGraph result = graph;
  const std::size_t n = graph.vertices;
  std::vector<std::int8_t> label = result.cell_label.release();
  if (label.empty()) {
    for (std::int64_t t = 0; t < graph.steps(); ++t)
      label.insert(label.end(), graph.vertex_label.begin(), graph.vertex_label.end());
  }
  for (std::size_t cell = 0; cell < label.size(); ++cell) {
    if (!presence.exists(static_cast<VertexId>(cell % n), static_cast<Step>(cell / n))) label[cell] = -1;
  }
  result.cell_label = std::move(label);
  return result;
}

TaskData keep_existing(TaskData data, const Presence& presence) {
  for (Samples* samples : {&data.train, &data.validation, &data.test}) *samples = keep_existing(*samples, presence);
  return data;
}

std::string how_many_go(const std::string& kind, const char* part, const Samples& drawn, const Samples& left) {
  return fmt::format("presence={}: {} of {} {} samples read cells that do not exist and are left out", kind,
                     format_count(drawn.count() - left.count()), format_count(drawn.count()), part);
}

/// A row must say if its cells depend on later steps, which a model could not know yet.
void note_look_ahead(const std::string& kind, std::vector<std::string>& notes) {
  if (kind == "lifetime") {
    notes.push_back("presence=lifetime looks ahead: only later steps show that a vertex is gone");
  } else if (kind == "active") {
    notes.push_back("presence=active looks ahead: which vertices a step has is known only when the step is over");
  }
}

/// Adds reasons for metrics that the part's remaining samples cannot give, whatever the outputs are.
void explain(const Task& task, const std::string& kind, const std::string& part, const Samples& drawn,
             const Samples& left, TaskData& data) {
  const std::string prefix = part == "test" ? "" : part + "_";
  if (drawn.count() == left.count()) return;
  data.notes.push_back(how_many_go(kind, part.c_str(), drawn, left));
  if (left.count() == 0) {
    data.absent[prefix] = fmt::format("presence={} leaves no {} sample", kind, part);
    return;
  }
  const std::vector<double> outputs(left.count() * task.classes(), 0.0);
  for (const auto& [name, value] : task.metrics(outputs, left)) {
    if (!std::isnan(value) || !data.why_absent(prefix + name).empty()) continue;
    data.absent[prefix + name] = fmt::format("presence={} leaves {} {} samples, which are not enough for it", kind,
                                             format_count(left.count()), part);
  }
}

/// Removes rules that are taken over all drawn samples. They are not comparable with a model that is judged on some.
void leave_out_rules(const TaskData& drawn, TaskData& left) {
  const auto is_of_validation = [](const std::string& name) { return name.rfind("validation_", 0) == 0; };
  const bool validation_goes = left.validation.count() < drawn.validation.count();
  const bool test_goes = left.test.count() < drawn.test.count();
  const std::size_t all = left.rules.size();
  const auto goes = [&](const auto& entry) { return is_of_validation(entry.first) ? validation_goes : test_goes; };
  std::erase_if(left.rules, goes);
  std::erase_if(left.levels.best_rule, goes);
  std::erase_if(left.levels.best_possible, goes);
  std::erase_if(left.levels.rule, goes);
  if (left.rules.size() < all)
    left.notes.emplace_back("rules that learn nothing are left out: they are taken over all samples, not over these");
}

void check_left(const std::string& kind, const char* part, const Samples& drawn, const Samples& left) {
  if (drawn.count() == 0 || left.count() > 0) return;
  throw InvalidRequest("/presence",
                       fmt::format("this task needs cells that do not exist with presence={}: all {} {} samples read "
                                   "some; take another presence (seen, or all), or longer windows, in which more "
                                   "vertices have an edge",
                                   kind, format_count(drawn.count()), part));
}

}  // namespace

Samples keep_existing(const Samples& samples, const Presence& presence) {
  const std::size_t arity = samples.arity;
  const std::vector<bool> exists = existing(samples, presence);
  GrowingSamples kept;
  GrowingColumn<std::int32_t> place;  // among the kept samples
  place.resize(samples.step.size());
  for (std::size_t i = 0; i < samples.step.size(); ++i) {
    place[i] = -1;
    const std::int32_t edge = samples.candidate_of.empty() ? -1 : samples.candidate_of[i];
    if (!exists[i] || (edge >= 0 && !exists[edge])) continue;
    place[i] = static_cast<std::int32_t>(kept.count());
    for (std::size_t k = 0; k < arity; ++k) kept.vertices.push_back(samples.vertices[i * arity + k]);
    kept.step.push_back(samples.step[i]);
    kept.label.push_back(samples.label[i]);
    append_element(samples.value, i, kept.value);
    append_element(samples.weight, i, kept.weight);
    append_element(samples.baseline, i, kept.baseline);
    append_element(samples.memory, i, kept.memory);
    for (std::size_t k = 0; k < samples.coded(); ++k) kept.codes.push_back(samples.codes[i * samples.coded() + k]);
    if (!samples.candidate_of.empty()) kept.candidate_of.push_back(edge < 0 ? -1 : place[edge]);
  }
  return kept.finish(samples.arity);
}

TaskData draw_existing_samples(const Task& task, const DrawSamples& draw, const SnapshotGraph& graph,
                               const Presence& presence, const std::string& kind) {
  const TaskData drawn = draw(graph);
  TaskData left = keep_existing(drawn, presence);
  check_left(kind, "training", drawn.train, left.train);
  check_left(kind, "test", drawn.test, left.test);
  const bool some_go = left.train.count() + left.validation.count() + left.test.count() <
                       drawn.train.count() + drawn.validation.count() + drawn.test.count();
  const bool has_labels = !graph.cell_label.empty() || !graph.vertex_label.empty();
  if (some_go && has_labels && drawn.train.arity == 1)
    left = keep_existing(draw(with_existing_labels(graph, presence)), presence);
  leave_out_rules(drawn, left);
  note_look_ahead(kind, left.notes);
  if (left.train.count() < drawn.train.count())
    left.notes.push_back(how_many_go(kind, "training", drawn.train, left.train));
  explain(task, kind, "validation", drawn.validation, left.validation, left);
  explain(task, kind, "test", drawn.test, left.test, left);
  return left;
}

}  // namespace strobe
