// Everything is read from /proc and /sys. The work of this process is subtracted from that of all programs, so that a
// measurement that uses all cores does not report itself as a disturbance.
#include "results/row/machine_reading.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

namespace strobe {
namespace {

constexpr double unknown = MachineReading::unknown;

/// Changes that a program's time can show: of load and cores in cores, of stolen time in its share, of frequency as a
/// ratio.
constexpr double other_cores_that_count = 0.25;
constexpr double load_that_counts = 1;
constexpr double stolen_share_that_counts = 0.01;
constexpr double frequency_ratio_that_counts = 1.05;

std::string proc_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

double ticks_per_second() { return static_cast<double>(::sysconf(_SC_CLK_TCK)); }

/// First line "cpu  user nice system idle iowait irq softirq steal ...", then one line a core. Guests are in `user`.
void read_times(const std::string& text, MachineReading& reading) {
  std::istringstream lines(text);
  double cores = 0;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name;
    words >> name;
    if (name.size() > 3 && name.starts_with("cpu")) ++cores;
    if (name != "cpu") continue;
    double ticks[8] = {};
    double all = 0;
    for (double& value : ticks) all += words >> value ? value : 0;
    if (all <= 0) continue;
    constexpr int idle = 3, waiting = 4, stolen = 7;
    reading.all_seconds = all / ticks_per_second();
    reading.busy_seconds = (all - ticks[idle] - ticks[waiting] - ticks[stolen]) / ticks_per_second();
    reading.stolen_seconds = ticks[stolen] / ticks_per_second();
  }
  if (cores > 0) reading.cores = cores;
}

/// utime, stime, cutime and cstime are the 12th to 15th word after the name, which may contain blanks and parentheses.
double own_seconds(const std::string& text) {
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return unknown;
  std::istringstream words(text.substr(name_end + 1));
  std::string skipped;
  for (int i = 0; i < 11; ++i) words >> skipped;
  double sum = 0;
  for (int i = 0; i < 4; ++i) {
    double ticks = 0;
    if (!(words >> ticks)) return unknown;
    sum += ticks;
  }
  return sum / ticks_per_second();
}

double mean_megahertz(const std::string& root, double cores) {
  double sum = 0, n = 0;
  for (int core = 0; core < cores; ++core) {
    std::istringstream kilohertz(
        proc_text(fmt::format("{}/sys/devices/system/cpu/cpu{}/cpufreq/scaling_cur_freq", root, core)));
    double value = 0;
    if (kilohertz >> value) sum += value / 1000, ++n;
  }
  if (n > 0) return sum / n;
  std::istringstream lines(proc_text(root + "/proc/cpuinfo"));
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("cpu MHz")) continue;
    std::istringstream value(line.substr(std::min(line.find(':') + 1, line.size())));
    double megahertz = 0;
    if (value >> megahertz) sum += megahertz, ++n;
  }
  return n > 0 ? sum / n : unknown;
}

Extent at(double value) { return {value, value}; }

double seconds_between(const MachineReading& before, const MachineReading& after) {
  return (after.all_seconds - before.all_seconds) / after.cores;
}

/// Shares of the time between two readings.
MachineState rates_between(const MachineReading& before, const MachineReading& after) {
  const double seconds = seconds_between(before, after);
  const double others = after.busy_seconds - before.busy_seconds - (after.own_seconds - before.own_seconds);
  MachineState rates;
  rates.other_cores = at(std::max(0.0, others / seconds));
  if (!std::isfinite(others)) rates.other_cores = {};
  rates.stolen_share = at((after.stolen_seconds - before.stolen_seconds) / (after.all_seconds - before.all_seconds));
  return rates;
}

/// Two digits are what such readings are worth, and rows whose words are equal share a line below their table.
std::string reading_text(double value) {
  if (value >= 0 && value < 5e-4) return "0";
  return value < 99.5 ? fmt::format("{:.2g}", value) : fmt::format("{:.0f}", value);
}

std::string range_text(const Extent& extent, double unit, const char* name) {
  const std::string low = reading_text(extent.low * unit), high = reading_text(extent.high * unit);
  return (low == high ? low : low + " to " + high) + name;
}

double width(const Extent& extent) { return extent.high - extent.low; }

bool apart(const Extent& a, const Extent& b, double by) { return a.low > b.high + by || b.low > a.high + by; }

Json extent_to_json(const Extent& extent) {
  return std::isfinite(extent.low) ? Json::array({extent.low, extent.high}) : Json(nullptr);
}

Extent extent_from_json(const Json& json) {
  if (!json.is_array() || json.size() != 2) return {};
  return {json[0].get<double>(), json[1].get<double>()};
}

}  // namespace

