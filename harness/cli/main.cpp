// The `strobe` program.
#include "harness/cli/command.hpp"

int main(int count, char** words) { return strobe::run_command_line({words + 1, words + count}); }
