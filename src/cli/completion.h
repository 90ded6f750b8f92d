// cli/completion.h — what shells and man(1) are told of the commands, made from their declarations.
#pragma once

#include <string>

#include "cli/command.h"

namespace cordwood::cli {

// A script for bash (source it, or put it into bash-completion's folder), one for zsh (a file _cordwood in its fpath), one for fish
// (a file in its completions folder): names of commands, of sub-commands and options behind them, of files behind options that take
// one. All know Kafka's names.
std::string bash_completion(const CommandList& commands);
std::string zsh_completion(const CommandList& commands);
std::string fish_completion(const CommandList& commands);

// A manual page in roff's man macros.
std::string man_page(const Command& command, std::string_view version);

}  // namespace cordwood::cli
