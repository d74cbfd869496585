#include "core/system/late_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <mutex>

#include "core/errors.hpp"

namespace strobe {
namespace {

std::string words_of_loader() {
  const char* const words = dlerror();
  return words == nullptr ? "no reason given" : words;
}

}  // namespace

void* LateLibrary::symbol(const char* name) {
  static std::mutex one_at_a_time;  // for all libraries, because dlerror reports on the last call
  const std::lock_guard lock(one_at_a_time);
  std::string why;
  for (std::size_t i = 0; handle_ == nullptr && i < files_.size(); ++i) {
    const std::string& file = files_[i];
    const bool in_working_folder = file.empty() || (file.front() != '/' && file.find('/') != std::string::npos);
    if (!in_working_folder) handle_ = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ != nullptr) break;
    why += (why.empty() ? "" : "; ") +
           (in_working_folder ? file + ": is relative to the working folder" : words_of_loader());
  }
  if (handle_ == nullptr) throw Unavailable(fmt::format("{} cannot be loaded: {}", what_, why));
  dlerror();
  void* const found = dlsym(handle_, name);
  if (found == nullptr) throw Unavailable(fmt::format("{} has no {}: {}", what_, name, words_of_loader()));
  return found;
}

}  // namespace strobe
