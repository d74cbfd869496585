// The `strobe` program.
#include "harness/cli/command.hpp"
#include "harness/process/signals.hpp"

int main(int count, char** words) {
  strobe::leave_nothing_unfinished();
  return strobe::run_command_line({words + 1, words + count});
}
