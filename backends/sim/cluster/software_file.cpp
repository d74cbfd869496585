// Reads software profiles: NAME or PATH, optionally followed by the terms to leave out. A profile is one JSON object:
// `calls` counts the framework's operations for one of Strobe's; `gpu` and `cpu` hold the costs on a device of that
// kind, `host` those on a processor. Quantities have the form of cluster files (cluster_keys.hpp); numbers that nobody
// knows are not filled in. Cost: one small file.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "backends/cluster.hpp"
#include "backends/sim/cluster/cluster_file.hpp"
#include "backends/sim/cluster/cluster_keys.hpp"
#include "backends/software.hpp"
#include "core/errors.hpp"
#include "core/json_reader.hpp"
#include "core/system/program_files.hpp"

namespace strobe {
namespace {

using sim::Form, sim::Key, sim::Need, sim::Numbers;

constexpr Key profile_keys[] = {{"$comment", Form::text, Need::never},
                                {"name", Form::text},
                                {"description", Form::text},
                                {"framework", Form::text},
                                {"calls", Form::object},
                                {"gpu", Form::object},
                                {"cpu", Form::object},
                                {"host", Form::object},
                                {"measured", Form::object, Need::never}};
constexpr Key calls_keys[] = {
    {"other", Form::positive}, {"by_operation", Form::object}, {"source", Form::text}, {"date", Form::text}};
constexpr Key device_keys[] = {{"issue_seconds", Form::not_negative, Need::always, true},
                               {"coo_seconds_per_entry", Form::not_negative, Need::never, true},
                               {"coo_bytes_per_entry", Form::not_negative, Need::never, true},
                               {"coo_backward_seconds_per_entry", Form::not_negative, Need::never, true},
                               {"coo_backward_bytes_per_entry", Form::not_negative, Need::never, true},
                               {"lstm_seconds_per_byte", Form::not_negative, Need::never, true},
                               {"lstm_bytes_per_byte", Form::not_negative, Need::never, true},
                               {"lstm_backward_seconds_per_byte", Form::not_negative, Need::never, true},
                               {"lstm_backward_bytes_per_byte", Form::not_negative, Need::never, true},
                               {"gru_seconds_per_byte", Form::not_negative, Need::never, true},
                               {"gru_bytes_per_byte", Form::not_negative, Need::never, true},
                               {"gru_backward_seconds_per_byte", Form::not_negative, Need::never, true},
                               {"gru_backward_bytes_per_byte", Form::not_negative, Need::never, true},
                               {"message_seconds", Form::not_negative, Need::always, true},
                               {"exchange_seconds", Form::not_negative, Need::never, true},
                               {"exchange_seconds_per_byte", Form::not_negative, Need::never, true},
                               {"sum_seconds", Form::not_negative, Need::never, true},
                               {"sum_seconds_per_byte", Form::not_negative, Need::never, true},
                               {"context_bytes", Form::bytes, Need::always, true},
                               {"saved_tensors_factor", Form::factor, Need::always, true}};
constexpr Key measured_keys[] = {
    {"value", Form::not_negative}, {"unit", Form::text}, {"source", Form::text}, {"date", Form::text}};
constexpr Key host_keys[] = {{"row_seconds", Form::not_negative, Need::always, true},
                             {"serialise_seconds_per_message", Form::not_negative, Need::always, true},
                             {"serialise_seconds_per_byte", Form::not_negative, Need::always, true}};

std::filesystem::path profile_directory() { return program_folder(STROBE_SOURCE_SOFTWARE_DIR); }

/// Name or path, and the text after its last colon.
std::pair<std::string, std::string> name_and_choice(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || text.find('=', colon) == std::string::npos) return {text, ""};
  return {text.substr(0, colon), text.substr(colon + 1)};
}

std::filesystem::path file_of_profile(const std::string& name) {
  if (name.find('/') != std::string::npos || name.ends_with(".json")) return name;
  const std::vector<std::string> names = software_names();
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    throw InvalidRequest("--software", unknown_name_message("software", name, names));
  }
  return profile_directory() / (name + ".json");
}

Json read_profile(const std::filesystem::path& path) {
  std::string text;
  try {
    text = read_regular_file(path.string());
  } catch (const Error& error) {
    throw InvalidRequest("--software", std::string("the profile: ") + error.what());
  }
  Json json = sim::parse_cluster_text(text, path.string());
  sim::check_keys(json, profile_keys, "");
  return json;
}

