// Checkpoints as safetensors. Values keep the run's precision and counters are decimal text, so writing and reading
// back changes no bit. Cost: one copy of the parameters per vector that the optimiser keeps.
#include "harness/files/checkpoint.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/json_reader.hpp"
#include "harness/files/model_files.hpp"
#include "harness/request/schedule_tag.hpp"
#include "harness/request/suite_files.hpp"
#include "harness/request/until.hpp"
#include "workloads/workload.hpp"

namespace strobe {
namespace {

const std::string kept_prefix = "state.";  // prefix for the names in TrainingState::kept

/// Appends a flat vector as one matrix per parameter, with `prefix` before each name.
void append_matrices(const std::vector<ParameterShape>& parameters, const std::vector<double>& values,
                     const std::string& prefix, std::vector<SavedMatrix>& matrices) {
  auto next = values.begin();
  for (const ParameterShape& shape : parameters) {
    const auto end = next + shape.rows * shape.columns;
    matrices.push_back({prefix + shape.name, shape.rows, shape.columns, {next, end}});
    next = end;
  }
}

FileNotes describe(const Case& c, const std::string& kind, std::int64_t epoch) {
  Json options = c.model;
  options.erase("name");
  return {{"kind", kind},
          {"model", c.model.at("name").get<std::string>()},
          {"options", options.dump()},
          {"task", c.task.dump()},
          {"seed", std::to_string(c.seed)},
          {"epoch", std::to_string(epoch)}};
}

std::string note(const FileNotes& notes, const std::string& key) {
  const auto found = notes.find(key);
  return found == notes.end() ? std::string() : found->second;
}

/// The JSON object or array under `key`; null when there is none.
Json parse_note(const FileNotes& notes, const std::string& key) {
  const Json value = parse_json_or_discard(note(notes, key));
  return value.is_structured() ? value : Json();
}

std::int64_t whole_note(const FileNotes& notes, const std::string& key, const std::string& path) {
  const std::string text = note(notes, key);
  std::int64_t value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || value < 0) {
    throw InvalidInput(path, 0, 0, "not a Strobe checkpoint: its metadata give no " + key);
  }
  return value;
}

/// "model.hidden is 6 in F, but 7 here" for the first field that differs; "" when none does.
std::string first_difference(const Json& there, const Json& here, const std::string& name, const std::string& path) {
  if (there == here) return "";
  if (there.is_object() && here.is_object()) {
    for (const Json* side : {&here, &there}) {
      for (const auto& [key, ignored] : side->items()) {
        const std::string below =
            first_difference(there.value(key, Json()), here.value(key, Json()), name + "." + key, path);
        if (!below.empty()) return below;
      }
    }
    return "";
  }
  const auto text = [](const Json& value) { return value.is_null() ? std::string("absent") : value.dump(); };
  return fmt::format("{} is {} in {}, but {} here", name, text(there), path, text(here));
}

const SavedMatrix* find_matrix(const std::vector<SavedMatrix>& saved, const std::string& name) {
  const auto match = std::find_if(saved.begin(), saved.end(), [&](const SavedMatrix& m) { return m.name == name; });
  return match == saved.end() ? nullptr : &*match;
}

/// The first difference between the model that wrote `notes` and this case's model, for a message about its weights; ""
/// if none is known.
std::string model_difference(const FileNotes& notes, const Case& c, const std::string& path) {
  Json there = parse_note(notes, "options");
  if (!there.is_object()) return "";
  there["name"] = note(notes, "model");
  std::string difference =
      first_difference(Json{{"name", there["name"]}}, Json{{"name", c.model.at("name")}}, "model", path);
  if (difference.empty()) difference = first_difference(there, c.model, "model", path);
  const Json task = parse_note(notes, "task");
  if (difference.empty() && task.is_object()) difference = first_difference(task, c.task, "task", path);
  return difference.empty() ? "" : ": " + difference;
}

/// The values of the matrices named `prefix` + parameter, one after the other. Throws InvalidRequest(where, ...).
std::vector<double> collect(const std::string& path, const std::vector<SavedMatrix>& saved,
                            const std::vector<ParameterShape>& parameters, const std::string& prefix,
                            const std::string& where, const std::string& difference) {
  std::vector<double> values;
  for (const ParameterShape& shape : parameters) {
    const SavedMatrix* match = find_matrix(saved, prefix + shape.name);
    if (match == nullptr) {
      throw InvalidRequest(
          where, fmt::format("{} has no weight '{}' for this model and task{}", path, prefix + shape.name, difference));
    }
    if (match->rows != shape.rows || match->columns != shape.columns) {
      throw InvalidRequest(where,
                           fmt::format("weight '{}' is {} x {} in {}, but {} x {} here{}", match->name, match->rows,
                                       match->columns, path, shape.rows, shape.columns, difference));
    }
    if (!all_finite(match->values)) {
      throw InvalidRequest(where,
                           fmt::format("weight '{}' in {} holds values that are not finite numbers; the training "
                                       "that wrote it diverged",
                                       match->name, path));
    }
    values.insert(values.end(), match->values.begin(), match->values.end());
  }
  return values;
}

/// "'a', 'b' and 3 more": matrices that are not parameters.
std::string unknown_names(const std::vector<SavedMatrix>& saved, const std::vector<ParameterShape>& parameters) {
  constexpr std::size_t most = 3;
  std::vector<std::string> names;
  for (const SavedMatrix& matrix : saved) {
    const auto is_it = [&](const ParameterShape& shape) { return shape.name == matrix.name; };
    if (std::none_of(parameters.begin(), parameters.end(), is_it)) names.push_back("'" + matrix.name + "'");
  }
  const std::size_t shown = std::min(most, names.size());
  const std::string list = fmt::format("{}", fmt::join(names.begin(), names.begin() + shown, ", "));
  return names.size() > most ? fmt::format("{} and {} more", list, names.size() - most) : list;
}

std::vector<SavedMatrix> read_existing(const std::string& path, const std::string& where, FileNotes& notes) {
  std::error_code reason;  // a name that no file can have is also a wrong request
  if (std::filesystem::is_directory(path, reason))
    throw InvalidRequest(where, "'" + path + "' is a folder, not a file");
  if (!std::filesystem::is_regular_file(path, reason)) throw InvalidRequest(where, "there is no file '" + path + "'");
  return read_safetensors(path, &notes);
}

/// The fields that a checkpoint must share with the case that continues it: all those that the numbers depend on.
/// Full-batch training can continue under any strategy and rank count. The state of other kinds depends on the
/// strategy.
Json identity(const Case& c) {
  Json identity = {{"workload", c.workload},   {"model", c.model}, {"task", c.task},
                   {"optimizer", c.optimizer}, {"seed", c.seed},   {"precision", c.precision}};
  if (trains_full_batch(c)) return identity;
  identity["strategy"] = c.strategy;
  if (c.presence != "all") identity["presence"] = c.presence;
  return identity;
}

void refuse_other_data(const Json& there, const Case& c, const std::string& path) {
  if (!there.is_object()) return;  // older checkpoints have no digests
  const std::string difference = first_difference(there, digests_of_data(c), "sha256 of data", path);
  if (difference.empty()) return;
  throw InvalidRequest("--resume-training", difference + "; the file has changed since the checkpoint was written");
}

/// JSON has no NaN, so a curve holds null instead.
std::vector<double> read_curve(const Json& json, std::int64_t epochs, const std::string& path) {
  std::vector<double> curve;
  for (const Json& value : json) {
    if (!value.is_null() && !value.is_number()) break;
    curve.push_back(value.is_null() ? std::nan("") : value.get<double>());
  }
  if (json.is_array() && static_cast<std::int64_t>(curve.size()) == epochs) return curve;
  throw InvalidInput(path, 0, 0, fmt::format("this checkpoint's metadata are damaged: no curve of {} epochs", epochs));
}

/// Old checkpoints hold metrics of the weights before each epoch's update. These are the weights after the update
/// before.
void shift_metrics(TrainingState& state) {
  for (auto& [name, curve] : state.metrics) {
    if (curve.empty()) continue;
    curve.erase(curve.begin());
    curve.push_back(std::nan(""));
  }
}

}  // namespace

