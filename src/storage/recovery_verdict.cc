#include "storage/recovery_verdict.h"

#include <fmt/format.h>

namespace cordwood::storage {

const char* to_string(RecoveryFinding finding) {
  switch (finding) {
    case RecoveryFinding::torn_tail: return "torn tail";
    case RecoveryFinding::hole: return "hole";
    case RecoveryFinding::behind_hole: return "behind a hole";
    case RecoveryFinding::below_log_start: return "below the log start";
    case RecoveryFinding::offset_overflow: return "offset overflow";
    case RecoveryFinding::unreadable: return "unreadable";
    case RecoveryFinding::missing: return "missing";
    case RecoveryFinding::wrong_entries: return "wrong entries";
    case RecoveryFinding::odd_name: return "odd name";
  }
  return "?";
}

const char* to_string(RecoveryAction action) {
  switch (action) {
    case RecoveryAction::cut: return "cut";
    case RecoveryAction::kept: return "kept";
    case RecoveryAction::rebuilt: return "rebuilt";
    case RecoveryAction::split: return "split";
    case RecoveryAction::removed: return "removed";
    case RecoveryAction::passed_over: return "passed over";
  }
  return "?";
}

std::string describe(const RecoveryVerdict& verdict) {
  std::string text = fmt::format("{}: {}", verdict.file, to_string(verdict.finding));
  if (verdict.position) text += fmt::format(" at position {}", *verdict.position);
  if (!verdict.why.empty()) text += fmt::format(" ({})", verdict.why);
  text += fmt::format(": {}", to_string(verdict.action));
  if (verdict.bytes > ByteCount{0}) text += fmt::format(", {} bytes", verdict.bytes);
  if (verdict.offset) text += fmt::format(" from offset {} on", *verdict.offset);
  if (!verdict.kept_as.empty()) text += fmt::format(", kept as {}", verdict.kept_as);
  return text;
}

}  // namespace cordwood::storage
