// offline/record_printer.h — a record as a line of text, JSON or CSV, or as its value's bytes.
#pragma once

#include <string>

#include "base/types.h"
#include "offline/rendering.h"
#include "record/batch.h"
#include "record/record.h"

namespace cordwood::offline {

enum class RecordForm { text, json, csv, raw };

struct PrintSettings {
  RecordForm form = RecordForm::text;
  ByteForm keys = ByteForm::text;
  ByteForm values = ByteForm::text;
  bool decode_internal = true;  // records of internal topics as what they say
};

std::string_view csv_heading();
// `batch` is null for messages of the formats before batches.
void print_record(std::string& out, const PrintSettings& settings, const TopicPartition& partition,
                  const record::BatchHeader* batch, const record::RecordView& record);

}  // namespace cordwood::offline
