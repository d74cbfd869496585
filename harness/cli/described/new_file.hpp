// Writes the JSON files of `strobe cluster new` and `strobe shape new`, which `strobe plan` reads.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "core/fields.hpp"
#include "harness/cli/command.hpp"

namespace strobe {

struct NewFile {
  Json json;
  std::string summary;  // what the file holds
  std::string next;     // the command to type next; {} in it stands for the file's path
};

/// Declares the action of the command, which must be "new".
void take_new_action(CommandOptions& options, std::string& action);
/// Writes what `make` returns to the file `out`, or to standard output where `out` is empty. Prints the summary and the
/// next command, and returns the exit status. Throws InvalidRequest for another action and for an `out` that cannot be
/// written.
int write_new_file(const std::string& action, const std::string& out, const std::function<NewFile()>& make);

}  // namespace strobe
