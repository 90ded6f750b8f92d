// The commands that speak of commands: completion bash|zsh|fish, man NAME, help [NAME].
#include "cli/completion.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "cli/help.h"

namespace cordwood::cli {
namespace {

void add_words(const Grammar& grammar, std::vector<std::string>& words) {
  for (const OptionSpec& option : grammar.options) words.push_back(fmt::format("--{}", option.name));
  for (const Grammar::Sub& sub : grammar.subcommands) {
    words.emplace_back(sub.name);
    if (sub.grammar != nullptr) add_words(*sub.grammar, words);
  }
}

std::vector<std::string_view> names_of(const CommandList& commands) {
  std::vector<std::string_view> names;
  for (const Command* command : commands.all()) names.push_back(command->name);
  return names;
}

constexpr std::string_view kShells[] = {"bash", "zsh", "fish"};

// What may follow the command's name: options, sub-commands, names; each once.
std::vector<std::string> words_of(const Command& command, const CommandList& commands) {
  std::vector<std::string> words;
  if (command.grammar != nullptr) add_words(*command.grammar, words);
  if (command.name == "completion") words.insert(words.end(), std::begin(kShells), std::end(kShells));
  if (command.name == "man" || command.name == "help") {
    for (std::string_view name : names_of(commands)) words.emplace_back(name);
  }
  std::ranges::sort(words);
  words.erase(std::unique(words.begin(), words.end()), words.end());
  return words;
}

// The programs whose words are completed: "cordwood kafka-topics kafka-topics.sh ...".
std::string programs_of(const CommandList& commands) {
  std::string programs = "cordwood";
  for (const Command* command : commands.all()) {
    if (!command->kafka_name.empty()) programs += fmt::format(" {0} {0}.sh", command->kafka_name);
  }
  return programs;
}

// The patterns of a shell's `case` by which a command is called.
std::string called_as(const Command& command) {
  std::string names(command.name);
  if (!command.kafka_name.empty()) names += fmt::format("|{0}|{0}.sh", command.kafka_name);
  return names;
}

// A text between single quotes of a shell.
std::string shell_quoted(std::string_view text) {
  std::string result = "'";
  for (char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

// The same for fish, where a backslash protects within quotes.
std::string fish_quoted(std::string_view text) {
  std::string result = "'";
  for (char c : text) {
    if (c == '\'' || c == '\\') result += '\\';
    result += c;
  }
  return result + "'";
}

// The options of the grammar and of its sub-commands, each name once.
void add_fish_options(const Grammar& grammar, std::string_view caller, std::set<std::string_view>& told, std::string& script) {
  for (const OptionSpec& option : grammar.options) {
    if (!told.insert(option.name).second) continue;
    script += fmt::format("{} -l {}", caller, option.name);
    if (option.letter != 0) script += fmt::format(" -s {}", option.letter);
    if (option.takes_value() && !option.value_is_optional) script += " -r";
    if (!option.choices.empty()) script += fmt::format(" -f -a '{}'", fmt::join(option.choices, " "));
    script += fmt::format(" -d {}\n", fish_quoted(option.help));
  }
  for (const Grammar::Sub& sub : grammar.subcommands) {
    if (sub.grammar != nullptr) add_fish_options(*sub.grammar, caller, told, script);
  }
}

std::string roff(std::string_view text) {
  std::string result;
  for (char c : text) {
    if (c == '\\') result += "\\e";
    else if (c == '-') result += "\\-";
    else if ((c == '.' || c == '\'') && (result.empty() || result.back() == '\n')) result += fmt::format("\\&{}", c);
    else result += c;
  }
  return result;
}

void add_roff_options(const Grammar& grammar, std::string& page) {
  for (const OptionSpec& option : grammar.options) {
    page += ".TP\n";
    std::string letter = option.letter == 0 ? "" : fmt::format("\\fB\\-{}\\fR, ", option.letter);
    std::string argument = option.takes_value() ? fmt::format(" \\fI{}\\fR", roff(option.argument)) : "";
    page += fmt::format("{}\\fB\\-\\-{}\\fR{}\n{}", letter, roff(option.name), argument, roff(option.help));
    if (!option.choices.empty()) page += roff(fmt::format(": {}", fmt::join(option.choices, ", ")));
    if (option.required) page += " (required)";
    if (!option.default_text.empty()) page += roff(fmt::format(" (default: {})", option.default_text));
    page += ".\n";
  }
}

Result<int> complete(const Options& options, Session& session) {
  const std::string& shell = options.words().front();
  if (shell == "bash") session.out.write(bash_completion(session.commands));
  else if (shell == "zsh") session.out.write(zsh_completion(session.commands));
  else if (shell == "fish") session.out.write(fish_completion(session.commands));
  else return Error{Errc::invalid, fmt::format("'{}' is no shell that is known: {}", shell, fmt::join(kShells, ", "))};
  return 0;
}

Result<const Command*> named_command(const std::string& name, Session& session) {
  if (const Command* command = session.commands.find(name)) return command;
  auto near = nearest_names(name, names_of(session.commands));
  std::string hint = near.empty() ? "" : fmt::format("; did you mean {}?", fmt::join(near, " or "));
  return Error{Errc::not_found, fmt::format("no command is called '{}'{}", name, hint)};
}

Result<int> print_man_page(const Options& options, Session& session) {
  const Command* command = TRY(named_command(options.words().front(), session));
  session.out.write(man_page(*command, session.version));
  return 0;
}

Result<int> print_help(const Options& options, Session& session) {
  if (!options.words().empty()) {
    const Command* command = TRY(named_command(options.words().front(), session));
    session.out.write(help_text(*command, session.out.columns()));
    return 0;
  }
  session.out.print(
      "Cordwood {}, a broker for Apache Kafka's clients and data directories.\n\nusage:\n  cordwood                          a broker on "
      "./cordwood-data, listening on 127.0.0.1:9092\n  cordwood broker [FILE] [OPTIONS]  a broker with the settings of a "
      "server.properties; --help tells more\n  cordwood COMMAND ...              one of these:\n\n",
      session.version);
  constexpr std::size_t kGap = 2;
  std::size_t width = 0;
  for (const Command* command : session.commands.all()) width = std::max(width, command->name.size());
  for (const Command* command : session.commands.all()) {
    session.out.print("  {:<{}}{}\n", command->name, width + kGap, command->summary);
  }
  session.out.write("\n'cordwood help COMMAND' tells more. A link named kafka-COMMAND or kafka-COMMAND.sh runs the same: install-links makes them.\n");
  return 0;
}

constexpr OptionSpec kHelpOption[] = {{.name = "help", .help = "this text", .letter = 'h'}};
constexpr Positional kShell[] = {{.name = "SHELL", .help = "bash, zsh or fish"}};
constexpr Positional kName[] = {{.name = "NAME", .help = "a command"}};
constexpr Positional kOptionalName[] = {{.name = "NAME", .help = "a command; all of them without it", .required = false}};
constexpr Grammar kCompletionGrammar{.habit = Habit::own, .options = kHelpOption, .positionals = kShell};
constexpr Grammar kManGrammar{.habit = Habit::own, .options = kHelpOption, .positionals = kName};
constexpr Grammar kHelpGrammar{.habit = Habit::own, .options = kHelpOption, .positionals = kOptionalName};

int run_completion(const Command& self, const Words& words, Session& session) { return run_own(self, words, session, complete); }
int run_man(const Command& self, const Words& words, Session& session) { return run_own(self, words, session, print_man_page); }
int run_help(const Command& self, const Words& words, Session& session) { return run_own(self, words, session, print_help); }

}  // namespace

std::string bash_completion(const CommandList& commands) {
  std::string script = "# Completion of Cordwood's commands for bash, under their own and Kafka's names.\n_cordwood() {\n";
  script += "  local command=\"${COMP_WORDS[0]##*/}\" word=\"${COMP_WORDS[COMP_CWORD]}\" words=\"\"\n";
  script += fmt::format("  if [ \"$command\" = cordwood ]; then\n    if [ \"$COMP_CWORD\" = 1 ]; then\n      COMPREPLY=($(compgen -W {} -- "
                        "\"$word\"))\n      return\n    fi\n    command=\"${{COMP_WORDS[1]}}\"\n  fi\n",
                        shell_quoted(fmt::format("broker {}", fmt::join(names_of(commands), " "))));
  script += "  case \"$command\" in\n";
  for (const Command* command : commands.all()) {
    script += fmt::format("    {}) words={} ;;\n", called_as(*command), shell_quoted(fmt::format("{}", fmt::join(words_of(*command, commands), " "))));
  }
  script += "  esac\n  COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n";
  return script + fmt::format("}}\ncomplete -o default -F _cordwood {}\n", programs_of(commands));
}

std::string zsh_completion(const CommandList& commands) {
  std::string script = fmt::format("#compdef {}\n# Completion of Cordwood's commands for zsh, under their own and Kafka's names.\n", programs_of(commands));
  script += "_cordwood() {\n  local command=\"${words[1]:t}\"\n  if [[ $command == cordwood ]]; then\n    if (( CURRENT == 2 )); then\n";
  script += "      local -a known=(";
  for (const Command* command : commands.all()) script += fmt::format("\n        {}", shell_quoted(fmt::format("{}:{}", command->name, command->summary)));
  script += ")\n      _describe command known\n      return\n    fi\n    command=\"${words[2]}\"\n  fi\n  case $command in\n";
  for (const Command* command : commands.all()) {
    std::vector<std::string> words = words_of(*command, commands);
    for (std::string& word : words) word = shell_quoted(word);
    script += fmt::format("    {}) compadd -- {} ;;\n", called_as(*command), fmt::join(words, " "));
  }
  return script + "  esac\n  _files\n}\n_cordwood \"$@\"\n";
}

std::string fish_completion(const CommandList& commands) {
  std::string script = "# Completion of Cordwood's commands for fish, under their own and Kafka's names.\n";
  script += "complete -c cordwood -n __fish_use_subcommand -f -a broker -d 'run a broker'\n";
  for (const Command* command : commands.all()) {
    script += fmt::format("complete -c cordwood -n __fish_use_subcommand -f -a {} -d {}\n", command->name, fish_quoted(command->summary));
    std::string after = fmt::format("complete -c cordwood -n '__fish_seen_subcommand_from {}'", command->name);
    std::vector<std::string> callers = {after};
    if (!command->kafka_name.empty()) {
      callers.push_back(fmt::format("complete -c {}", command->kafka_name));
      script += fmt::format("complete -c {0}.sh -w {0}\n", command->kafka_name);
    }
    for (const std::string& caller : callers) {
      std::vector<std::string> plain;
      for (std::string& word : words_of(*command, commands)) {
        if (!word.starts_with("--")) plain.push_back(std::move(word));
      }
      if (!plain.empty()) script += fmt::format("{} -f -a '{}'\n", caller, fmt::join(plain, " "));
      std::set<std::string_view> told;
      add_fish_options(*command->grammar, caller, told, script);
    }
  }
  return script;
}

std::string man_page(const Command& command, std::string_view version) {
  std::string page = fmt::format(".TH CORDWOOD\\-{} 1 \"\" \"Cordwood {}\"\n", roff(command.name), roff(version));
  page += fmt::format(".SH NAME\ncordwood {} \\- {}\n.SH SYNOPSIS\n\\fBcordwood {}\\fR", roff(command.name), roff(command.summary),
                      roff(command.name));
  const Grammar& grammar = *command.grammar;
  if (!grammar.subcommands.empty()) page += " \\fICOMMAND\\fR";
  if (!grammar.options.empty() || !grammar.subcommands.empty()) page += " [\\fIOPTIONS\\fR]";
  for (const Positional& positional : grammar.positionals) {
    std::string name = fmt::format("\\fI{}\\fR{}", roff(positional.name), positional.repeatable ? "..." : "");
    page += positional.required ? fmt::format(" {}", name) : fmt::format(" [{}]", name);
  }
  page += "\n";
  if (!command.kafka_name.empty()) page += fmt::format(".br\n\\fB{}\\fR ... (Apache Kafka's name)\n", roff(command.kafka_name));
  if (!command.details.empty()) page += fmt::format(".SH DESCRIPTION\n{}\n", roff(command.details));
  if (!grammar.positionals.empty()) page += ".SH ARGUMENTS\n";
  for (const Positional& positional : grammar.positionals) {
    page += fmt::format(".TP\n\\fI{}\\fR\n{}.\n", roff(positional.name), roff(positional.help));
  }
  if (!grammar.options.empty()) page += ".SH OPTIONS\n";
  add_roff_options(grammar, page);
  if (!grammar.subcommands.empty()) page += ".SH COMMANDS\n";
  for (const Grammar::Sub& sub : grammar.subcommands) {
    page += fmt::format(".SS {}\n{}.\n", roff(sub.name), roff(sub.summary));
    if (sub.grammar != nullptr) add_roff_options(*sub.grammar, page);
  }
  return page;
}

extern const Command completion_command{
    .name = "completion",
    .summary = "print a script with which a shell completes the commands",
    .details = "bash: source <(cordwood completion bash)\nzsh: cordwood completion zsh > a folder of $fpath/_cordwood\n"
               "fish: cordwood completion fish > ~/.config/fish/completions/cordwood.fish",
    .grammar = &kCompletionGrammar,
    .run = run_completion,
};

extern const Command man_command{
    .name = "man",
    .summary = "print the manual page of a command",
    .details = "cordwood man topics | man -l -",
    .grammar = &kManGrammar,
    .run = run_man,
};

extern const Command help_command{
    .name = "help",
    .summary = "tell what commands there are, or about one",
    .grammar = &kHelpGrammar,
    .run = run_help,
};

}  // namespace cordwood::cli
