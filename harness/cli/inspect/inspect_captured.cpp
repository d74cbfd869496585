#include "harness/cli/inspect/inspect_captured.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "core/errors.hpp"
#include "harness/advisor/training_groups/rule_inputs.hpp"
#include "harness/cli/command.hpp"
#include "harness/event_batches/memory/mail_loss.hpp"
#include "harness/request/option_text.hpp"
#include "workloads/storage/atomic_file.hpp"
#include "workloads/workload.hpp"

namespace strobe {
namespace {

constexpr const char* captured_flag = "--captured-events";

void write_captured(const EventGraph& graph, const std::vector<std::int64_t>& batches, AtomicFile& file) {
  std::string text = "position,vertex,events";
  std::vector<std::vector<std::int64_t>> captured;
  for (const std::int64_t batch : batches) {
    text += fmt::format(",captured_{}", batch);
    captured.push_back(captured_mails(graph, graph.events(), batch));
  }
  file.write(text + "\n");
  const std::vector<std::int64_t> all = captured_mails(graph, graph.events(), 1);
  std::vector<std::size_t> order;
  for (std::size_t v = 0; v < all.size(); ++v) {
    if (all[v] > 0) order.push_back(v);
  }
  std::stable_sort(order.begin(), order.end(), [&all](std::size_t a, std::size_t b) { return all[a] > all[b]; });
  for (std::size_t n = 0; n < order.size(); ++n) {
    std::string line = fmt::format("{},{},{}", n + 1, order[n], all[order[n]]);
    for (const std::vector<std::int64_t>& of_batch : captured) line += fmt::format(",{}", of_batch[order[n]]);
    file.write(line + "\n");
  }
  file.commit();
}

}  // namespace

std::vector<std::int64_t> batches_to_capture(const std::string& text) {
  std::vector<std::int64_t> batches;
  for (const std::string& part : split_text(text, ',')) {
    const double number = number_from_text(part, captured_flag);
    if (number < 1 || number > (1 << 30) || number != std::floor(number))
      throw InvalidRequest(captured_flag,
                           fmt::format("a batch is a whole number of events from 1 to {}, not {}", 1 << 30, part));
    batches.push_back(static_cast<std::int64_t>(number));
    if (std::count(batches.begin(), batches.end(), batches.back()) > 1)
      throw InvalidRequest(captured_flag, fmt::format("batch {} is named twice", part));
  }
  if (batches.empty()) throw InvalidRequest(captured_flag, "name batches, such as 300,600,1200");
  return batches;
}

Json inspect_captured(const std::vector<std::int64_t>& batches, const std::string& csv, const std::string& workload,
                      const Json& parameters, std::uint64_t seed) {
  std::optional<AtomicFile> file;  // opened before the work, to refuse a folder without write access at once
  if (!csv.empty()) file.emplace(csv);
  std::optional<EventGraph> events = load_events(workload, parameters, seed);
  if (!events) throw InvalidRequest("W", workload + " has no events to capture: it holds or makes snapshots");
  const auto graph = std::make_shared<const EventGraph>(std::move(*events));
  const CapturedEvents captured(graph, graph->events());
  Json reported = Json::array();
  for (const std::int64_t batch : batches) {
    const BatchLoss loss = captured.loss(batch);
    reported.push_back(
        {{"batch", batch}, {"missing_share", loss.missing_share}, {"hub_missing_share", loss.hub_missing_share}});
  }
  if (file) write_captured(*graph, batches, *file);
  return reported;
}

}  // namespace strobe