MachineReading read_machine(const std::string& root) {
  MachineReading reading;
  read_times(proc_text(root + "/proc/stat"), reading);
  std::istringstream load(proc_text(root + "/proc/loadavg"));
  if (double value = 0; load >> value) reading.load = value;
  reading.own_seconds = own_seconds(proc_text(root + "/proc/self/stat"));
  reading.megahertz = mean_megahertz(root, std::isfinite(reading.cores) ? reading.cores : 0);
  return reading;
}

void Extent::add(double value) {
  if (!std::isfinite(value)) return;
  low = std::isfinite(low) ? std::min(low, value) : value;
  high = std::isfinite(high) ? std::max(high, value) : value;
}

void Extent::add(const Extent& other) {
  add(other.low);
  add(other.high);
}

void MachineState::add(const MachineState& other) {
  load.add(other.load);
  other_cores.add(other.other_cores);
  stolen_share.add(other.stolen_share);
  megahertz.add(other.megahertz);
}

MachineState state_between(const MachineReading& before, const MachineReading& after) {
  MachineState state;
  if (seconds_between(before, after) >= shortest_stretch_seconds) state = rates_between(before, after);
  state.load = at(after.load);
  state.megahertz = at(after.megahertz);
  return state;
}

MachineWatch::MachineWatch(std::string root) : root_(std::move(root)), last_(read_machine(root_)) {}

MachineState MachineWatch::look() {
  const MachineReading now = read_machine(root_);
  if (seconds_between(last_, now) >= shortest_stretch_seconds) {
    rates_ = rates_between(last_, now);
    last_ = now;
  }
  MachineState state = rates_;
  state.load = at(now.load);
  state.megahertz = at(now.megahertz);
  return state;
}

std::vector<std::string> machine_notes(const MachineState& state, const std::string& where) {
  std::vector<std::string> notes;
  if (width(state.other_cores) > other_cores_that_count)
    notes.push_back(fmt::format("the machine changed between {}: other programs kept {} cores busy", where,
                                range_text(state.other_cores, 1, "")));
  else if (state.other_cores.high > other_cores_that_count)
    notes.push_back(fmt::format("other programs kept {} cores busy", range_text(state.other_cores, 1, "")));
  if (width(state.load) > load_that_counts)
    notes.push_back(fmt::format("the machine changed between {}: load {}", where, range_text(state.load, 1, "")));
  if (state.stolen_share.high > stolen_share_that_counts)
    notes.push_back(
        fmt::format("a hypervisor took {} of the machine's time (steal)", range_text(state.stolen_share, 100, " %")));
  if (state.megahertz.high > state.megahertz.low * frequency_ratio_that_counts)
    notes.push_back(fmt::format("the machine changed between {}: its clock ran at {} MHz", where,
                                range_text(state.megahertz, 1, "")));
  return notes;
}

std::string machine_difference(const MachineState& base, const MachineState& changed) {
  std::string text;
  const auto tell = [&](const std::string& what, const Extent& before, const Extent& now, double unit,
                        const char* name) {
    text += fmt::format("{}{} {} in base and {} in new", text.empty() ? "" : "; ", what, range_text(before, unit, name),
                        range_text(now, unit, name));
  };
  if (apart(base.other_cores, changed.other_cores, other_cores_that_count))
    tell("cores that other programs kept busy:", base.other_cores, changed.other_cores, 1, "");
  else if (apart(base.load, changed.load, load_that_counts))
    tell("load", base.load, changed.load, 1, "");
  if (apart(base.stolen_share, changed.stolen_share, stolen_share_that_counts))
    tell("steal", base.stolen_share, changed.stolen_share, 100, " %");
  const bool slower_clock = base.megahertz.low > changed.megahertz.high * frequency_ratio_that_counts,
             faster_clock = changed.megahertz.low > base.megahertz.high * frequency_ratio_that_counts;
  if (slower_clock || faster_clock) tell("clock", base.megahertz, changed.megahertz, 1, " MHz");
  return text;
}

Json machine_to_json(const MachineState& state) {
  return {{"load", extent_to_json(state.load)},
          {"other_cores", extent_to_json(state.other_cores)},
          {"stolen_share", extent_to_json(state.stolen_share)},
          {"megahertz", extent_to_json(state.megahertz)}};
}

MachineState machine_from_json(const Json& json) {
  return {extent_from_json(json.value("load", Json())), extent_from_json(json.value("other_cores", Json())),
          extent_from_json(json.value("stolen_share", Json())), extent_from_json(json.value("megahertz", Json()))};
}

}  // namespace strobe
