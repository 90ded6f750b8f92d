// What each demo's steps show: offsets, segments, index entries and answers, among them those of the teaching example.
#include "inspector/demos/demos.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "client/partitioner.h"

namespace cordwood::inspector {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;

api::Demo run(std::string_view name) {
  auto demo = Demos().run(name);
  EXPECT_TRUE(demo.has_value()) << name << ": " << demo.error().message();
  return demo ? std::move(*demo) : api::Demo();
}

// The step of that title, which must be there.
const api::DemoStep& step_of(const api::Demo& demo, std::string_view title) {
  const auto at = std::find_if(demo.steps.begin(), demo.steps.end(), [&](const api::DemoStep& step) { return step.title == title; });
  EXPECT_NE(at, demo.steps.end()) << demo.name << " has no step " << title;
  static const api::DemoStep kNoStep{.logs = {api::DemoLog{.segments = {api::DemoSegment()}}}};
  return at == demo.steps.end() ? kNoStep : *at;
}

const api::DemoLog& log_of(const api::Demo& demo, std::string_view title) { return step_of(demo, title).logs.at(0); }

std::int64_t second_of(const api::Demo& demo, std::int64_t ms) { return (ms - demo.starts_ms) / 1000; }

std::vector<std::int64_t> bases_of(const api::DemoLog& log) {
  std::vector<std::int64_t> bases;
  for (const api::DemoSegment& segment : log.segments) bases.push_back(segment.base);
  return bases;
}

std::vector<std::int64_t> bases_in_state(const api::DemoLog& log, api::SegmentState state) {
  std::vector<std::int64_t> bases;
  for (const api::DemoSegment& segment : log.segments) {
    if (segment.state == state) bases.push_back(segment.base);
  }
  return bases;
}

// Of those that are not deleted.
std::int64_t size_of(const api::DemoLog& log) {
  std::int64_t size = 0;
  for (const api::DemoSegment& segment : log.segments) {
    if (segment.state != api::SegmentState::deleted) size += segment.size_bytes;
  }
  return size;
}

const api::DemoSegment& segment_at(const api::DemoLog& log, std::int64_t base) {
  const auto at = std::find_if(log.segments.begin(), log.segments.end(), [&](const api::DemoSegment& one) { return one.base == base; });
  EXPECT_NE(at, log.segments.end()) << "no segment " << base;
  return at == log.segments.end() ? log.segments.front() : *at;
}

std::vector<std::pair<std::int64_t, std::int64_t>> offset_entries(const api::DemoSegment& segment) {
  std::vector<std::pair<std::int64_t, std::int64_t>> entries;
  for (const api::DemoIndexEntry& entry : segment.offset_index) entries.emplace_back(entry.offset, entry.position.value_or(-1));
  return entries;
}

std::vector<std::pair<std::int64_t, std::int64_t>> time_entries(const api::Demo& demo, const api::DemoSegment& segment) {
  std::vector<std::pair<std::int64_t, std::int64_t>> entries;
  for (const api::DemoIndexEntry& entry : segment.time_index) entries.emplace_back(second_of(demo, entry.timestamp_ms.value_or(0)), entry.offset);
  return entries;
}

std::vector<const api::DemoRecord*> records_of(const api::DemoLog& log) {
  std::vector<const api::DemoRecord*> records;
  for (const api::DemoSegment& segment : log.segments) {
    for (const api::DemoBatch& batch : segment.batches) {
      for (const api::DemoRecord& record : batch.records) records.push_back(&record);
    }
  }
  return records;
}

std::string fact_of(const api::DemoStep& step, std::string_view name) {
  for (const api::Fact& fact : step.facts) {
    if (fact.name == name) return fact.value;
  }
  ADD_FAILURE() << step.title << " has no fact " << name;
  return "";
}

std::vector<std::pair<std::string, std::string>> table_of(const api::DemoStep& step) {
  std::vector<std::pair<std::string, std::string>> table;
  for (const api::Fact& fact : step.facts) {
    if (fact.name.starts_with("table: ")) table.emplace_back(fact.name.substr(7), fact.value);
  }
  return table;
}

const api::LookupStep* last_lookup_step(const api::DemoStep& step, api::LookupStepKind kind) {
  const api::LookupStep* found = nullptr;
  if (!step.lookup) return nullptr;
  for (const api::LookupStep& one : step.lookup->steps) {
    if (one.kind == kind) found = &one;
  }
  return found;
}

std::string json_of(const api::Demo& demo) {
  std::string json;
  api::append_json(json, demo);
  return json;
}

const std::vector<std::string> kNames{"append_and_roll", "find_an_offset",      "find_by_time", "retention_by_time",  "retention_by_size",
                                      "lost_position",   "keys_and_partitions", "compaction",   "crash_and_recovery", "a_transaction"};

// --- all of them ---

TEST(Demos, TheListAndTheRunsAgree) {
  const api::DemoList list = Demos().list().value();
  std::vector<std::string> names;
  for (const api::DemoRow& row : list.rows) {
    names.push_back(row.name);
    const api::Demo demo = run(row.name);
    EXPECT_EQ(demo.name, row.name);
    EXPECT_EQ(demo.title, row.title);
    EXPECT_EQ(demo.question, row.question);
    EXPECT_EQ(static_cast<std::int64_t>(demo.steps.size()), row.steps);
  }
  EXPECT_EQ(names, kNames);
  std::string json;
  api::append_json(json, list);
  EXPECT_EQ(boost::json::parse(json).at("rows").as_array().size(), kNames.size());
}

TEST(Demos, AnotherNameIsNotFound) {
  for (const char* name : {"", "append", "append_and_roll ", "../append_and_roll"}) {
    const auto demo = Demos().run(name);
    ASSERT_FALSE(demo.has_value()) << name;
    EXPECT_EQ(demo.error().code, Errc::not_found);
  }
}

TEST(Demos, EveryStepSaysWhatIsDoneAndSeen) {
  for (const std::string& name : kNames) {
    const api::Demo demo = run(name);
    EXPECT_FALSE(demo.title.empty());
    EXPECT_TRUE(demo.question.ends_with("?")) << demo.question;
    EXPECT_GE(demo.steps.size(), 6U) << name;
    EXPECT_LE(demo.steps.size(), 14U) << name;
    std::set<std::string> titles;
    std::int64_t clock = demo.starts_ms;
    for (const api::DemoStep& step : demo.steps) {
      EXPECT_TRUE(titles.insert(step.title).second) << name << ": two steps are called " << step.title;
      EXPECT_FALSE(step.title.empty()) << name;
      EXPECT_FALSE(step.does.empty()) << name << ": " << step.title;
      EXPECT_TRUE(step.says.ends_with(".")) << name << ": " << step.title << ": " << step.says;
      EXPECT_FALSE(step.logs.empty()) << name << ": " << step.title;
      EXPECT_GE(step.clock_ms, clock) << name << ": " << step.title;
      clock = step.clock_ms;
      for (const api::Fact& fact : step.facts) EXPECT_FALSE(fact.name.empty() || fact.value.empty() || fact.from.empty()) << step.title;
    }
  }
}

TEST(Demos, EachRunGivesTheSameJson) {
  for (const std::string& name : kNames) {
    const std::string first = json_of(run(name));
    const boost::json::value parsed = boost::json::parse(first);
    EXPECT_EQ(parsed.at("name").as_string(), name);
    EXPECT_LT(first.size(), 200'000U) << name;
    EXPECT_EQ(json_of(run(name)), first) << name;
  }
}

// A snapshot that is right in itself: batches and segments without gaps in their bytes, offsets ascending, index entries at batches.
TEST(Demos, EverySnapshotFitsTogether) {
  for (const std::string& name : kNames) {
    for (const api::DemoStep& step : run(name).steps) {
      for (const api::DemoLog& log : step.logs) {
        SCOPED_TRACE(name + ": " + step.title);
        EXPECT_LE(log.log_start, log.last_stable);
        EXPECT_LE(log.last_stable, log.high_watermark);
        EXPECT_LE(log.high_watermark, log.log_end);
        ASSERT_FALSE(log.segments.empty());
        EXPECT_TRUE(log.segments.back().state == api::SegmentState::active || log.segments.back().state == api::SegmentState::going);
        EXPECT_EQ(log.segments.back().next, log.log_end);
        for (std::size_t i = 0; i < log.segments.size(); ++i) {
          const api::DemoSegment& segment = log.segments[i];
          if (i > 0) {
            EXPECT_EQ(segment.base, log.segments[i - 1].next);
          }
          std::int64_t position = 0;
          std::int64_t last = segment.base - 1;
          std::set<std::int64_t> positions;
          for (const api::DemoBatch& batch : segment.batches) {
            EXPECT_EQ(batch.position, position);
            EXPECT_GT(batch.base, last);
            position += batch.size_bytes;
            last = batch.last;
            positions.insert(batch.position);
          }
          EXPECT_EQ(position + segment.torn_bytes, segment.size_bytes);
          EXPECT_LT(last, segment.next);
          for (const api::DemoIndexEntry& entry : segment.offset_index) EXPECT_TRUE(positions.contains(entry.position.value_or(-1)));
          EXPECT_FALSE(segment.files.empty());
        }
      }
    }
  }
}

// --- each of them ---

TEST(Demos, AppendAndRoll) {
  const api::Demo demo = run("append_and_roll");
  EXPECT_EQ(log_of(demo, "An empty partition").log_end, 0);
  EXPECT_EQ(bases_of(log_of(demo, "Nearly full")), (std::vector<std::int64_t>{0}));
  EXPECT_EQ(size_of(log_of(demo, "Nearly full")), 2700);
  EXPECT_THAT(bases_of(log_of(demo, "A roll by size")), ElementsAre(0, 6));

  const api::DemoLog& all = log_of(demo, "Four segments");
  EXPECT_THAT(bases_of(all), ElementsAre(0, 6, 11, 17));
  EXPECT_EQ(size_of(all), 9500);
  std::vector<std::int64_t> sizes;
  for (const api::DemoSegment& segment : all.segments) {
    for (const api::DemoBatch& batch : segment.batches) sizes.push_back(batch.size_bytes);
  }
  EXPECT_THAT(sizes, ElementsAre(400, 500, 350, 550, 450, 450, 700, 450, 350, 600, 650, 400, 400, 600, 500, 600, 450, 500, 600));
  const std::vector<const api::DemoRecord*> records = records_of(all);
  for (std::size_t i = 0; i < records.size(); ++i) EXPECT_EQ(second_of(demo, records[i]->timestamp_ms), 2 * (static_cast<std::int64_t>(i) + 1));

  // Relative 2 -> 1150, and second 18 -> 2.
  const api::DemoStep& relative = step_of(demo, "Entries are relative");
  EXPECT_THAT(offset_entries(segment_at(relative.logs[0], 6)), ElementsAre(Pair(8, 1150)));
  EXPECT_THAT(time_entries(demo, segment_at(relative.logs[0], 6)), ElementsAre(Pair(18, 8)));
  EXPECT_EQ(fact_of(relative, "offset index entry"), "2 -> 1150");
  EXPECT_EQ(fact_of(relative, "time index entry"), "t=18 -> 2");

  EXPECT_EQ(segment_at(log_of(demo, "It would have room"), 17).size_bytes, 1400);
  EXPECT_THAT(bases_of(log_of(demo, "Quiet")), ElementsAre(0, 6, 11, 17));
  const api::DemoLog& rolled = log_of(demo, "A roll by time");
  EXPECT_THAT(bases_of(rolled), ElementsAre(0, 6, 11, 17, 20));
  EXPECT_EQ(segment_at(rolled, 17).size_bytes, 1400);
  EXPECT_EQ(step_of(demo, "A roll by time").clock_ms - step_of(demo, "It would have room").clock_ms, 40'000);
}

TEST(Demos, FindAnOffset) {
  const api::Demo demo = run("find_an_offset");
  EXPECT_EQ(last_lookup_step(step_of(demo, "Which segment?"), api::LookupStepKind::segment)->segment, 6);
  EXPECT_THAT(step_of(demo, "What the index knows").says, HasSubstr("2 -> 1150"));
  const api::DemoStep& start = step_of(demo, "Start there");
  EXPECT_EQ(last_lookup_step(start, api::LookupStepKind::start)->from_position, 1150);
  EXPECT_EQ(last_lookup_step(start, api::LookupStepKind::scan), nullptr) << "that is the next step";
  const api::DemoStep& skip = step_of(demo, "Skip what comes before");
  EXPECT_THAT(skip.says, HasSubstr("350 bytes are skipped, from 1150 to 1500"));
  EXPECT_EQ(last_lookup_step(skip, api::LookupStepKind::scan)->batches, 2);
  EXPECT_FALSE(skip.lookup->found);
  const api::Lookup& found = *step_of(demo, "Found").lookup;
  EXPECT_TRUE(found.found);
  EXPECT_EQ(found.offset, 9);
  EXPECT_EQ(found.position, 1500);
  EXPECT_EQ(found.segment, 6);
  // The same place without the index.
  const api::DemoStep& small = step_of(demo, "In a small file");
  EXPECT_EQ(small.lookup->position, 1500);
  EXPECT_EQ(last_lookup_step(small, api::LookupStepKind::offset_probe), nullptr);
  EXPECT_EQ(last_lookup_step(small, api::LookupStepKind::start)->from_position, 0);
  EXPECT_EQ(last_lookup_step(step_of(demo, "Before the first entry"), api::LookupStepKind::start)->from_position, 0);
  EXPECT_EQ(step_of(demo, "Inside a batch").lookup->found_offset, 19);
  EXPECT_EQ(step_of(demo, "Inside a batch").lookup->offset, 20);
  EXPECT_FALSE(step_of(demo, "Outside").lookup->found);
}

TEST(Demos, FindByTime) {
  const api::Demo demo = run("find_by_time");
  EXPECT_EQ(last_lookup_step(step_of(demo, "Which segment?"), api::LookupStepKind::segment)->segment, 11);
  EXPECT_THAT(step_of(demo, "The time index").says, HasSubstr("second 30, offset 14 (in the file: 3, relative to the segment)"));
  EXPECT_THAT(step_of(demo, "The offset index").says, HasSubstr("byte 1400"));
  EXPECT_EQ(last_lookup_step(step_of(demo, "Scan from there"), api::LookupStepKind::start)->from_position, 1400);
  const api::Lookup& found = *step_of(demo, "The record").lookup;
  EXPECT_EQ(second_of(demo, found.timestamp_ms.value_or(0)), 31);
  EXPECT_EQ(found.found_offset, 15);
  EXPECT_EQ(second_of(demo, found.found_timestamp_ms.value_or(0)), 32);
  EXPECT_EQ(found.position, 1900);
  EXPECT_EQ(step_of(demo, "Before everything").lookup->found_offset, 0);
  EXPECT_FALSE(step_of(demo, "After everything").lookup->found);
}

TEST(Demos, RetentionByTime) {
  using enum api::SegmentState;
  const api::Demo demo = run("retention_by_time");
  EXPECT_THAT(bases_in_state(log_of(demo, "Exactly on the limit"), going), IsEmpty());
  EXPECT_EQ(second_of(demo, step_of(demo, "Exactly on the limit").clock_ms), 42);
  EXPECT_THAT(bases_in_state(log_of(demo, "Over the limit, and still there"), going), ElementsAre(0));
  EXPECT_EQ(log_of(demo, "Over the limit, and still there").log_start, 0);
  const api::DemoLog& checked = log_of(demo, "The check");
  EXPECT_THAT(bases_in_state(checked, deleted), ElementsAre(0));
  EXPECT_EQ(checked.log_start, 6);
  EXPECT_THAT(segment_at(checked, 0).files, Not(IsEmpty()));
  for (const std::string& file : segment_at(checked, 0).files) EXPECT_TRUE(file.ends_with(".deleted")) << file;
  EXPECT_THAT(bases_of(log_of(demo, "The files go")), ElementsAre(6, 11, 17));
  const api::DemoLog& newest = log_of(demo, "The newest record decides");
  EXPECT_EQ(newest.log_start, 17);
  EXPECT_THAT(bases_in_state(newest, active), ElementsAre(17));
  EXPECT_THAT(step_of(demo, "The newest record decides").says, HasSubstr("Offset 17 in segment 17 is of second 36"));
  EXPECT_THAT(bases_in_state(log_of(demo, "Even the active segment"), going), ElementsAre(17));
  const api::DemoLog& empty = log_of(demo, "An empty log");
  EXPECT_EQ(empty.log_start, 20);
  EXPECT_EQ(empty.log_end, 20);
  EXPECT_EQ(size_of(empty), 0);
}

TEST(Demos, RetentionBySize) {
  using enum api::SegmentState;
  const api::Demo demo = run("retention_by_size");
  EXPECT_EQ(size_of(log_of(demo, "Without a limit")), 9500);
  EXPECT_THAT(bases_in_state(log_of(demo, "Without a limit"), going), IsEmpty());
  EXPECT_THAT(bases_in_state(log_of(demo, "A limit"), going), ElementsAre(0));
  const api::DemoStep& check = step_of(demo, "The check");
  EXPECT_EQ(size_of(check.logs[0]), 6800);
  EXPECT_EQ(check.logs[0].log_start, 6);
  EXPECT_THAT(check.says, HasSubstr("9500 bytes shrank to 6800"));
  EXPECT_THAT(bases_of(log_of(demo, "The files go")), ElementsAre(6, 11, 17));
  EXPECT_EQ(log_of(demo, "The files go").verdicts.at(0).goes_after_bytes, 1950);
  EXPECT_THAT(bases_in_state(log_of(demo, "Growing"), going), IsEmpty());
  EXPECT_THAT(bases_in_state(log_of(demo, "Enough"), going), ElementsAre(6));
  EXPECT_EQ(log_of(demo, "The check again").log_start, 11);
  const api::DemoLog& last = log_of(demo, "Not the active segment");
  EXPECT_THAT(bases_in_state(last, active), ElementsAre(22));
  EXPECT_EQ(size_of(last), 400);
}

TEST(Demos, LostPosition) {
  const api::Demo demo = run("lost_position");
  for (const api::DemoGroup& group : step_of(demo, "Positions are committed").groups) EXPECT_EQ(group.committed, 3);
  const api::DemoLog& deleted = log_of(demo, "Deleted");
  EXPECT_EQ(deleted.log_start, 6);
  EXPECT_EQ(deleted.log_end, 16);
  EXPECT_EQ(fact_of(step_of(demo, "Out of range"), "answer to the fetch"), "OFFSET_OUT_OF_RANGE");
  const std::vector<api::DemoGroup>& groups = step_of(demo, "none").groups;
  ASSERT_EQ(groups.size(), 3U);
  for (const api::DemoGroup& group : groups) EXPECT_EQ(group.committed, 3);
  EXPECT_EQ(groups[0].name, "earliest");
  EXPECT_EQ(groups[0].reads_next, 6);
  EXPECT_EQ(groups[1].name, "latest");
  EXPECT_EQ(groups[1].reads_next, 16);
  EXPECT_EQ(groups[2].name, "none");
  EXPECT_EQ(groups[2].reads_next, std::nullopt);
  EXPECT_THAT(groups[2].says, HasSubstr("exception"));
}

TEST(Demos, KeysAndPartitions) {
  const api::Demo demo = run("keys_and_partitions");
  const api::DemoStep& before = step_of(demo, "The same key again");
  ASSERT_EQ(before.logs.size(), 3U);
  std::vector<std::string> of_anna;
  for (const api::DemoLog& log : before.logs) {
    for (const api::DemoRecord* record : records_of(log)) {
      EXPECT_EQ(client::partition_of_key(as_bytes(*record->key), 3), log.partition) << *record->key;
      if (record->key == "anna") of_anna.push_back(*record->value);
    }
  }
  EXPECT_THAT(of_anna, ElementsAre("anna: ordered", "anna: paid", "anna: shipped"));
  // Not the order in which they were produced: anna's was the first of all.
  EXPECT_THAT(fact_of(step_of(demo, "Order"), "records in the order of reading"), Not(testing::StartsWith("anna")));

  const api::DemoStep& more = step_of(demo, "More partitions");
  ASSERT_EQ(more.logs.size(), 5U);
  EXPECT_THAT(records_of(more.logs[3]), IsEmpty());
  EXPECT_EQ(fact_of(more, "partition of anna"), "3");
  EXPECT_EQ(fact_of(more, "keys that go elsewhere"), "anna, cleo, hugo");
  EXPECT_EQ(fact_of(more, "keys that stay"), "tina");
  EXPECT_EQ(fact_of(step_of(demo, "Other keys"), "partition of anna"), "1");
  const api::DemoStep& moved = step_of(demo, "A key has moved");
  ASSERT_EQ(records_of(moved.logs[3]).size(), 1U);
  EXPECT_EQ(records_of(moved.logs[3])[0]->key, "anna");
}

TEST(Demos, Compaction) {
  const api::Demo demo = run("compaction");
  const api::DemoStep& dirty = step_of(demo, "Dirty");
  EXPECT_EQ(fact_of(dirty, "dirty ratio"), "1.00");
  const api::DemoStep& compacted = step_of(demo, "Compacted");
  EXPECT_EQ(table_of(compacted), table_of(dirty)) << "compaction keeps what a reader ends with";
  std::vector<std::pair<std::int64_t, std::string>> left;
  for (const api::DemoRecord* record : records_of(compacted.logs[0])) left.emplace_back(record->offset, record->key.value_or(""));
  EXPECT_THAT(left, ElementsAre(Pair(3, "cleo"), Pair(5, "anna"), Pair(6, "dora"), Pair(7, "bert"), Pair(8, "anna")));
  EXPECT_EQ(fact_of(compacted, "records"), "4 of 8 kept");

  const auto of_cleo = [&](std::string_view title) {
    std::vector<api::RecordKind> kinds;
    for (const api::DemoRecord* record : records_of(log_of(demo, title))) {
      if (record->key == "cleo") kinds.push_back(record->kind);
    }
    return kinds;
  };
  EXPECT_THAT(of_cleo("A tombstone"), ElementsAre(api::RecordKind::data, api::RecordKind::tombstone));
  EXPECT_THAT(of_cleo("The tombstone stays at first"), ElementsAre(api::RecordKind::tombstone));
  EXPECT_EQ(fact_of(step_of(demo, "The tombstone stays at first"), "delete horizon"), "second 73");
  EXPECT_THAT(of_cleo("Its time is over"), ElementsAre(api::RecordKind::tombstone));
  EXPECT_THAT(of_cleo("Nothing is left of it"), IsEmpty());
  EXPECT_EQ(table_of(step_of(demo, "Nothing is left of it")), table_of(step_of(demo, "Its time is over")));
}

TEST(Demos, CrashAndRecovery) {
  const api::Demo demo = run("crash_and_recovery");
  EXPECT_EQ(log_of(demo, "Written").recovery_point, 0);
  EXPECT_EQ(log_of(demo, "Flushed").recovery_point, 6);
  EXPECT_EQ(log_of(demo, "More, not flushed").log_end, 9);
  const api::DemoLog& killed = log_of(demo, "Killed");
  EXPECT_FALSE(killed.open);
  EXPECT_EQ(killed.log_end, 9);
  EXPECT_EQ(log_of(demo, "The start after it").log_end, 9);
  EXPECT_EQ(fact_of(step_of(demo, "The start after it"), "bytes cut"), "0");
  EXPECT_EQ(log_of(demo, "On it goes").log_end, 11);
  const api::DemoLog& torn = log_of(demo, "The power fails");
  EXPECT_FALSE(torn.open);
  EXPECT_EQ(torn.log_end, 10);
  EXPECT_GT(torn.segments.back().torn_bytes, 0);
  const api::DemoStep& recovered = step_of(demo, "The torn tail is cut");
  EXPECT_TRUE(recovered.logs[0].open);
  EXPECT_EQ(recovered.logs[0].log_end, 10);
  EXPECT_EQ(recovered.logs[0].segments.back().torn_bytes, 0);
  EXPECT_EQ(fact_of(recovered, "bytes cut"), std::to_string(torn.segments.back().torn_bytes));
  EXPECT_THAT(fact_of(recovered, "files made anew"), HasSubstr("00000000000000000006.index, 00000000000000000006.timeindex"));
  EXPECT_THAT(fact_of(recovered, "verdict"), HasSubstr("torn tail"));
  EXPECT_EQ(records_of(log_of(demo, "An offset is given again")).back()->offset, 10);
  EXPECT_EQ(log_of(demo, "Or the disk, each time").recovery_point, 12);
  EXPECT_EQ(log_of(demo, "Another power cut").log_end, 12);
}

TEST(Demos, ATransaction) {
  const api::Demo demo = run("a_transaction");
  const auto both = [&](std::string_view title) {
    const api::DemoStep& step = step_of(demo, title);
    return std::pair(fact_of(step, "read_uncommitted gets"), fact_of(step, "read_committed gets"));
  };
  EXPECT_EQ(log_of(demo, "A transaction begins").last_stable, 0);
  EXPECT_THAT(both("A transaction begins"), Pair("0, 1", "none"));
  EXPECT_THAT(both("Others wait"), Pair("0, 1, 2", "none"));
  EXPECT_EQ(log_of(demo, "Commit").last_stable, 4);
  EXPECT_THAT(both("Commit"), Pair("0, 1, 2", "0, 1, 2"));
  EXPECT_EQ(records_of(log_of(demo, "Commit")).back()->kind, api::RecordKind::commit);
  EXPECT_EQ(log_of(demo, "Two at a time").last_stable, 4);
  const api::DemoStep& abort = step_of(demo, "Abort");
  EXPECT_EQ(abort.logs[0].last_stable, 6);
  EXPECT_EQ(fact_of(abort, "aborted list"), "producer 8 from offset 4");
  std::vector<std::int64_t> aborted;
  for (const api::DemoRecord* record : records_of(abort.logs[0])) {
    if (record->aborted) aborted.push_back(record->offset);
  }
  EXPECT_THAT(aborted, ElementsAre(4, 5));
  EXPECT_THAT(abort.logs[0].segments.back().files, testing::Contains(HasSubstr(".txnindex")));
  EXPECT_EQ(log_of(demo, "All are ended").last_stable, 9);
  EXPECT_THAT(both("All are ended"), Pair("0, 1, 2, 4, 5, 6", "0, 1, 2, 6"));
  EXPECT_THAT(log_of(demo, "On the disk").other_files, testing::Contains("00000000000000000009.snapshot"));
}

}  // namespace
}  // namespace cordwood::inspector
