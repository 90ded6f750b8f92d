// kafka-dump-log: the files of a log as text. As org.apache.kafka.tools.DumpLogSegments of Kafka 4.4.0, to the line; read-only.
#include <fmt/format.h>

#include <algorithm>

#include "cli/command.h"
#include "offline/dump/index_dump.h"
#include "offline/dump/kafka_records.h"
#include "offline/dump/segment_dump.h"
#include "offline/record_walk.h"

namespace cordwood::offline {
namespace {

constexpr std::string_view kDumpStringDecoder = "org.apache.kafka.tools.api.StringDecoder";

constexpr cli::OptionSpec kDumpOptions[] = {
    {.name = "cluster-metadata-decoder", .help = "show the records as those of __cluster_metadata; with contents"},
    {.name = "deep-iteration", .help = "a line for each record, and not for each batch alone"},
    {.name = "files", .argument = "FILE,…", .help = "the files: .log, .index, .timeindex, .txnindex, .snapshot, .checkpoint", .required = true},
    {.name = "help", .help = "this text"},
    {.name = "index-sanity-check", .help = "check index files as a broker does when it starts, and print no entries"},
    {.name = "key-decoder-class", .argument = "CLASS", .help = "StringDecoder, IntegerDecoder, LongDecoder or DefaultDecoder of org.apache.kafka.tools.api; with contents",
     .default_text = kDumpStringDecoder, .value_is_optional = true},
    {.name = "max-bytes", .argument = "BYTES", .help = "look at so many bytes of each .log at most", .default_text = "2147483647"},
    {.name = "max-message-size", .argument = "BYTES", .help = "size of the largest batch that an index may point to", .default_text = "5242880"},
    {.name = "offsets-decoder", .help = "show the records as those of __consumer_offsets; with contents"},
    {.name = "print-data-log", .help = "records with keys and values"},
    {.name = "remote-log-metadata-decoder", .help = "show the records as those of __remote_log_metadata; with contents"},
    {.name = "share-group-state-decoder", .help = "show the records as those of __share_group_state; with contents"},
    {.name = "skip-record-metadata", .help = "of each record only key and value; nothing of control records"},
    {.name = "transaction-log-decoder", .help = "show the records as those of __transaction_state; with contents"},
    {.name = "value-decoder-class", .argument = "CLASS", .help = "as key-decoder-class, for values", .default_text = kDumpStringDecoder,
     .value_is_optional = true},
    {.name = "verify-index-only", .help = "compare index files with their .log, and print no entries"},
    {.name = "version", .help = "the version of Kafka that this tool behaves like"},
};

constexpr cli::Grammar kDumpGrammar{.habit = cli::Habit::joptsimple, .usage = "--files FILE,… [options]", .options = kDumpOptions};

// What went wrong with the words, as an exception.
Error dump_mistake(const cli::ParseMistake& mistake) {
  return kafka_error(fmt::format("{}: {}", mistake.java_class(), mistake.message));
}

Result<std::int32_t> dump_number(const cli::Options& options, std::string_view name, std::int32_t otherwise) {
  auto value = options.int_value(name);
  if (!value && value.mistake().kind == cli::ParseMistake::Kind::conversion) {
    const std::string cause = fmt::format("java.lang.NumberFormatException: For input string: \"{}\"", options.values(name).front());
    return kafka_error(fmt::format("{}\nCaused by: joptsimple.internal.ReflectionException: {}\nCaused by: {}",
                                   dump_mistake(value.mistake()).what, cause, cause));
  }
  if (!value) return dump_mistake(value.mistake());
  return value->value_or(otherwise);
}

Result<std::string> dump_class(const cli::Options& options, std::string_view name) {
  auto value = options.value(name);
  if (!value) return dump_mistake(value.mistake());
  return value->value_or(std::string(kDumpStringDecoder));
}

class DumpLog {
 public:
  DumpLog(const cli::Options& options, cli::Session& session)
      : options_(options), session_(session), out_(session.out), err_(session.err) {}

  Result<void> run() {
    auto files = options_.value("files");
    if (!files) return dump_mistake(files.mistake());
    io::Path here = TRY(session_.files.canonical("."));
    for (const std::string& name : split(**files)) {
      if (session_.interrupted || out_.failed()) break;
      FileToDump file;
      file.opened = java_path(name);
      file.absolute = file.opened.starts_with('/') ? file.opened : file.opened.empty() ? here : here + "/" + file.opened;
      out_.text("Dumping ");
      out_.text(file.opened);
      out_.character('\n');
      TRY(dump(file));
    }
    print_faults();
    return {};
  }

 private:
  // As String.split: empty pieces at the end fall away.
  static std::vector<std::string> split(const std::string& list) {
    std::vector<std::string> pieces(1);
    for (const char c : list) {
      if (c == ',') {
        pieces.emplace_back();
      } else {
        pieces.back() += c;
      }
    }
    while (pieces.size() > 1 && pieces.back().empty()) pieces.pop_back();
    if (pieces.size() == 1 && pieces[0].empty() && !list.empty()) pieces.clear();
    return pieces;
  }