bool all_finite(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); });
}

bool is_finite(const TrainingState& state) {
  const auto finite = [](const auto& vector) { return all_finite(vector.second); };
  return all_finite(state.weights) && std::all_of(state.optimizer.begin(), state.optimizer.end(), finite) &&
         std::all_of(state.kept.begin(), state.kept.end(), finite);
}

void save_weights(const std::string& path, const Case& c, const std::vector<ParameterShape>& parameters,
                  const std::vector<double>& weights, std::int64_t epoch) {
  std::vector<SavedMatrix> matrices;
  append_matrices(parameters, weights, "", matrices);
  write_safetensors(path, matrices, c.precision == "fp64", describe(c, "weights", epoch));
}

std::vector<double> load_weights(const std::string& path, const Case& c,
                                 const std::vector<ParameterShape>& parameters) {
  FileNotes notes;
  std::vector<SavedMatrix> saved = read_existing(path, "/load_model", notes);
  // A checkpoint also works as a model file; this drops its optimiser and trainer state.
  std::erase_if(saved, [](const SavedMatrix& matrix) {
    return matrix.name.rfind("optimizer.", 0) == 0 || matrix.name.rfind(kept_prefix, 0) == 0;
  });
  const std::string difference = model_difference(notes, c, path);
  if (notes.count("model") != 0 && note(notes, "model") != c.model.at("name").get<std::string>()) {
    throw InvalidRequest("/load_model", difference.substr(2));
  }
  std::vector<double> values = collect(path, saved, parameters, "", "/load_model", difference);
  if (saved.size() == parameters.size()) return values;
  throw InvalidRequest("/load_model", fmt::format("{} holds weights that this model and task do not have: {}{}", path,
                                                  unknown_names(saved, parameters), difference));
}

