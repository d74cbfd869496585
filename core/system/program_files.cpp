#include "core/system/program_files.hpp"

#include <filesystem>

namespace strobe {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view source_root = STROBE_SOURCE_ROOT;

/// PREFIX/share/strobe for an installed program; empty for a program that lies where it was built.
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

}  // namespace

std::string program_folder(const std::string& folder) {
  const bool ours = folder.compare(0, source_root.size(), source_root) == 0;
  return installed_root().empty() || !ours ? folder : installed_root() + folder.substr(source_root.size());
}

}  // namespace strobe