  Result<void> dump(const FileToDump& file) {
    const std::string_view name = io::file_name(file.opened);
    const std::size_t dot = name.rfind('.');
    const std::string_view suffix = dot == std::string_view::npos ? std::string_view() : name.substr(dot);
    if (suffix == ".log" || suffix == ".checkpoint") return segment(file, suffix);
    const IndexDumpMode mode = options_.has("index-sanity-check")  ? IndexDumpMode::sanity
                               : options_.has("verify-index-only") ? IndexDumpMode::verify
                                                                   : IndexDumpMode::print;
    if (suffix == ".index") {
      const std::int32_t max_message_size = TRY(dump_number(options_, "max-message-size", 5 * 1024 * 1024));
      OffsetPairs mismatches;
      Result<void> dumped = dump_offset_index(session_.files, file, mode, max_message_size, mismatches, out_);
      remember(mismatches_, file.absolute, std::move(mismatches));
      return dumped;
    }
    if (suffix == ".timeindex") {
      time_faults_.emplace_back(file.absolute, TimeIndexFaults());
      return dump_time_index(session_.files, file, mode, time_faults_.back().second, out_);
    }
    if (suffix == ".snapshot") return dump_producer_snapshot(session_.files, file, out_, err_);
    if (suffix == ".txnindex") return dump_txn_index(session_.files, file, out_);
    err_.text("Ignoring unknown file ");
    err_.text(file.opened);
    err_.character('\n');
    return {};
  }

  bool shows_contents() const {
    for (const std::string_view name : {"print-data-log", "offsets-decoder", "transaction-log-decoder", "cluster-metadata-decoder",
                                        "remote-log-metadata-decoder", "value-decoder-class", "key-decoder-class", "share-group-state-decoder"}) {
      if (options_.has(name)) return true;
    }
    return false;
  }

  Result<std::unique_ptr<RecordDecoder>> decoder() const {
    if (options_.has("offsets-decoder")) return offsets_decoder();
    if (options_.has("transaction-log-decoder")) return transaction_log_decoder();
    if (options_.has("cluster-metadata-decoder")) return cluster_metadata_decoder();
    if (options_.has("remote-log-metadata-decoder")) return remote_log_metadata_decoder();
    if (options_.has("share-group-state-decoder")) return share_group_state_decoder();
    const std::string value = TRY(dump_class(options_, "value-decoder-class"));
    const std::string key = TRY(dump_class(options_, "key-decoder-class"));
    return class_decoder(key, value);
  }

  Result<void> segment(const FileToDump& file, std::string_view suffix) {
    SegmentDumpOptions how;
    how.contents = shows_contents();
    how.records = how.contents || options_.has("deep-iteration");
    const std::unique_ptr<RecordDecoder> decoder_of_records = TRY(decoder());
    how.record_metadata = !options_.has("skip-record-metadata");
    how.max_bytes = TRY(dump_number(options_, "max-bytes", INT32_MAX));
    how.threads = walking_threads();
    const std::string_view name = io::file_name(file.opened);
    if (suffix == ".log") {
      const std::int64_t base_offset = TRY(offset_in_name(name));
      out_.text("Log starting offset: ");
      out_.number(base_offset);
      out_.character('\n');
    } else if (name == "bootstrap.checkpoint") {
      out_.text("KRaft bootstrap snapshot\n");
    } else {
      TRY(snapshot_name(name));
    }
    auto opened = session_.files.open(file.absolute, io::OpenMode::read);
    if (!opened) return java_open_error(opened.error(), file.opened);
    const ByteCount size = TRY((*opened)->size());
    if (size.value > INT32_MAX) {
      return kafka_error(fmt::format("org.apache.kafka.common.KafkaException: The size of segment {} ({}) is larger than the maximum allowed "
                                     "segment size of {}", file.opened, size, INT32_MAX));
    }
    if (how.max_bytes < 0) {
      return kafka_error(fmt::format("java.lang.IllegalArgumentException: Invalid size: {} in read from FileRecords(size={}, file={}, start=0, "
                                     "end={})", how.max_bytes, size, file.opened, INT32_MAX));
    }
    OffsetPairs gaps;
    Result<void> dumped = dump_segment(**opened, file.opened, how, *decoder_of_records, gaps, out_);
    remember(gaps_, file.absolute, std::move(gaps));
    return dumped;
  }

