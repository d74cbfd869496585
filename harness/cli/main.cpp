// The `strobe` program.
#include <unistd.h>

#include <new>
#include <string_view>

#include "harness/cli/command.hpp"
#include "harness/process/signals.hpp"

namespace {

[[noreturn]] void end_without_memory() {
  constexpr std::string_view words = "strobe: the host's memory is exhausted\n";
  [[maybe_unused]] const ssize_t ignored = write(STDERR_FILENO, words.data(), words.size());
  _exit(1);
}

void guard_static_objects() { std::set_new_handler(end_without_memory); }

/// Registries fill before `main`, where nobody catches std::bad_alloc. The loader calls this before all initialisers.
[[gnu::section(".preinit_array"), gnu::used]] void (*const before_static_objects)() = guard_static_objects;

}  // namespace

int main(int count, char** words) {
  std::set_new_handler(nullptr);
  strobe::leave_nothing_unfinished();
  return strobe::run_command_line({words + 1, words + count});
}
