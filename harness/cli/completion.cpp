// `strobe completion SHELL`: a script for bash, fish or zsh. While a user types, the script asks
// `strobe completion words WORD...` what can follow, so plug-ins and new options are completed too.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <memory>
#include <string>

#include "core/errors.hpp"
#include "core/registry_names.hpp"
#include "harness/cli/command.hpp"
#include "harness/process/narrate.hpp"

namespace strobe {
namespace {

// Answers of `strobe completion words`: a line for each word. A first line "<path>" says that paths may follow too. The
// word being typed comes last and may be empty. command.cpp answers before it reads options.

// Readline splits words at ':' and '='. So the script splits the line at blanks itself, and offers only the part
// after the last of these characters.
constexpr const char* bash_script =
    R"sh(# Completes strobe in bash: source this file, or keep it as strobe in bash-completion's folder.
_strobe() {
  local line="${COMP_LINE:0:COMP_POINT}" typed="" kept="" word
  local -a words found
  read -ra words <<< "$line"
  if [[ $line == *[[:space:]] ]]; then words+=(""); fi
  typed="${words[${#words[@]}-1]}"
  [[ $typed != *[:=]* ]] || kept="${typed%"${typed##*[:=]}"}"
  COMPREPLY=()
  mapfile -t found < <("${words[0]}" completion words "${words[@]:1}" 2>/dev/null)
  if [[ ${found[0]:-} == "<path>" ]]; then
    compopt -o default 2>/dev/null
    found=("${found[@]:1}")
    while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -f -- "${typed#"$kept"}")
  fi
  for word in "${found[@]}"; do
    COMPREPLY+=("${word#"$kept"}")
    [[ $word != *[:=.] ]] || compopt -o nospace 2>/dev/null
  done
}
complete -F _strobe strobe
)sh";

constexpr const char* zsh_script = R"sh(#compdef strobe
# Completes strobe in zsh: keep this file as _strobe in a folder of $fpath.
_strobe() {
  local -a found whole open
  found=("${(@f)$("${words[1]}" completion words "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ ${found[1]} == "<path>" ]]; then
    shift found
    _files
  fi
  whole=(${found:#*[:=.]})
  open=(${(M)found:#*[:=.]})
  (( $#whole )) && compadd -- $whole
  (( $#open )) && compadd -S '' -- $open
}
if [[ $zsh_eval_context == *loadautofunc ]]; then _strobe "$@"; else compdef _strobe strobe; fi
)sh";

constexpr const char* fish_script =
    R"sh(# Completes strobe in fish: keep this file as strobe.fish in ~/.config/fish/completions.
function __strobe_words
  set -l words (commandline -opc) (commandline -ct)
  set -l found ($words[1] completion words $words[2..-1] 2>/dev/null)
  if test "$found[1]" = "<path>"
    set -e found[1]
    __fish_complete_path (commandline -ct)
  end
  test (count $found) -eq 0; or printf '%s\n' $found
end
complete -c strobe -f -a '(__strobe_words)'
)sh";

const std::map<std::string, const char*> script_of_shell{
    {"bash", bash_script}, {"fish", fish_script}, {"zsh", zsh_script}};

CommandAction define_completion(CommandOptions& options) {
  const auto shell = std::make_shared<std::string>();
  options.positional("shell", *shell, "bash, fish or zsh");
  options.example(
      "Examples: strobe completion bash > ~/.local/share/bash-completion/completions/strobe\n"
      "          strobe completion zsh > ~/.zfunc/_strobe\n"
      "          strobe completion fish > ~/.config/fish/completions/strobe.fish");
  return [shell] {
    const auto script = script_of_shell.find(*shell);
    if (script == script_of_shell.end())
      throw InvalidRequest("", fmt::format("there is no completion for '{}'; choose bash, fish or zsh", *shell));
    print_data(script->second);
    return 0;
  };
}

const Register<CommandTag> completion_registered{
    {"completion",
     "print what a shell completes: commands, options and the names they take",
     "",
     {},
     define_completion,
     {}}};

}  // namespace
}  // namespace strobe
