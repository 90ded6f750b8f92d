// find DIR [TOPIC[:PARTITION]…]: the records that satisfy all that is asked for, in the order of the logs, read by all cores.
#include <algorithm>

#include "cli/command.h"
#include "cli/help.h"
#include "offline/data_directory.h"
#include "offline/record_filter.h"
#include "offline/record_printer.h"
#include "offline/record_walk.h"
#include "offline/rendering.h"
#include "offline/segment_extract.h"
#include "record/record_walk.h"

namespace cordwood::offline {
namespace {

using cli::Options;
using cli::Session;

constexpr std::string_view kFindByteForms[] = {"text", "hex", "base64", "json"};
constexpr std::string_view kFindFormats[] = {"text", "json", "csv", "raw", "segment"};

constexpr cli::OptionSpec kFindOptions[] = {
    {.name = "key", .argument = "KEY", .help = "records with exactly this key", .letter = 'k'},
    {.name = "key-form", .argument = "FORM", .help = "how KEY is written", .default_text = "text", .choices = kFindByteForms},
    {.name = "key-matches", .argument = "REGEX", .help = "records whose key matches, anywhere in it"},
    {.name = "value-matches", .argument = "REGEX", .help = "records whose value matches, anywhere in it", .letter = 'm'},
    {.name = "header", .argument = "NAME[=VALUE]", .help = "records with this header", .repeatable = true},
    {.name = "from-time", .argument = "TIME", .help = "not older: 2026-01-31T23:59:59Z, milliseconds, or -2h"},
    {.name = "to-time", .argument = "TIME", .help = "older than this"},
    {.name = "from-offset", .argument = "OFFSET", .help = "from this offset on"},
    {.name = "to-offset", .argument = "OFFSET", .help = "below this offset"},
    {.name = "producer-id", .argument = "ID", .help = "records of this producer"},
    {.name = "min-size", .argument = "SIZE", .help = "key and value together at least so many bytes"},
    {.name = "max-size", .argument = "SIZE", .help = "key and value together at most so many bytes"},
    {.name = "tombstones", .help = "records without a value"},
    {.name = "control", .help = "transaction markers and other control records too"},
    {.name = "limit", .argument = "N", .help = "stop after so many records", .letter = 'n'},
    {.name = "count", .help = "print how many there are instead of the records", .letter = 'c'},
    {.name = "format", .argument = "FORMAT", .help = "how records are printed", .letter = 'f', .default_text = "text", .choices = kFindFormats},
    {.name = "json", .help = "the same as --format json"},
    {.name = "keys", .argument = "FORM", .help = "how keys are printed", .default_text = "text", .choices = kFindByteForms},
    {.name = "values", .argument = "FORM", .help = "how values are printed", .default_text = "text", .choices = kFindByteForms},
    {.name = "no-decode", .help = "records of internal topics as bytes"},
    {.name = "to", .argument = "DIR", .help = "with --format segment: where the partition directories are made"},
    {.name = "help", .help = "this text", .letter = 'h'},
};
constexpr cli::Positional kFindPositionals[] = {
    {.name = "DIR", .help = "a log directory, several with commas, or a partition directory"},
    {.name = "TOPIC", .help = "or TOPIC:PARTITION; a topic may end in *; all but the metadata log when absent", .required = false, .repeatable = true},
};
constexpr cli::Grammar kFindGrammar{.habit = cli::Habit::own, .options = kFindOptions, .positionals = kFindPositionals};

struct FindWish {
  RecordFilter filter;
  PrintSettings print;
  std::optional<std::int64_t> limit;
  bool count_only = false;
  bool as_segment = false;
  std::string to;
};

// The value of an option of which only one makes sense.
template <class T>
Result<T> find_asked(cli::Parsed<T> parsed) {
  if (!parsed) return Error{Errc::invalid, parsed.mistake().message};
  return *std::move(parsed);
}

Result<ByteForm> find_form(const Options& options, const char* name) {
  const std::optional<std::string> form = TRY(find_asked(options.value(name)));
  return parse_byte_form(form.value_or("text"));
}

Result<ByteVector> find_key(const std::string& text, ByteForm form) {
  if (form == ByteForm::hex) return parse_hex(text);
  if (form == ByteForm::base64) return parse_base64(text);
  return to_vector(as_bytes(text));
}

Result<FindWish> find_wish(const Options& options, TimestampMs now) {
  FindWish wish;
  RecordFilter& filter = wish.filter;
  const auto text = [&](const char* name) { return find_asked(options.value(name)); };
  const auto number = [&](const char* name) { return find_asked(options.long_value(name)); };
  if (const auto key = TRY(text("key"))) {
    const ByteForm form = TRY(find_form(options, "key-form"));
    filter.key = TRY(find_key(*key, form));
  }
  if (const auto expression = TRY(text("key-matches"))) filter.key_expression = TRY(RegularExpression::parse(*expression));
  if (const auto expression = TRY(text("value-matches"))) filter.value_expression = TRY(RegularExpression::parse(*expression));
  for (const std::string& header : options.values("header")) {
    const std::size_t equals = header.find('=');
    RecordFilter::Header& wanted = filter.headers.emplace_back();
    wanted.name = header.substr(0, equals);
    if (equals != std::string::npos) wanted.value = header.substr(equals + 1);
  }
  if (const auto time = TRY(text("from-time"))) filter.from_time = TRY(parse_time(*time, now));
  if (const auto time = TRY(text("to-time"))) filter.end_time = TRY(parse_time(*time, now));
  if (const auto offset = TRY(number("from-offset"))) filter.offsets.from = Offset{*offset};
  if (const auto offset = TRY(number("to-offset"))) filter.offsets.end = Offset{*offset};
  filter.producer_id = TRY(number("producer-id"));
  if (const auto size = TRY(text("min-size"))) filter.min_size = TRY(parse_size(*size));
  if (const auto size = TRY(text("max-size"))) filter.max_size = TRY(parse_size(*size));
  filter.tombstones_only = options.has("tombstones");
  filter.control_records = options.has("control");

  wish.limit = TRY(number("limit"));
  wish.count_only = options.has("count");
  const std::string format = options.has("json") ? "json" : TRY(text("format")).value_or("text");
  if (format == "json") wish.print.form = RecordForm::json;
  if (format == "csv") wish.print.form = RecordForm::csv;
  if (format == "raw") wish.print.form = RecordForm::raw;
  wish.as_segment = format == "segment";
  wish.print.keys = TRY(find_form(options, "keys"));
  wish.print.values = TRY(find_form(options, "values"));
  wish.print.decode_internal = !options.has("no-decode");
  wish.to = TRY(text("to")).value_or("");
  if (wish.as_segment && wish.to.empty()) return Error{Errc::invalid, "--format segment needs --to DIR"};
  return wish;
}

// What one piece of a segment gave.
struct FindPart {
  std::string text;               // as it is printed, or batches
  std::vector<std::size_t> ends;  // of each record in `text`, or of each batch
  std::vector<Offset> bases;      // of each batch
  std::int64_t found = 0;
  std::vector<Damage> damage;
  std::optional<Error> error;
};

class FindWork {
 public:
  explicit FindWork(const FindWish& wish) : wish_(wish), required_(wish.filter.required_bytes()) {}