Json digests_of_data(const Case& c) {
  Json digests = workload_digests(c.workload.at("name").get<std::string>(), c.workload);
  digests.update(model_digests(c.model));
  return digests;
}

void save_checkpoint(const std::string& path, const Case& c, const std::vector<ParameterShape>& parameters,
                     const TrainingState& state, const Json& digests) {
  std::vector<SavedMatrix> matrices;
  append_matrices(parameters, state.weights, "", matrices);
  for (const auto& [name, values] : state.optimizer)
    append_matrices(parameters, values, "optimizer." + name + ".", matrices);
  for (const auto& [name, values] : state.kept)
    matrices.push_back({kept_prefix + name, static_cast<std::int64_t>(values.size()), 1, values});
  FileNotes notes = describe(c, "checkpoint", state.epoch);
  notes["case"] = identity(c).dump();
  notes["data"] = digests.dump();
  notes["optimizer_steps"] = std::to_string(state.optimizer_steps);
  notes["loss"] = Json(state.loss).dump();
  notes["metrics"] = Json(state.metrics).dump();
  notes["metrics_after"] = "update";
  write_safetensors(path, matrices, c.precision == "fp64", notes);
}

TrainingState load_checkpoint(const std::string& path, const Case& c, const std::vector<ParameterShape>& parameters) {
  const std::string where = "--resume-training";
  FileNotes notes;
  const std::vector<SavedMatrix> saved = read_existing(path, where, notes);
  if (note(notes, "kind") != "checkpoint") {
    throw InvalidInput(path, 0, 0, "not a Strobe checkpoint; give a file of --save-model to --load-model");
  }
  const Json there = parse_note(notes, "case"), metrics = parse_note(notes, "metrics");
  if (!there.is_object() || !metrics.is_object())
    throw InvalidInput(path, 0, 0, "this checkpoint's metadata are damaged");
  const Json wanted = identity(c);
  for (const auto& [key, here] : wanted.items()) {
    const std::string difference = first_difference(there.value(key, Json()), here, key, path);
    if (!difference.empty()) throw InvalidRequest(where, difference);
  }
  refuse_other_data(parse_note(notes, "data"), c, path);
  TrainingState state;
  state.epoch = whole_note(notes, "epoch", path);
  state.optimizer_steps = whole_note(notes, "optimizer_steps", path);
  state.weights = collect(path, saved, parameters, "", where, "");
  for (const SavedMatrix& matrix : saved) {
    if (matrix.name.rfind(kept_prefix, 0) == 0) state.kept[matrix.name.substr(kept_prefix.size())] = matrix.values;
    if (matrix.name.rfind("optimizer.", 0) != 0) continue;
    const std::string name = matrix.name.substr(10, matrix.name.find('.', 10) - 10);
    if (state.optimizer.count(name) != 0) continue;
    state.optimizer[name] = collect(path, saved, parameters, "optimizer." + name + ".", where, "");
  }
  state.loss = read_curve(parse_note(notes, "loss"), state.epoch, path);
  for (const auto& [name, curve] : metrics.items()) state.metrics[name] = read_curve(curve, state.epoch, path);
  if (note(notes, "metrics_after") != "update") shift_metrics(state);
  return state;
}

bool is_over(const Case& c, const std::optional<UntilRule>& until, const TrainingState& state) {
  return state.epoch >= c.warmup + c.epochs || until_holds(until, state.loss, state.metrics);
}

void refuse_over(const Case& c, const std::optional<UntilRule>& until, const TrainingState& state,
                 const std::string& path) {
  const std::string where = "--resume-training";
  if (state.epoch >= c.warmup + c.epochs) {
    throw InvalidRequest(
        where, fmt::format("{} is at epoch {} already, but the case has {}; set more than {} epochs, warm-up included",
                           path, state.epoch, c.warmup + c.epochs, state.epoch));
  }
  if (!until_holds(until, state.loss, state.metrics)) return;
  throw InvalidRequest(
      where, fmt::format("{} has already reached until={}, after epoch {}; leave until out, or set a goal beyond it",
                         path, c.until, state.epoch));
}

}  // namespace strobe
