// Other activity of the machine during a measurement: load, other programs' work, time that a hypervisor took, clock
// frequency. It changes the times of a program that has not changed.
#pragma once

#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/fields.hpp"

namespace strobe {

/// Counters and gauges of the machine at one moment; NaN where the machine reports none.
struct MachineReading {
  static constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
  double cores = unknown;
  double load = unknown;            // programs that ran or waited to run, averaged over a minute
  double all_seconds = unknown;     // of all cores since the machine began
  double busy_seconds = unknown;    // part of all_seconds in which some program ran
  double stolen_seconds = unknown;  // part of all_seconds that a hypervisor gave to others
  double own_seconds = unknown;     // part of all_seconds of this process and its ended children
  double megahertz = unknown;       // mean over cores
};

/// Reads /proc/loadavg, /proc/stat, /proc/self/stat, and cpufreq or /proc/cpuinfo, all below `root`.
MachineReading read_machine(const std::string& root = "");

/// Least and largest value of a quantity; NaN where it is not known.
struct Extent {
  double low = MachineReading::unknown;
  double high = low;
  void add(double value);
  void add(const Extent& other);
};

/// How a quantity went while something was measured.
struct MachineState {
  Extent load;
  Extent other_cores;   // cores that other programs kept busy
  Extent stolen_share;  // of the time of all cores, that a hypervisor took
  Extent megahertz;
  void add(const MachineState& other);
};

/// The state between two readings; shares of time are not known where they are less than `shortest_stretch` apart,
/// since the system counts hundredths of a second.
inline constexpr double shortest_stretch_seconds = 0.2;
MachineState state_between(const MachineReading& before, const MachineReading& after);

/// Looks at the machine again and again. A stretch that is too short for shares of time counts to the next one.
class MachineWatch {
 public:
  explicit MachineWatch(std::string root = "");
  /// The state since the last look, or somewhat longer.
  MachineState look();

 private:
  std::string root_;
  MachineReading last_;
  MachineState rates_;
};

/// Changes within `state` that are large enough to change the times of one program, one sentence each; `where` is
/// "samples" or "rounds".
std::vector<std::string> machine_notes(const MachineState& state, const std::string& where);

/// The differences between the machine while `changed` was measured and while `base` was; "" when there were none.
std::string machine_difference(const MachineState& base, const MachineState& changed);

/// {"load": [low, high], "other_cores": ..., "stolen_share": ..., "megahertz": ...}, null where nothing is known.
Json machine_to_json(const MachineState& state);
MachineState machine_from_json(const Json& json);

}  // namespace strobe
