// cli/help.h — what --help prints of a command of our own, and how it says that its words make no sense.
#pragma once

#include <string>

#include "cli/command.h"

namespace cordwood::cli {

// Name, summary, usage, options, sub-commands, details.
std::string help_text(const Command& command, std::size_t columns);

// "cordwood find: unknown option '--tpoic'; did you mean --topic?" and where the help is, on session.err.
void complain(const Command& command, const ParseMistake& mistake, Session& session);

// "cordwood find: MESSAGE" on session.err.
void complain(const Command& command, const Error& error, Session& session);

// Runs a command of our own: reads its words, prints the help that is asked for, tells mistakes and errors; else calls
// `body`, which answers the exit code. `failure` is the exit code for words and things that are wrong.
int run_own(const Command& command, const Words& words, Session& session, Result<int> (*body)(const Options&, Session&),
            int failure = 1);

}  // namespace cordwood::cli