  FindPart operator()(const Piece& piece) const {
    FindPart part;
    const auto look = [&](BytesView entry, const record::EntryInfo& info, FilePosition position) {
      if (Result<void> walked = batch(piece, entry, info, part); !walked) {
        part.damage.push_back({position, info.size, walked.error().what});
      }
      return record::Walk::go_on;
    };
    auto damage = walk_entries(*piece.file, piece.from, piece.end, piece.on_disk().base_offset, look);
    if (damage) {
      part.damage.insert(part.damage.end(), damage->begin(), damage->end());
      std::ranges::stable_sort(part.damage, {}, &Damage::position);
    } else {
      part.error = damage.error();
    }
    return part;
  }

 private:
  Result<void> batch(const Piece& piece, BytesView entry, const record::EntryInfo& info,
                     FindPart& part) const {
    if (info.header && !wish_.filter.may_hold(*info.header)) return {};
    if (!info.header && wish_.filter.producer_id) return {};
    const record::BatchHeader* header = info.header ? &*info.header : nullptr;
    BatchExtract extract;
    const auto look = [&](const record::RecordView& record) {
      if (!wish_.filter.wants(record)) {
        extract.whole = false;
        return record::Walk::go_on;
      }
      ++part.found;
      if (wish_.as_segment) {
        if (header != nullptr) extract.add(*header, record);
      } else if (!wish_.count_only) {
        print_record(part.text, wish_.print, piece.partition->partition, header, record);
        part.ends.push_back(part.text.size());
      }
      return record::Walk::go_on;
    };
    if (header == nullptr) {
      TRY(walk_records_of(entry, info, look));
      return {};
    }
    record::ScratchBuffer scratch;
    const BytesView plain = TRY(record::plain_records(record::BatchView(entry), *header, kWalkLimits, scratch));
    if (!required_.empty() && ::memmem(plain.data(), plain.size(), required_.data(), required_.size()) == nullptr) return {};
    const std::int64_t largest = header->codec_bits() == 0 ? INT64_MAX : kWalkLimits.largest_record.value;
    record::RecordView record;
    const record::WalkEnd end = record::walk_plain_records(*header, plain, largest, record, look);
    if (!end.ok()) return record::structure_error(end);
    if (wish_.as_segment && !extract.empty()) {
      part.text += as_text(extract.finish(*header, entry));
      part.ends.push_back(part.text.size());
      part.bases.push_back(header->base_offset);
    }
    return {};
  }

