// `strobe cluster new`: writes a cluster file from a cluster that is known and the numbers that differ.
#include "backends/cluster.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "backends/sim/cluster/cluster_file.hpp"
#include "core/currency.hpp"
#include "harness/cli/described/new_file.hpp"
#include "harness/measure/run_request.hpp"
#include "harness/request/option_text.hpp"

namespace strobe {
namespace {

constexpr const char* price_key = "price_per_node_hour";

struct ClusterCommand {
  std::string action, from, out;
  std::vector<std::string> sets;
};

std::string source_instead_of(const std::string& before, const std::string& from) {
  return fmt::format("given on the command line, instead of {} of {}", before, from);
}

/// The value of a quantity as text; "nothing" where the cluster has none.
std::string value_text(const Json& cluster, const std::string& path) {
  const std::size_t dot = path.find('.');
  const Json part = dot == std::string::npos ? cluster : cluster.value(path.substr(0, dot), Json::object());
  const Json quantity = part.value(path.substr(dot == std::string::npos ? 0 : dot + 1), Json());
  if (!quantity.is_object()) return quantity.is_null() ? "nothing" : quantity.dump();
  return quantity.value("value", Json()).is_null() ? "nothing" : quantity.at("value").dump();
}

/// Marks a changed number with its source. A text or a flag has none.
void set_source(Json& cluster, const std::string& path, const std::string& source) {
  const std::size_t dot = path.find('.');
  Json& part = dot == std::string::npos ? cluster : cluster[path.substr(0, dot)];
  Json& held = part[path.substr(dot == std::string::npos ? 0 : dot + 1)];
  if (!held.is_object()) return;
  held["source"] = source;
  held.erase("date");
}

/// Sets a price such as "12.5usd", or "not sold". A bare number is in the currency of the price before.
void set_price(Json& cluster, const std::string& text, const std::string& from) {
  Json& price = cluster[price_key];
  const std::string before = value_text(cluster, price_key), where = fmt::format("--set {}", price_key);
  if (text == "not sold") {
    price = text;
    return;
  }
  const auto amount = amount_from_text(text);
  if (!amount)
    throw InvalidRequest(where, fmt::format("expected a price such as 12.5usd, or not sold, found '{}'", text));
  std::string currency = amount->second;
  if (currency.empty() && price.is_object()) currency = price.at("currency").get<std::string>();
  if (currency.empty())
    throw InvalidRequest(where, fmt::format("{} is not sold, so name a currency: {}usd", from, text));
  if (currency_code(currency).empty()) throw InvalidRequest(where, unknown_currency_message(currency));
  price = {{"value", amount->first}, {"currency", currency_code(currency)}};
  price["source"] = source_instead_of(before, from);
  price["what_if"] = true;
}

/// The cluster `from` with one number changed as a what-if changes it; fits of other links are dropped.
Json changed(const std::string& from, const std::vector<std::pair<std::string, std::string>>& changes) {
  std::string text = from;
  for (const auto& [key, value] : changes) {
    if (value.find_first_of(",:") != std::string::npos)
      throw InvalidRequest("--set " + key, fmt::format("'{}' holds a comma or a colon; edit the file instead", value));
    text = change_cluster(text, key, value);
  }
  try {
    return load_cluster(text)->raw;
  } catch (const InvalidRequest& error) {
    throw error.each([](const InvalidRequest& one) { return InvalidRequest("--set " + one.where(), one.message()); });
  }
}

/// The new file. Its band is gone, because nobody measured this cluster. Its sources cover no more ranks than before.
Json described(const ClusterCommand& command) {
  const auto base = load_cluster(command.from);
  std::vector<std::pair<std::string, std::string>> changes;
  std::string price;
  std::vector<std::string> keys;
  for (const std::string& text : command.sets) {
    const auto [key, value] = split_assignment(text, "--set");
    if (std::find(keys.begin(), keys.end(), key) != keys.end()) throw InvalidRequest("--set " + key, "is given twice");
    keys.push_back(key);
    if (key == price_key)
      price = value;
    else
      changes.emplace_back(key, value);
  }
  Json json = changed(command.from, changes);
  for (const auto& [key, value] : changes)
    set_source(json, key, source_instead_of(value_text(base->raw, key), command.from));
  if (!price.empty()) set_price(json, price, command.from);
  json["name"] = std::filesystem::path(command.out).stem().string();
  if (keys.empty()) return json;
  json["description"] = fmt::format("{} with other {}", command.from, fmt::join(keys, ", "));
  json.erase("epoch_band_90");
  if (!json.contains("covered_ranks"))
    json["covered_ranks"] = {
        {"value", base->covered_ranks}, {"source", fmt::format("the sources of {}", command.from)}, {"what_if", true}};
  return json;
}

NewFile new_cluster(const ClusterCommand& command) {
  if (command.from.empty())
    throw InvalidRequest("--from", "name a cluster to start from; `strobe list clusters` shows them");
  if (!command.out.ends_with(".json")) throw InvalidRequest("--out", "name a file that ends in .json");
  check_cluster(command.from, "--from");
  const Json json = described(command);
  const auto cluster = sim::cluster_from_json(json);  // what is written can be read
  return {json, fmt::format("{} nodes x {} {}", cluster->nodes, cluster->gpus_per_node, cluster->gpu.name),
          "strobe plan --workload W --clusters {}"};
}

CommandAction define_cluster(CommandOptions& options) {
  const auto command = std::make_shared<ClusterCommand>();
  take_new_action(options, command->action);
  options.text("--from", command->from, "cluster to start from", "NAME|FILE");
  options.repeated("--set", command->sets,
                   "a number that differs, such as nodes=16, gpu.memory_bytes=80e9 or price_per_node_hour=12.5usd; "
                   "keys are those of a cluster file",
                   "KEY=VALUE");
  options.text("--out", command->out, "file to write; its name ends in .json", "FILE");
  options.example(
      "Example: strobe cluster new --from p4d-a100 --set nodes=16 --set inter_node_bytes_per_second=100e9 --out "
      "my-lab.json");
  return
      [command] { return write_new_file(command->action, command->out, [&command] { return new_cluster(*command); }); };
}

const Register<CommandTag> cluster_registered{
    {"cluster", "write a cluster file from a known cluster and the numbers that differ", "", {}, define_cluster, {}}};

}  // namespace
}  // namespace strobe
