#include "inspector/engine_values.h"

#include <utility>

namespace cordwood::inspector {
namespace {

api::LookupStepKind kind_of_step(storage::LookupStepKind kind) {
  switch (kind) {
    case storage::LookupStepKind::bounds: return api::LookupStepKind::bounds;
    case storage::LookupStepKind::segment: return api::LookupStepKind::segment;
    case storage::LookupStepKind::time_probe: return api::LookupStepKind::time_probe;
    case storage::LookupStepKind::offset_probe: return api::LookupStepKind::offset_probe;
    case storage::LookupStepKind::start: return api::LookupStepKind::start;
    case storage::LookupStepKind::scan: return api::LookupStepKind::scan;
    case storage::LookupStepKind::records: return api::LookupStepKind::records;
    case storage::LookupStepKind::answer: return api::LookupStepKind::answer;
  }
  return api::LookupStepKind::answer;
}

api::LookupStep shown_step(const storage::LookupStep& step) {
  api::LookupStep shown;
  shown.kind = kind_of_step(step.kind);
  if (step.segment) shown.segment = step.segment->value;
  if (!step.file.empty()) shown.file = step.file;
  shown.entry = step.entry;
  if (step.offset) shown.offset = step.offset->value;
  if (step.timestamp) shown.timestamp_ms = step.timestamp->value;
  if (step.from) shown.from_position = step.from->value;
  if (step.to) shown.to_position = step.to->value;
  if (step.kind == storage::LookupStepKind::scan) shown.batches = step.batches;
  shown.bytes = step.bytes.value;
  shown.says = storage::describe(step);
  return shown;
}

}  // namespace

void tell_steps(const std::vector<storage::LookupStep>& steps, api::Lookup& into) {
  for (const storage::LookupStep& step : steps) {
    into.steps.push_back(shown_step(step));
    into.bytes_read += step.bytes.value;
    into.reads += step.reads;
    if (step.segment) into.segment = step.segment->value;
  }
  const storage::LookupStep* last = steps.empty() ? nullptr : &steps.back();
  if (last == nullptr || last->kind != storage::LookupStepKind::answer || !last->hit) return;
  into.found = true;
  if (last->offset) into.found_offset = last->offset->value;
  if (last->timestamp) into.found_timestamp_ms = last->timestamp->value;
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    if (step->kind != storage::LookupStepKind::scan || !step->hit || !step->offset) continue;
    into.batch_base = step->offset->value;
    // The scan ends behind the batch; where that begins its own step says.
    if (step->to) {
      into.position = step->last_position.value;
      into.batch_last = step->last_offset.value;
    }
    break;
  }
}

api::SegmentVerdict shown_verdict(const storage::RetentionVerdict& verdict, std::string says) {
  api::SegmentVerdict shown;
  shown.base = verdict.segment.base_offset.value;
  shown.next = verdict.segment.next_offset.value;
  shown.size_bytes = verdict.segment.size.value;
  shown.active = verdict.segment.active;
  shown.goes = verdict.goes;
  shown.rule = storage::to_string(verdict.rule);
  shown.hold = storage::to_string(verdict.hold);
  if (verdict.goes_at) shown.goes_at_ms = verdict.goes_at->value;
  if (verdict.goes_after) shown.goes_after_bytes = verdict.goes_after->value;
  shown.says = std::move(says);
  return shown;
}

}  // namespace cordwood::inspector
