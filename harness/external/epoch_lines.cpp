#include "harness/external/epoch_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "core/fields.hpp"
#include "core/shown_text.hpp"
#include "harness/process/narrate.hpp"

namespace strobe {
namespace {

constexpr const char* epoch_key = "epoch_seconds";
constexpr const char* line_example = R"({"epoch_seconds": 0.81, "loss": 0.52, "edges": 51000})";

[[noreturn]] void refuse_line(const std::string& line, const std::string& why) {
  throw Error(fmt::format("{}: {}; write one line such as {}", shown_words(line), why, line_example));
}

double stated_number(const Json& json, const std::string& key, const std::string& line) {
  if (!json.is_number()) refuse_line(line, fmt::format("{} is no number", key));
  return json.get<double>();
}

/// The value of a loss or metric. JSON has no NaN, so a program writes null.
double stated_value(const Json& json, const std::string& key, const std::string& line) {
  return json.is_null() ? std::numeric_limits<double>::quiet_NaN() : stated_number(json, key, line);
}

double stated_count(const Json& json, const std::string& key, const std::string& line) {
  const double count = stated_number(json, key, line);
  if (!(count > 0) || !std::isfinite(count)) refuse_line(line, fmt::format("{} is not above 0", key));
  return count;
}

Json parsed_line(const std::string& line) {
  Json json = Json::parse(line, nullptr, false);
  if (!json.is_object()) refuse_line(line, "this is no JSON object, in which NaN is written as null");
  if (!json.contains(epoch_key)) refuse_line(line, "it has no epoch_seconds");
  return json;
}

/// Everything of a line except its time and rank.
StatedEpoch stated_values(const Json& json, const std::string& line) {
  StatedEpoch epoch;
  for (const auto& [key, value] : json.items()) {
    if (key == epoch_key || key == "rank") continue;
    if (key == "loss") {
      epoch.loss = stated_value(value, key, line);
    } else if (std::find(std::begin(stated_counts), std::end(stated_counts), key) != std::end(stated_counts)) {
      epoch.work[key] = stated_count(value, key, line);
    } else if (key == "metrics" && value.is_object()) {
      for (const auto& [name, number] : value.items()) epoch.metrics[name] = stated_value(number, name, line);
    } else {
      refuse_line(line, key == "metrics" ? "metrics is no object of names and numbers"
                                         : unknown_name_message("key", key,
                                                                {epoch_key, "rank", "loss", "metrics", "cells", "edges",
                                                                 "events", "updates"}));
    }
  }
  return epoch;
}

/// The count if all measured epochs state the same, else 0.
double common_count(const std::vector<StatedEpoch>& epochs, std::int64_t warmup, const char* key, bool& differs) {
  double count = 0;
  for (std::size_t i = static_cast<std::size_t>(warmup); i < epochs.size(); ++i) {
    const auto found = epochs[i].work.find(key);
    const double here = found == epochs[i].work.end() ? 0 : found->second;
    if (i > static_cast<std::size_t>(warmup) && here != count) {
      differs = true;
      return 0;
    }
    count = here;
  }
  return count;
}

void take_work(const std::vector<StatedEpoch>& epochs, std::int64_t warmup, CaseResult& result) {
  bool differs = false;
  result.cells_per_epoch = common_count(epochs, warmup, "cells", differs);
  result.edges_per_epoch = common_count(epochs, warmup, "edges", differs);
  result.items_per_epoch = common_count(epochs, warmup, "events", differs);
  result.throughput_unit = "events_per_second";
  result.iterations_per_epoch = std::llround(common_count(epochs, warmup, "updates", differs));
  if (differs) result.notes.push_back("its epochs state different amounts of work, so it counts as not stated");
  if (result.cells_per_epoch + result.edges_per_epoch + result.items_per_epoch == 0)
    result.notes.push_back(
        "the program states no cells, edges or events of an epoch, so its times are compared with none");
}

}  // namespace

std::string shown_words(const std::string& line) {
  constexpr std::size_t most = 200;
  if (line.size() <= most) return shown_line(line);
  std::size_t end = most;
  while (end > 0 && (static_cast<unsigned char>(line[end]) & 0xC0) == 0x80) --end;  // no character is cut in two
  return shown_line(line.substr(0, end)) + "...";
}

void StatedEpochs::take_output(const std::string& line) {
  const std::size_t begin = line.find_first_not_of(" \t");
  if (begin == std::string::npos || line[begin] != '{') return;
  if (line.find(fmt::format("\"{}\"", epoch_key)) == std::string::npos) return;
  take(line.substr(begin));
}

void StatedEpochs::take_file(const std::string& line) {
  if (line.find_first_not_of(" \t\r") != std::string::npos) take(line);
}

void StatedEpochs::take(const std::string& line) {
  const Json json = parsed_line(line);
  const double seconds = stated_count(json.at(epoch_key), epoch_key, line);
  StatedEpoch epoch = stated_values(json, line);
  const Json rank = json.value("rank", Json());
  if (rank.is_null()) {
    for (int one = 0; one < ranks_; ++one) epoch.seconds = {{one, seconds}}, add(one, epoch);
  } else {
    if (!rank.is_number_integer() || rank.get<std::int64_t>() < 0 || rank.get<std::int64_t>() >= ranks_)
      refuse_line(line, fmt::format("rank is none of the case's {}; set --ranks, or leave rank out",
                                    counted(static_cast<std::size_t>(ranks_), "rank")));
    epoch.seconds = {{rank.get<int>(), seconds}};
    add(rank.get<int>(), epoch);
  }
  while (!begun_.empty() && static_cast<std::int64_t>(begun_.front().seconds.size()) == ranks_) {
    check_keys(begun_.front());
    finished_.push_back(std::move(begun_.front()));
    begun_.erase(begun_.begin());
  }
}

/// Ranks may each state the values of the epoch. The first one that does is heard.
void StatedEpochs::add(int rank, const StatedEpoch& stated) {
  const std::size_t number = next_[static_cast<std::size_t>(rank)]++ - finished_.size();
  if (number >= begun_.size()) begun_.resize(number + 1);
  StatedEpoch& epoch = begun_[number];
  epoch.seconds.insert(stated.seconds.begin(), stated.seconds.end());
  if (!epoch.loss) epoch.loss = stated.loss;
  epoch.metrics.insert(stated.metrics.begin(), stated.metrics.end());
  epoch.work.insert(stated.work.begin(), stated.work.end());
}

/// A curve has a value for each epoch.
void StatedEpochs::check_keys(const StatedEpoch& epoch) const {
  if (finished_.empty()) return;
  const StatedEpoch& first = finished_.front();
  std::string odd = epoch.loss.has_value() == first.loss.has_value() ? "" : "loss";
  for (const auto& [name, value] : first.metrics)
    if (epoch.metrics.count(name) == 0) odd = name;
  for (const auto& [name, value] : epoch.metrics)
    if (first.metrics.count(name) == 0) odd = name;
  if (!odd.empty())
    throw Error(fmt::format("some epochs state {} and others do not; state it for each epoch or for none", odd));
}

std::vector<EpochSample> samples_of_stated(const std::vector<StatedEpoch>& epochs, std::int64_t warmup) {
  std::vector<EpochSample> samples;
  for (std::size_t i = 0; i < epochs.size(); ++i) {
    for (const auto& [rank, seconds] : epochs[i].seconds) {
      EpochSample sample;
      sample.epoch = static_cast<int>(i);
      sample.rank = rank;
      sample.warmup = static_cast<std::int64_t>(i) < warmup;
      sample.epoch_seconds = sample.busy_seconds = sample.phase_seconds[Phase::other] = seconds;
      samples.push_back(std::move(sample));
    }
  }
  return samples;
}

void take_stated(const std::vector<StatedEpoch>& epochs, std::int64_t warmup, CaseResult& result) {
  result.loss.absent_reason = "the program states no loss";
  for (const StatedEpoch& epoch : epochs) {
    if (epoch.loss) result.loss.per_epoch.push_back(*epoch.loss);
    for (const auto& [name, value] : epoch.metrics) result.metrics[name].per_epoch.push_back(value);
  }
  if (static_cast<std::int64_t>(epochs.size()) > warmup) take_work(epochs, warmup, result);
}

}  // namespace strobe