std::size_t term_index(const std::string& name) {
  const auto found = std::find(std::begin(software_term_names), std::end(software_term_names), name);
  if (found != std::end(software_term_names)) {
    return static_cast<std::size_t>(found - std::begin(software_term_names));
  }
  throw InvalidRequest("--software", unknown_name_message("term", name,
                                                          std::vector<std::string>(std::begin(software_term_names),
                                                                                   std::end(software_term_names))));
}

std::array<bool, software_term_count> terms_of(const std::string& choice) {
  std::array<bool, software_term_count> uses{};
  uses.fill(true);
  if (choice.empty()) return uses;
  const std::size_t equals = choice.find('=');
  const std::string key = choice.substr(0, equals);
  if (key != "without" && key != "only") {
    throw InvalidRequest(
        "--software",
        fmt::format("'{}' chooses no terms; write NAME:without=TERM+TERM or NAME:only=TERM+TERM", choice));
  }
  uses.fill(key == "without");
  for (std::size_t at = equals; at < choice.size();) {
    const std::size_t end = std::min(choice.find('+', at + 1), choice.size());
    uses[term_index(choice.substr(at + 1, end - at - 1))] = key == "only";
    at = end;
  }
  return uses;
}

/// Reads the numbers of one object, and notes keys of terms that count whose numbers nobody knows.
class Quantities {
 public:
  Quantities(const Json& json, sim::Keys keys, const std::string& pointer, Software& software)
      : numbers_(json, keys, pointer), software_(software), pointer_(pointer) {
    sim::check_keys(json, keys, pointer);
  }

  std::optional<double> at(const char* key, SoftwareTerm term) {
    std::optional<double> value = given(key);
    if (!value) note(key, term);
    return value;
  }
  ItemCost cost(const std::string& item, const char* per, SoftwareTerm term) {
    const ItemCost cost{given((item + "_seconds_per_" + per).c_str()), given((item + "_bytes_per_" + per).c_str())};
    if (!cost.known()) note(item + "_seconds_per_" + per, term);
    return cost;
  }

 private:
  std::optional<double> given(const char* key) const {
    if (!numbers_.has(key)) return std::nullopt;
    return numbers_.at(key);
  }
  void note(const std::string& key, SoftwareTerm term) {
    if (software_.use(term)) software_.missing.push_back(pointer_.substr(1) + "." + key);
  }

  Numbers numbers_;
  Software& software_;
  std::string pointer_;
};

void read_calls(const Json& json, Software& software) {
  sim::check_keys(json, calls_keys, "/calls");
  sim::check_provenance(json, "/calls");
  const auto count = [](const Json& value, const std::string& pointer) {
    if (value.is_number() && value.get<double>() > 0 && value.get<double>() <= 1000) return value.get<double>();
    throw InvalidRequest(pointer, "expected a number of framework operations above 0, found " + value.dump());
  };
  software.other_calls = count(json.at("other"), "/calls/other");
  const Json& named = json.at("by_operation");
  if (!named.is_object()) throw InvalidRequest("/calls/by_operation", "expected a JSON object, found " + named.dump());
  for (const auto& [name, value] : named.items()) {
    software.calls[name] = count(value, "/calls/by_operation/" + name);
  }
}

void read_device(const Json& json, const std::string& pointer, Software& software) {
  Quantities device(json, device_keys, pointer, software);
  software.issue_seconds = device.at("issue_seconds", SoftwareTerm::issue);
  software.coo = device.cost("coo", "entry", SoftwareTerm::coo);
  software.coo_backward = device.cost("coo_backward", "entry", SoftwareTerm::coo);
  for (const std::string kind : {"lstm", "gru"}) {
    for (const std::string pass : {"", "_backward"}) {
      software.recurrences[kind + "_sequence" + pass] = device.cost(kind + pass, "byte", SoftwareTerm::recurrences);
    }
  }
  software.message_seconds = device.at("message_seconds", SoftwareTerm::messages);
  software.exchange_seconds = device.at("exchange_seconds", SoftwareTerm::collectives);
  software.exchange_byte_seconds = device.at("exchange_seconds_per_byte", SoftwareTerm::collectives);
  software.sum_seconds = device.at("sum_seconds", SoftwareTerm::collectives);
  software.sum_byte_seconds = device.at("sum_seconds_per_byte", SoftwareTerm::collectives);
  software.context_bytes = static_cast<std::uint64_t>(device.at("context_bytes", SoftwareTerm::memory).value_or(0));
  software.saved_factor = device.at("saved_tensors_factor", SoftwareTerm::memory).value_or(1);
}

