#include "offline/commands.h"

namespace cordwood::offline {

extern const cli::Command backup_command;
extern const cli::Command compact_command;
extern const cli::Command diff_command;
extern const cli::Command du_command;
extern const cli::Command dump_log_command;
extern const cli::Command explain_command;
extern const cli::Command find_command;
extern const cli::Command import_command;
extern const cli::Command reindex_command;
extern const cli::Command repair_command;
extern const cli::Command restore_command;
extern const cli::Command retain_command;
extern const cli::Command roll_command;
extern const cli::Command stat_command;
extern const cli::Command storage_command;
extern const cli::Command verify_command;

std::span<const cli::Command* const> commands() {
  static constexpr const cli::Command* kAll[] = {
      &backup_command,
      &compact_command,
      &diff_command,
      &du_command,
      &dump_log_command,
      &explain_command,
      &find_command,
      &import_command,
      &reindex_command,
      &repair_command,
      &restore_command,
      &retain_command,
      &roll_command,
      &stat_command,
      &storage_command,
      &verify_command,
  };
  return kAll;
}

}  // namespace cordwood::offline