  // <end offset, 20 digits>-<epoch, 10 digits>.checkpoint
  Result<void> snapshot_name(std::string_view name) {
    constexpr std::size_t kOffsetDigits = 20;
    constexpr std::size_t kEpochDigits = 10;
    if (name.size() < kOffsetDigits + 1 + kEpochDigits) {
      return kafka_error(fmt::format("java.lang.StringIndexOutOfBoundsException: begin 0, end {}, length {}", kOffsetDigits, name.size()));
    }
    const std::string_view offset_digits = name.substr(0, kOffsetDigits);
    const std::string_view epoch_digits = name.substr(kOffsetDigits + 1, kEpochDigits);
    const auto offset = parse_java_long(offset_digits);
    const auto epoch = parse_java_long(epoch_digits);
    if (!offset || !epoch || *epoch > INT32_MAX || *epoch < INT32_MIN) {
      return kafka_error(fmt::format("java.lang.NumberFormatException: For input string: \"{}\"", offset ? epoch_digits : offset_digits));
    }
    out_.text(fmt::format("Snapshot end offset: {}, epoch: {}\n", *offset, *epoch));
    return {};
  }

  using FaultsByFile = std::vector<std::pair<std::string, OffsetPairs>>;

  static void remember(FaultsByFile& faults, const std::string& path, OffsetPairs found) {
    if (found.empty()) return;
    for (auto& [known, all] : faults) {
      if (known != path) continue;
      for (const auto& [key, value] : found) all[key] = value;
      return;
    }
    faults.emplace_back(path, std::move(found));
  }

  template <class Faults>
  static std::vector<std::size_t> file_order(const std::vector<std::pair<std::string, Faults>>& faults) {
    std::vector<std::string> names;
    for (const auto& [name, found] : faults) names.push_back(name);
    return java_hash_order(names);
  }

  void print_faults() {
    for (const std::size_t i : file_order(mismatches_)) {
      err_.text("Mismatches in :" + mismatches_[i].first + "\n");
      for (const auto& [index, log] : mismatches_[i].second) {
        err_.text(fmt::format("  Index offset: {}, log offset: {}\n", index, log));
      }
    }
    print_time_faults("Found timestamp mismatch in :", "  Index timestamp: {}, log timestamp: {}\n", &TimeIndexFaults::wrong_timestamps);
    print_time_faults("Found out of order timestamp in :", "  Index timestamp: {}, Previously indexed timestamp: {}\n",
                      &TimeIndexFaults::out_of_order);
    print_time_faults("The following indexed offsets are not found in :", "Indexed offset: {}, found log offset: {}\n",
                      &TimeIndexFaults::wrong_offsets);
    for (const std::size_t i : file_order(gaps_)) {
      err_.text("Non-consecutive offsets in " + gaps_[i].first + "\n");
      for (const auto& [before, after] : gaps_[i].second) err_.text(fmt::format("  {} is followed by {}\n", before, after));
    }
  }

  void print_time_faults(std::string_view title, std::string_view line, LongPairs TimeIndexFaults::*which) {
    // A file that was named twice has its faults together.
    std::vector<std::pair<std::string, LongPairs>> files;
    for (const auto& [name, faults] : time_faults_) {
      if ((faults.*which).empty()) continue;
      auto known = std::ranges::find(files, name, &std::pair<std::string, LongPairs>::first);
      if (known == files.end()) known = files.insert(files.end(), {name, {}});
      known->second.insert(known->second.end(), (faults.*which).begin(), (faults.*which).end());
    }
    for (const std::size_t i : file_order(files)) {
      err_.text(fmt::format("{}{}\n", title, files[i].first));
      for (const auto& [index, log] : files[i].second) err_.text(fmt::format(fmt::runtime(line), index, log));
    }
  }

  const cli::Options& options_;
  cli::Session& session_;
  TextWriter out_;
  TextWriter err_;
  FaultsByFile mismatches_;
  FaultsByFile gaps_;
  std::vector<std::pair<std::string, TimeIndexFaults>> time_faults_;
};

int uncaught(cli::Session& session, std::string_view exception) {
  session.out.flush();
  session.err.print("Exception in thread \"main\" {}\n", exception);
  return 1;
}

int run_dump_log(const cli::Command&, const cli::Words& words, cli::Session& session) {
  auto options = cli::parse_options(kDumpGrammar, words);
  if (!options) return uncaught(session, dump_mistake(options.mistake()).what);
  const auto table = [&](std::string_view message) {
    session.err.print("{}\n", message);
    session.err.write(cli::option_table(kDumpGrammar, session.err.columns()));
    return 1;
  };
  if (words.empty() || options->has("help")) {
    return table("This tool helps to parse a log file and dump its contents to the console, useful for debugging a seemingly corrupt log segment.");
  }
  if (options->has("version")) {
    session.out.print("{}\n", cli::kKafkaVersion);
    return 0;
  }
  if (!options->has("files")) return table("Missing required argument \"[files]\"");
  const Result<void> dumped = DumpLog(*options, session).run();
  if (!dumped) return uncaught(session, dumped.error().code == Errc::corrupt ? dumped.error().what : "java.io.IOException: " + dumped.error().message());
  return 0;
}

}  // namespace

extern const cli::Command dump_log_command;
const cli::Command dump_log_command{
    .name = "dump-log",
    .kafka_name = "kafka-dump-log",
    .summary = "the files of a log as text: batches, records, index entries, snapshots",
    .grammar = &kDumpGrammar,
    .run = run_dump_log,
};

}  // namespace cordwood::offline