void read_host_of_profile(const Json& json, Software& software) {
  Quantities host(json, host_keys, "/host", software);
  software.row_seconds = host.at("row_seconds", SoftwareTerm::sampling);
  software.serialise_message_seconds = host.at("serialise_seconds_per_message", SoftwareTerm::serialisation);
  software.serialise_byte_seconds = host.at("serialise_seconds_per_byte", SoftwareTerm::serialisation);
}

/// Numbers that no term charges need a unit and a source all the same.
void check_measured(const Json& json) {
  for (const auto& [name, piece] : json.items()) {
    const std::string pointer = "/measured/" + name;
    sim::check_keys(piece, measured_keys, pointer);
    if (!piece.at("value").is_number())
      throw InvalidRequest(pointer + "/value", "expected a number, found " + piece.at("value").dump());
    sim::text_at(piece, "unit", pointer);
    sim::check_provenance(piece, pointer);
  }
}

}  // namespace

std::vector<std::string> software_names() {
  std::vector<std::string> names = {own_software};
  std::error_code ignored;  // a directory that cannot be read holds no profiles
  for (const auto& entry : std::filesystem::directory_iterator(profile_directory(), ignored)) {
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin() + 1, names.end());
  return names;
}

std::string software_description(const std::string& name) {
  if (name == own_software) return "Strobe's own program: one operation for all steps of a block; adds nothing";
  return read_profile(file_of_profile(name)).at("description").get<std::string>();
}

std::shared_ptr<const Software> load_software(const std::string& text, bool processor) {
  if (text == own_software) return nullptr;
  const auto [name, choice] = name_and_choice(text);
  if (name == own_software) {
    throw InvalidRequest("--software", "strobe has no software profile, so it has no terms to choose from");
  }
  const Json json = read_profile(file_of_profile(name));
  auto software = std::make_shared<Software>();
  software->uses = terms_of(choice);
  software->name = sim::text_at(json, "name", "");
  software->framework = sim::text_at(json, "framework", "");
  read_calls(json.at("calls"), *software);
  const char* const device = processor ? "cpu" : "gpu";
  read_device(json.at(device), std::string("/") + device, *software);
  read_host_of_profile(json.at("host"), *software);
  if (json.contains("measured")) check_measured(json.at("measured"));
  return software;
}

std::shared_ptr<const Cluster> load_cluster(const std::string& cluster, const std::string& software) {
  std::shared_ptr<const Cluster> described = load_cluster(cluster);
  if (software == own_software) return described;
  auto laid = std::make_shared<Cluster>(*described);
  laid->software = load_software(software, described->shared_host_memory);
  if (!laid->software->use(SoftwareTerm::memory)) return laid;
  // The framework's tensors are larger, so Strobe's tensors may use only a part of the memory left.
  GpuModel& gpu = laid->gpu;
  const std::uint64_t taken = gpu.reserved_bytes + laid->software->context_bytes;
  const std::uint64_t left = gpu.memory_bytes > taken ? gpu.memory_bytes - taken : 1;
  const auto usable = static_cast<std::uint64_t>(static_cast<double>(left) / laid->software->saved_factor);
  gpu.reserved_bytes = gpu.memory_bytes - std::max<std::uint64_t>(usable, 1);
  return laid;
}

std::string software_note(const Software& software) {
  std::vector<std::string> without;
  for (int i = 0; i < software_term_count; ++i) {
    if (!software.uses[i]) without.emplace_back(software_term_names[i]);
  }
  std::string note = fmt::format("program of {} ({})", software.name, software.framework);
  if (!without.empty()) note += fmt::format(", without {}", fmt::join(without, ", "));
  if (!software.missing.empty()) note += fmt::format("; not known: {}", fmt::join(software.missing, ", "));
  return note;
}

}  // namespace strobe
