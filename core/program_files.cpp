#include "core/program_files.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "core/errors.hpp"

namespace strobe {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view source_root = STROBE_SOURCE_ROOT;

/// PREFIX/share/strobe of a program that is installed; empty for one that lies where it was built.
const std::string& installed_root() {
  static const std::string root = [] {
    std::error_code failed;
    const fs::path program = fs::read_symlink("/proc/self/exe", failed);
    if (failed || program.parent_path().filename() != "bin") return std::string();
    const fs::path share = program.parent_path().parent_path() / "share" / "strobe";
    return fs::is_directory(share / "workloads", failed) ? share.string() : std::string();
  }();
  return root;
}

std::vector<std::string>& plugins() {
  static std::vector<std::string> paths;
  return paths;
}

}  // namespace

std::string program_folder(const std::string& folder) {
  const bool ours = folder.compare(0, source_root.size(), source_root) == 0;
  return installed_root().empty() || !ours ? folder : installed_root() + folder.substr(source_root.size());
}

void load_plugins() {
  const char* const named = std::getenv("STROBE_PLUGINS");
  if (named == nullptr || !plugins().empty()) return;
  std::istringstream list(named);
  for (std::string path; std::getline(list, path, ':');) {
    if (path.empty()) continue;
    // All its symbols must be there now: one that was built for another version has others, and says so here.
    if (dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr) {
      const char* const why = dlerror();
      throw InvalidRequest("$STROBE_PLUGINS",
                           fmt::format("the plug-in '{}' cannot be loaded: {}; build it against this program "
                                       "(find_package(strobe), docs/plugins.md)",
                                       path, why == nullptr ? "no reason given" : why));
    }
    plugins().push_back(path);
  }
}

const std::vector<std::string>& loaded_plugins() { return plugins(); }

}  // namespace strobe