  const FindWish& wish_;
  const BytesView required_;
};

// Prints what the pieces gave, in their order.
class FindOutput {
 public:
  FindOutput(const FindWish& wish, Session& session, Progress& progress) : wish_(wish), session_(session), progress_(progress) {}

  record::Walk take(const Piece& piece, FindPart part) {
    progress_.advance(piece.end - piece.from);
    tell_damage(piece, part);
    std::int64_t wanted = part.found;
    if (wish_.limit) wanted = std::min(wanted, *wish_.limit - found_);
    found_ += wanted;
    if (wish_.as_segment) {
      for (std::size_t i = 0; i < part.ends.size(); ++i) {
        const std::size_t start = i == 0 ? 0 : part.ends[i - 1];
        const std::string_view batch = std::string_view(part.text).substr(start, part.ends[i] - start);
        if (Result<void> written = extract_.write(session_.files, wish_.to, *piece.partition, part.bases[i], as_bytes(batch)); !written) {
          error_ = written.error();
          return record::Walk::stop;
        }
      }
    } else if (!wish_.count_only && wanted > 0) {
      progress_.clear();
      if (wish_.print.form == RecordForm::csv && !std::exchange(headed_, true)) session_.out.write(csv_heading());
      session_.out.write(std::string_view(part.text).substr(0, part.ends[static_cast<std::size_t>(wanted - 1)]));
    }
    const bool enough = wish_.limit && found_ >= *wish_.limit;
    return enough || session_.out.failed() ? record::Walk::stop : record::Walk::go_on;
  }

  Result<int> finish(const PiecePlan& plan) {
    progress_.clear();
    for (const std::string& warning : plan.warnings()) session_.err.print("cordwood find: passed over: {}\n", warning);
    if (error_) return *error_;
    if (wish_.as_segment) {
      TRY(extract_.finish());
      session_.out.print("{} records in {}\n", found_, wish_.to);
    }
    if (wish_.count_only) session_.out.print("{}\n", found_);
    if (damaged_ > ByteCount{0}) session_.err.print("cordwood find: {} bytes could not be read as batches\n", damaged_);
    return 0;
  }

 private:
  void tell_damage(const Piece& piece, const FindPart& part) {
    if (part.damage.empty() && !part.error) return;
    progress_.clear();
    const io::Path file = piece.partition->log_file(piece.on_disk());
    for (const Damage& damage : part.damage) {
      session_.err.print("cordwood find: passed over: {} bytes of {} at {}: {}\n", damage.size, file, damage.position, damage.why);
      damaged_ += damage.size;
    }
    if (part.error) session_.err.print("cordwood find: passed over: {}: {}\n", file, part.error->message());
  }

  const FindWish& wish_;
  Session& session_;
  Progress& progress_;
  SegmentExtract extract_;
  std::int64_t found_ = 0;
  ByteCount damaged_{0};
  bool headed_ = false;
  std::optional<Error> error_;
};

Result<int> find_records(const Options& options, Session& session) {
  const FindWish wish = TRY(find_wish(options, session.clock.now()));
  if (wish.limit && *wish.limit <= 0) return 0;
  const std::vector<std::string> choices(options.words().begin() + 1, options.words().end());
  const DataDirectory data = TRY(open_data_directory(session.files, options.words().front()));
  const auto partitions = TRY(choose(data, choices));
  for (const std::string& warning : data.warnings) session.err.print("cordwood find: {}\n", warning);
  if (data.in_use()) session.err.print("cordwood find: a broker is using the directory: what it writes meanwhile may be missing\n");
  PiecePlan plan(session.files, partitions, wish.filter.offsets);
  Progress progress(session, "find", plan.total());
  FindOutput output(wish, session, progress);
  for_each_piece(plan, walking_threads(), session.interrupted, FindWork(wish),
                 [&](const Piece& piece, FindPart part) { return output.take(piece, std::move(part)); });
  return output.finish(plan);
}

int run_find(const cli::Command& self, const cli::Words& words, Session& session) {
  return cli::run_own(self, words, session, find_records);
}

}  // namespace

extern const cli::Command find_command{
    .name = "find",
    .summary = "search the records of log directories",
    .details = "Files are only read, also beside a running broker. Damaged parts are passed over and told on stderr.\n"
               "With --format segment whole batches or what is wanted of them go to DIR/TOPIC-PARTITION, with their offsets; "
               "transactions are taken for granted there, and their records are plain ones.",
    .grammar = &kFindGrammar,
    .run = run_find,
};

}  // namespace cordwood::offline
