// An entry of the board: a run directory, and who sends it under which rules. docs/contributing/board.md has the rules.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/fields.hpp"
#include "results/run/loaded_run.hpp"

namespace strobe {

/// Every configuration of an entry is trained under these seeds and no others, so that nobody can choose lucky ones.
inline constexpr std::int64_t entry_seeds = 5;  // 1 to 5

/// The statements of the sender.
struct Sender {
  std::string who, licence;
  std::string division = "closed";  // closed | open
  bool predicted = false;           // its times are of a simulation
};

/// A run directory with what an entry needs of it.
struct EnteredRun {
  LoadedRun run;
  Json environment;  // env.json
};

/// Reads a run directory. Throws InvalidRequest when `strobe verify` would not accept it, and like load_run.
EnteredRun entered_run(const std::string& folder);

/// Why the run cannot be an entry of its division, one sentence each, with the command that helps where there is one.
/// Empty when it can.
std::vector<std::string> faults_of_entry(const EnteredRun& entered, const Sender& sender);

/// The files of a run that an entry holds, in the order of the archive. `rounds.jsonl` is there only if the run has it.
std::vector<std::string> files_of_entry(const std::string& folder);

/// entry.json: the sender, the date and revision of the run, its machine, and the SHA-256 of each file. It ends with
/// its own digest.
Json entry_json(const EnteredRun& entered, const Sender& sender);

/// The sender of an unpacked entry. Throws InvalidInput when entry.json was changed, and when the folder lacks a file,
/// has one more, or one with another digest.
Sender sender_of_entry(const std::string& folder);

/// The machine that rows of this time source are of: the class of the host, or the name of the simulated cluster.
std::string machine_of(const EnteredRun& entered, const Row& row);

}  // namespace strobe
