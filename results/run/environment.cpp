// Everything is read from /proc, /sys, the compiler's macros and `git`; nothing outside the allow-listed environment
// variables is taken from the environment, because it may hold secrets.
#include "results/run/environment.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <openssl/crypto.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <zlib.h>

#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>
#include <vector>

#include "core/hash.hpp"
#include "core/or_null.hpp"
#include "core/shown_text.hpp"
#include "core/system/machine_limits.hpp"
#include "core/system/plugins.hpp"

extern char** environ;

namespace strobe {
namespace {

namespace fs = std::filesystem;

/// A file's text, or "" when it cannot be read.
std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

/// The value of the first "KEY : VALUE" line of a /proc file, or "".
std::string proc_value(const std::string& path, const std::string& key) {
  std::istringstream lines(text_of(path));
  for (std::string line; std::getline(lines, line);) {
    const std::size_t colon = line.find(':');
    if (colon != std::string::npos && trimmed(line.substr(0, colon)) == key) return trimmed(line.substr(colon + 1));
  }
  return "";
}

Json arguments() {
  Json result = Json::array();
  std::istringstream words(text_of("/proc/self/cmdline"));
  for (std::string word; std::getline(words, word, '\0');) result.push_back(word);
  return result;
}

/// Today's date and time.
std::string utc_date() {
  const std::time_t now = std::time(nullptr);  // calendar: a label of the run, never part of a measurement
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

std::string cpu_model() {
  const std::string model = proc_value("/proc/cpuinfo", "model name");
  return model.empty() ? "unknown CPU" : model;
}

Json cpu() {
  const double quota = container_limits().cores;
  Json result{{"model", cpu_model()}, {"cores", ::sysconf(_SC_NPROCESSORS_ONLN)}};
  result["cores_allowed"] = count_cores(allowed_cores());
  result["cores_of_container"] = quota > 0 ? Json(quota) : Json(nullptr);
  result["cores_usable"] = usable_cores();
  result["flags"] = or_null(proc_value("/proc/cpuinfo", "flags"));
  result["governor"] = or_null(trimmed(text_of("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")));
  return result;
}

Json bytes_or_null(std::uint64_t bytes) { return bytes == 0 ? Json(nullptr) : Json(bytes); }

std::vector<std::string> gpu_models() {
  std::vector<std::string> models;
  std::error_code error;
  for (fs::directory_iterator it("/proc/driver/nvidia/gpus", error), end; !error && it != end; it.increment(error)) {
    models.push_back(proc_value((it->path() / "information").string(), "Model"));
  }
  return models;
}

/// The driver's version from the first line of its /proc file ("NVRM version: ... Kernel Module  550.54.15 ...").
std::string gpu_driver() {
  std::istringstream words(text_of("/proc/driver/nvidia/version"));
  for (std::string word; words >> word;) {
    if (word.find('.') != std::string::npos && word.find_first_not_of("0123456789.") == std::string::npos) return word;
  }
  return "";
}

/// The MPI library's own words when one is linked into this program; may be asked before MPI is initialised.
Json mpi_version() {
  using Query = int (*)(char*, int*);
  const auto query = reinterpret_cast<Query>(::dlsym(RTLD_DEFAULT, "MPI_Get_library_version"));
  if (query == nullptr) return nullptr;
  std::vector<char> text(16384);
  int length = 0;
  return query(text.data(), &length) == 0 ? or_null(trimmed(text.data())) : Json(nullptr);
}

Json versions() {
  return {{"fmt", fmt::format("{}.{}.{}", FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100)},
          {"nlohmann_json", fmt::format("{}.{}.{}", NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR,
                                        NLOHMANN_JSON_VERSION_PATCH)},
          {"zlib", zlibVersion()},
          {"openssl", OpenSSL_version(OPENSSL_VERSION)},
          {"mpi", mpi_version()}};
}

#ifdef STROBE_SOURCE_TREE
constexpr const char* source_tree = STROBE_SOURCE_TREE;
#else
constexpr const char* source_tree = "";
#endif
#ifdef STROBE_STATED_REVISION
constexpr const char* stated_revision = STROBE_STATED_REVISION;
#else
constexpr const char* stated_revision = "";
#endif

Json build() {
  Json result{{"compiler", __VERSION__}, {"standard", __cplusplus}};
#ifdef STROBE_COMPILE_FLAGS
  result["flags"] = STROBE_COMPILE_FLAGS;
#else
  result["flags"] = nullptr;
#endif
#ifdef STROBE_VERSION
  result["strobe"] = STROBE_VERSION;
#else
  result["strobe"] = nullptr;
#endif
  return result;
}

/// Runs `git` in the tree with these words and keeps its output; returns whether it succeeded.
bool git(const std::string& tree, const std::string& words, std::string& output) {
  std::string quoted_tree;
  for (const char c : tree) quoted_tree += c == '\'' ? std::string("'\\''") : std::string(1, c);
  // Without optional locks: git would store its findings in the index, and a run that is killed then would leave a lock
  // there.
  FILE* pipe = ::popen(fmt::format("git --no-optional-locks -C '{}' {} 2>/dev/null", quoted_tree, words).c_str(), "r");
  if (pipe == nullptr) return false;
  char buffer[4096];
  output.clear();
  for (std::size_t n; (n = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) output.append(buffer, n);
  return ::pclose(pipe) == 0;
}

Json allowed_variables() {
  constexpr std::string_view prefixes[] = {"NCCL_", "CUDA_", "OMPI_", "PRTE_", "UCX_", "SLURM_", "OMP_", "STROBE_"};
  std::map<std::string, std::string> sorted;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const std::size_t equals = text.find('=');
    for (const std::string_view prefix : prefixes) {
      if (equals != std::string_view::npos && text.substr(0, prefix.size()) == prefix) {
        sorted[std::string(text.substr(0, equals))] = text.substr(equals + 1);
      }
    }
  }
  Json result = Json::object();
  for (const auto& [name, value] : sorted) result[shown_line(name)] = value;
  return result;
}

}  // namespace

Json source_revision(const std::string& tree, const std::string& stated) {
  Json result{{"git_sha", nullptr}, {"dirty", nullptr}, {"changes_sha256", nullptr}};
  if (!fs::exists(tree + "/.git")) {
    if (stated.empty()) return result;
    result["git_sha"] = stated.substr(0, stated.find('-'));
    result["dirty"] = stated.ends_with("-dirty");
    result["stated_by"] = "bundle";
    return result;
  }
  std::string output;
  if (!git(tree, "rev-parse HEAD", output)) return result;
  result["git_sha"] = trimmed(output);
  if (git(tree, "status --porcelain", output)) result["dirty"] = !output.empty();
  if (result["dirty"] == true && git(tree, "diff HEAD", output)) result["changes_sha256"] = sha256_hex(output);
  return result;
}

Json host_class() {
  std::string text = fmt::format("{} x {} cores", cpu_model(), ::sysconf(_SC_NPROCESSORS_ONLN));
  const std::vector<std::string> gpus = gpu_models();
  if (!gpus.empty()) {
    const std::string driver = gpu_driver();
    text += fmt::format("; {} x {} (driver {})", gpus.front(), gpus.size(), driver.substr(0, driver.find('.')));
  }
  return {{"text", text}, {"fingerprint", sha256_hex(text).substr(0, 12)}};
}

std::string version_text() {
  const Json known = build()["strobe"], source = source_revision(source_tree, stated_revision);
  std::string text = "strobe " + (known.is_string() ? known.get<std::string>() : "of an unknown version");
  if (!source["git_sha"].is_string()) return text;
  const bool dirty = source["dirty"].is_boolean() && source["dirty"].get<bool>();
  return text + fmt::format(" ({}{})", source["git_sha"].get<std::string>(), dirty ? "-dirty" : "");
}

std::string release() {
#ifdef STROBE_VERSION
  return STROBE_VERSION;
#else
  return "";
#endif
}

namespace {

/// JSON is UTF-8, and the system's text need not be: other bytes are shown as \xNN.
Json as_utf8(const Json& value) {
  if (value.is_string() && !is_utf8(value.get_ref<const std::string&>())) return shown_line(value.get<std::string>());
  if (!value.is_structured()) return value;
  Json result = value;
  for (Json& item : result) item = as_utf8(item);
  return result;
}

}  // namespace

Json environment() {
  Json result = Json::object();
  result["arguments"] = arguments();
  result["date_utc"] = utc_date();
  utsname names{};
  const bool named = ::uname(&names) == 0;
  result["host"] = named ? Json(names.nodename) : Json(nullptr);
  result["kernel"] = named ? Json(fmt::format("{} {} {}", names.sysname, names.release, names.machine)) : Json(nullptr);
  result["host_class"] = host_class();
  result["cpu"] = cpu();
  result["memory_bytes"] = bytes_or_null(machine_memory_bytes());
  result["memory_bytes_of_container"] = bytes_or_null(container_limits().memory_bytes);
  result["memory_bytes_usable"] = bytes_or_null(static_cast<std::uint64_t>(usable_memory_bytes()));
  result["gpus"] = gpu_models();
  result["gpu_driver"] = or_null(gpu_driver());
  result["load"] = or_null(trimmed(text_of("/proc/loadavg")));
  result["address_randomisation"] = or_null(trimmed(text_of("/proc/sys/kernel/randomize_va_space")));
  result["build"] = build();
  result["versions"] = versions();
  result["source"] = source_revision(source_tree, stated_revision);
  result["variables"] = allowed_variables();
  result["plugins"] = Json::array();
  for (const std::string& path : loaded_plugins())
    result["plugins"].push_back({{"path", path}, {"sha256", sha256_file(path)}});
  return as_utf8(result);
}

}  // namespace strobe
