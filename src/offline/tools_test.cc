// stat, du, diff, explain, the changing commands, backup and restore, on directories that Kafka 4.4.0 has left.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "offline/backup_manifest.h"
#include "offline/data_directory.h"
#include "offline/offline_testing.h"

namespace cordwood::offline {

extern const cli::Command backup_command;
extern const cli::Command compact_command;
extern const cli::Command diff_command;
extern const cli::Command du_command;
extern const cli::Command explain_command;
extern const cli::Command find_command;
extern const cli::Command import_command;
extern const cli::Command reindex_command;
extern const cli::Command restore_command;
extern const cli::Command retain_command;
extern const cli::Command roll_command;
extern const cli::Command stat_command;
extern const cli::Command verify_command;

namespace {

using testing::HasSubstr;
using testing::Not;

// Runs a command that must not change anything below /data.
CommandRun look(const cli::Command& command, const std::string& golden, const std::vector<std::string>& words) {
  io::MemFileSystem fs;
  load_golden(fs, golden);
  const auto before = files_below(fs, "/data");
  CommandRun run = run_command(command, words, fs);
  EXPECT_EQ(files_below(fs, "/data"), before) << command.name << " has changed " << golden;
  return run;
}

std::string records_of(io::FileSystem& fs, const std::string& directory) {
  return run_command(find_command, {directory, "--json", "--control"}, fs).out;
}

TEST(DataDirectory, IsRefusedWhereNothingOfKafkasLies) {
  io::MemFileSystem fs;
  put_file(fs, "/etc/dbus-1/session.conf", "x");
  const CommandRun run = run_command(stat_command, {"/etc"}, fs);
  EXPECT_EQ(run.code, 1);
  EXPECT_EQ(run.err, "cordwood stat: /etc is no log directory: it has neither meta.properties nor a partition with a segment\n");
}

TEST(DataDirectory, APartitionIsNamedAsItsDirectoryToo) {
  EXPECT_EQ(look(stat_command, "idempotent", {"/data", "g-idem-0"}).out, look(stat_command, "idempotent", {"/data", "g-idem:0"}).out);
  EXPECT_EQ(look(stat_command, "idempotent", {"/data", "g-idem-7"}).err,
            "cordwood stat: no topic and no partition here is called g-idem-7\n");
}

TEST(Verify, SaysWhatIsNoFileOfALog) {
  io::MemFileSystem fs;
  put_file(fs, "/etc/dbus-1/session.conf", "x");
  const CommandRun run = run_command(verify_command, {"/etc", "/etc/dbus-1/session.conf"}, fs);
  EXPECT_EQ(run.code, 2);
  EXPECT_EQ(run.out, "0 partitions, 0 batches, 0 bytes: not all could be looked at\n");
  EXPECT_THAT(run.err, HasSubstr("cordwood verify: /etc: no log directory: it has neither meta.properties nor a partition"));
  EXPECT_THAT(run.err, HasSubstr("cordwood verify: /etc/dbus-1/session.conf: by its name no file of a log\n"));
}

TEST(Stat, TellsRecordsKeysAndTimes) {
  const std::string text = look(stat_command, "idempotent", {"/data", "--top", "1"}).out;
  EXPECT_THAT(text, HasSubstr("g-idem-0\n"));
  EXPECT_THAT(text, HasSubstr("  records      67; "));
  EXPECT_THAT(text, HasSubstr("  top key      k"));
  const std::string json = look(stat_command, "compacted-after-1", {"/data", "--json"}).out;
  EXPECT_THAT(json, HasSubstr("\"records\":25,"));
}

// Every key of a compacted log that was cleaned to its end is live; before, the same keys are live and the rest is not.
TEST(Stat, LiveBytesAreWhatCompactionLeaves) {
  const auto number = [](const std::string& json, const std::string& name) {
    const std::size_t at = json.find("\"" + name + "\":");
    return std::stoll(json.substr(at + name.size() + 3));
  };
  const std::string before = look(stat_command, "compacted-before", {"/data", "--json"}).out;
  EXPECT_GT(number(before, "dead_bytes"), 0);
  EXPECT_EQ(number(before, "records") > number(before, "keys"), true);
}

TEST(Stat, SeesControlRecordsAndCodecs) {
  EXPECT_THAT(look(stat_command, "transactions", {"/data", "--json"}).out, Not(HasSubstr("\"control_batches\":0")));
  EXPECT_THAT(look(stat_command, "codec-gzip", {"/data"}).out, HasSubstr("codec        gzip: "));
}

TEST(Du, AddsUpToWhatLiesThere) {
  io::MemFileSystem fs;
  load_golden(fs, "rolled-size");
  std::size_t total = 0;
  for (const auto& [path, content] : files_below(fs, "/data")) {
    if (path.find("-0/") != std::string::npos) total += content.size();
  }
  const CommandRun run = run_command(du_command, {"/data", "--json"}, fs);
  EXPECT_THAT(run.out, HasSubstr(fmt::format("\"total_bytes\":{},", total)));
}

TEST(Diff, FindsNothingWhereNothingDiffers) {
  io::MemFileSystem fs;
  load_golden(fs, "codec-gzip");
  EXPECT_EQ(run_command(diff_command, {"/data", "/data"}, fs).code, 0);
  EXPECT_EQ(run_command(diff_command, {"/data", "/data", "--bytes"}, fs).code, 0);
}

// The same records in other batches: what `find` extracts of a transactional log has no transactions any more.
TEST(Diff, ComparesRecordsAndNotBatches) {
  io::MemFileSystem fs;
  load_golden(fs, "idempotent");
  ASSERT_EQ(run_command(find_command, {"/data", "--format", "segment", "--to", "/again"}, fs).code, 0);
  const CommandRun same = run_command(diff_command, {"/data", "/again"}, fs);
  EXPECT_EQ(same.code, 0) << same.out;
  const CommandRun bytes = run_command(diff_command, {"/data", "/again", "--bytes"}, fs);
  EXPECT_EQ(bytes.code, 1);
  EXPECT_THAT(bytes.out, HasSubstr("g-idem-0@0: the batch differs"));
}

TEST(Diff, NamesWhatIsMissing) {
  io::MemFileSystem fs;
  load_golden(fs, "idempotent");
  ASSERT_EQ(run_command(find_command, {"/data", "--format", "segment", "--to", "/some", "--to-offset", "60"}, fs).code, 0);
  const CommandRun run = run_command(diff_command, {"/data", "/some", "--limit", "1"}, fs);
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.out, HasSubstr("g-idem-0@60: only in A\n"));
  EXPECT_EQ(run_command(diff_command, {"/data", "/nowhere"}, fs).code, 2);
}

TEST(Explain, RetentionSaysWhySegmentsStay) {
  const CommandRun run = look(explain_command, "rolled-size", {"retention", "/data"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("goes "));
  EXPECT_THAT(run.out, HasSubstr("retention.ms"));
  EXPECT_THAT(run.err, HasSubstr("no metadata log"));
}

TEST(Explain, CompactionNamesTheDecision) {
  io::MemFileSystem fs;
  load_golden(fs, "compacted-before");
  put_file(fs, "/server.properties", "log.cleanup.policy=compact\nlisteners=SASL_SSL://:9094\n");
  const CommandRun run = run_command(explain_command, {"compaction", "/data", "--config", "/server.properties"}, fs);
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("min.cleanable.dirty.ratio"));
  EXPECT_THAT(run.out, HasSubstr("cleaner-offset-checkpoint: "));
}

TEST(Explain, LookupTellsTheStepsOfTheSearch) {
  const CommandRun run = look(explain_command, "rolled-size", {"lookup", "/data", "--offset", "30"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("offset 30 is between log start 0 and log end 89\n"));
  EXPECT_THAT(run.out, HasSubstr("segment 22 has the largest base offset that is not above it\n"));
  EXPECT_THAT(run.out, HasSubstr("batch headers of 00000000000000000022.log are read, positions 0 to "));
  EXPECT_THAT(run.out, HasSubstr("answer: a batch of 179 bytes at position 353, offsets 29 to 32\n"));
  EXPECT_THAT(look(explain_command, "rolled-size", {"lookup", "/data", "--offset", "99999999"}).out, HasSubstr("is not in ["));
  EXPECT_EQ(look(explain_command, "rolled-size", {"lookup", "/data"}).code, 1);
  EXPECT_EQ(look(explain_command, "rolled-size", {"lookup", "/data", "--offset", "1", "--timestamp", "1"}).code, 1);
}

TEST(Explain, LookupByTime) {
  const CommandRun run = look(explain_command, "rolled-size", {"lookup", "/data", "--timestamp", "1"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("times are searched from the log start 0 to the log end 89\n"));
  EXPECT_THAT(run.out, HasSubstr("answer: offset 0, whose time is "));
  EXPECT_THAT(look(explain_command, "rolled-size", {"lookup", "/data", "--timestamp", "2100-01-01"}).out,
              HasSubstr("answer: no record is as late as 2100-01-01"));
  const CommandRun json = look(explain_command, "rolled-size", {"lookup", "/data", "--timestamp", "1", "--json"});
  EXPECT_THAT(json.out, HasSubstr("\"kind\":\"bounds\""));
  EXPECT_THAT(json.out, HasSubstr("\"found_offset\":0"));
}

TEST(Explain, StartTellsWhatIsCutAndChangesNothing) {
  const CommandRun run = look(explain_command, "torn-tail-before", {"start", "/data"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("torn"));
  EXPECT_THAT(look(explain_command, "flip-closed-before", {"start", "/data", "--json"}).out, HasSubstr("\"verdicts\":["));
}

TEST(Change, ADryRunChangesNothing) {
  for (const cli::Command* command : {&roll_command, &reindex_command}) {
    const CommandRun run = look(*command, "rolled-size", {"/data", "--dry-run"});
    EXPECT_EQ(run.code, 0) << run.err;
    EXPECT_THAT(run.err, HasSubstr("nothing was changed"));
    EXPECT_NE(run.out, "");
  }
}

TEST(Change, RollBeginsASegmentAndKeepsTheRecords) {
  io::MemFileSystem fs;
  load_golden(fs, "idempotent");
  const std::string before = records_of(fs, "/data");
  const CommandRun run = run_command(roll_command, {"/data"}, fs);
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(run.out, "g-idem-0: a new active segment at 67\n");
  EXPECT_TRUE(fs.exists("/data/g-idem-0/00000000000000000067.log").value());
  EXPECT_TRUE(fs.exists("/data/.kafka_cleanshutdown").value());
  EXPECT_EQ(records_of(fs, "/data"), before);
}

// Of a log whose indexes are good they come back byte for byte; of one whose indexes were filled with something else, too.
TEST(Change, ReindexMakesTheSameIndexes) {
  io::MemFileSystem fs;
  load_golden(fs, "rolled-size");
  ASSERT_EQ(run_command(reindex_command, {"/data"}, fs).code, 0);
  const auto good = files_below(fs, "/data");
  for (const auto& [path, content] : good) {
    if (path.ends_with(".index") && !content.empty()) put_file(fs, path, std::string(content.size(), '\x7f'));
  }
  const CommandRun run = run_command(reindex_command, {"/data"}, fs);
  EXPECT_EQ(run.code, 0) << run.err;
  const auto again = files_below(fs, "/data");
  int compared = 0;
  for (const auto& [path, content] : good) {
    if (!path.ends_with("index")) continue;
    ++compared;
    EXPECT_EQ(again.at(path), content) << path;
  }
  EXPECT_GT(compared, 2);
}

TEST(Change, RefusesADirectoryInUse) {
  io::MemFileSystem fs;
  load_golden(fs, "rolled-size");
  const auto lock = fs.lock("/data/.lock").value();
  const CommandRun run = run_command(roll_command, {"/data"}, fs);
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.err, HasSubstr("in use"));
  const CommandRun reader = run_command(find_command, {"/data", "--count"}, fs);
  EXPECT_EQ(reader.code, 0);
  EXPECT_THAT(reader.err, HasSubstr("a broker is using the directory"));
}

TEST(Change, WantsADirectoryOrAnInspector) {
  const struct {
    std::vector<std::string> words;
    const char* says;
  } kCases[] = {
      {{}, "a log directory is missing, or --inspector for a running broker"},
      {{"/data", "--token", "x"}, "--token belongs to --inspector"},
      {{"--inspector", "https://localhost"}, "the inspector speaks http, not https"},
      {{"--inspector", "localhost:nine"}, "'localhost:nine' is no address of an inspector: http://HOST:PORT is one"},
      {{"--inspector", "localhost", "/data"}, "no directory is named with --inspector, only topics: '/data' is none"},
      {{"--inspector", "localhost", "--config", "x"}, "--config is for directories: a running broker has its own settings"},
      {{"--inspector", "localhost", "--dry-run"}, "a running broker can only be asked beforehand what 'retain' and 'compact' would do"},
  };
  for (const auto& c : kCases) {
    io::MemFileSystem fs;
    const CommandRun run = run_command(roll_command, c.words, fs);
    EXPECT_EQ(run.code, 1) << c.says;
    EXPECT_EQ(run.err, std::string("cordwood roll: ") + c.says + "\n");
  }
}

TEST(Change, RemovesNothingWhereTheSettingsAreNotKnown) {
  for (const cli::Command* command : {&retain_command, &compact_command}) {
    const CommandRun run = look(*command, "rolled-size", {"/data"});
    EXPECT_EQ(run.code, 1);
    EXPECT_THAT(run.err, HasSubstr("settings of the topics are not known"));
  }
}

TEST(Backup, ComesBackAsItWas) {
  io::MemFileSystem fs;
  load_golden(fs, "transactions");
  const auto before = files_below(fs, "/data");
  const CommandRun made = run_command(backup_command, {"/data", "/backup"}, fs);
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_EQ(run_command(backup_command, {"--verify", "/backup"}, fs).code, 0);
  EXPECT_EQ(run_command(backup_command, {"/data", "/backup"}, fs).code, 1) << "over another one";
  ASSERT_EQ(run_command(restore_command, {"/backup", "/back"}, fs).code, 0);
  std::map<std::string, std::string> after;
  for (const auto& [path, content] : files_below(fs, "/back")) after["/data" + path.substr(5)] = content;
  EXPECT_EQ(after, before);
}

TEST(Backup, VerifyFindsEveryKindOfDamage) {
  io::MemFileSystem fs;
  load_golden(fs, "idempotent");
  ASSERT_EQ(run_command(backup_command, {"/data", "/backup"}, fs).code, 0);
  const io::Path log = "/backup/0/g-idem-0/00000000000000000000.log";
  const std::string whole(as_text(io::read_file(fs, log).value()));
  const auto verify = [&] { return run_command(backup_command, {"--verify", "/backup"}, fs); };
  std::string flipped = whole;
  flipped[100] ^= 1;
  put_file(fs, log, flipped);
  EXPECT_THAT(verify().out, HasSubstr("its checksum is"));
  EXPECT_EQ(verify().code, 1);
  EXPECT_EQ(run_command(restore_command, {"/backup", "/back"}, fs).code, 1) << "damage is not restored";
  put_file(fs, log, whole.substr(1));
  EXPECT_THAT(verify().out, HasSubstr("bytes instead of"));
  fs.remove_file(log).value();
  EXPECT_EQ(verify().code, 1);
  put_file(fs, log, whole);
  EXPECT_EQ(verify().code, 0);
}

TEST(Backup, RestoresSomeTopicsWithoutTheMetadata) {
  io::MemFileSystem fs;
  load_golden(fs, "idempotent");
  ASSERT_EQ(run_command(backup_command, {"/data", "/backup"}, fs).code, 0);
  ASSERT_EQ(run_command(restore_command, {"/backup", "/back", "g-idem"}, fs).code, 0);
  EXPECT_EQ(records_of(fs, "/back"), records_of(fs, "/data"));
  EXPECT_FALSE(fs.exists("/back/__cluster_metadata-0").value());
  EXPECT_TRUE(fs.exists("/back/meta.properties").value());
  EXPECT_EQ(run_command(restore_command, {"/backup", "/other", "nothing"}, fs).code, 1);
}

// The copy is a topic like any other afterwards: in the metadata, with its id and records; and a second time it is refused.
TEST(Import, MakesATopicOfADirectory) {
  io::MemFileSystem fs;
  load_golden(fs, "idempotent");
  for (const auto& [path, content] : files_below(fs, "/data")) put_file(fs, "/elsewhere" + path.substr(5), content);
  fs.remove_directory_tree("/data").value();
  load_golden(fs, "fresh-kraft");
  const CommandRun run = run_command(import_command, {"/data", "/elsewhere/g-idem-0"}, fs);
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("g-idem-0: offsets 0 to 67, "));
  const DataDirectory data = open_data_directory(fs, "/data").value();
  const auto topic = data.image->topic(std::string("g-idem"));
  ASSERT_NE(topic, nullptr);
  EXPECT_EQ(topic->id, open_data_directory(fs, "/elsewhere").value().partitions.front().topic_id);
  EXPECT_EQ(topic->partitions.at(PartitionId{0}).replicas, std::vector{data.config.node_id});
  EXPECT_EQ(data.config_of("g-idem").retention_ms, DurationMs{-1});
  EXPECT_EQ(run_command(diff_command, {"/data", "/elsewhere", "g-idem"}, fs).code, 0);
  EXPECT_TRUE(fs.exists("/data/.kafka_cleanshutdown").value());
  EXPECT_EQ(run_command(import_command, {"/data", "/elsewhere/g-idem-0"}, fs).code, 1);
  // What was imported obeys the metadata: retention knows its settings now, and keeps it.
  EXPECT_EQ(run_command(retain_command, {"/data", "g-idem"}, fs).code, 0);
  EXPECT_EQ(run_command(diff_command, {"/data", "/elsewhere", "g-idem"}, fs).code, 0);
}

TEST(BackupManifest, ComesBackFromItsText) {
  const BackupManifest manifest{"cluster", {17}, 2, true, {{"0/a-0/x.log", {5}, 0xffffffff}, {"1/meta.properties", {0}, 0}}};
  EXPECT_EQ(parse_manifest(to_text(manifest)).value(), manifest);
}

TEST(BackupManifest, RefusesWhatLeadsOutOfTheBackup) {
  for (const char* name : {"../x", "/x", "0/../../x", "", "0//x", "0/.", "x/"}) {
    const BackupManifest manifest{"c", {0}, 1, false, {{name, {1}, 1}}};
    EXPECT_FALSE(parse_manifest(to_text(manifest))) << name;
  }
  EXPECT_FALSE(parse_manifest("{\"cordwood_backup\":2}\n"));
  EXPECT_FALSE(parse_manifest("nonsense"));
  EXPECT_FALSE(parse_manifest(""));
}

// Every golden directory, as it is and cut in the middle of each log: readers never fail, whatever lies there.
TEST(Tools, ReadersSurviveEveryGoldenDirectory) {
  namespace disk = std::filesystem;
  int directories = 0;
  for (const auto& entry : disk::directory_iterator(disk::path(source_path("tests/golden/kafka-4.4.0")))) {
    if (!entry.is_directory()) continue;
    ++directories;
    io::MemFileSystem fs;
    load_golden(fs, entry.path().filename().string());
    for (const bool cut : {false, true}) {
      for (const auto& [path, content] : files_below(fs, "/data")) {
        if (cut && path.ends_with(".log")) put_file(fs, path, content.substr(0, content.size() / 2));
      }
      SCOPED_TRACE(entry.path().filename().string() + (cut ? ", cut" : ""));
      EXPECT_EQ(run_command(find_command, {"/data", "--json"}, fs).code, 0);
      EXPECT_EQ(run_command(stat_command, {"/data", "--segments"}, fs).code, 0);
      EXPECT_EQ(run_command(du_command, {"/data"}, fs).code, 0);
      EXPECT_EQ(run_command(diff_command, {"/data", "/data"}, fs).code, 0);
    }
  }
  EXPECT_GT(directories, 40);
}

}  // namespace
}  // namespace cordwood::offline
