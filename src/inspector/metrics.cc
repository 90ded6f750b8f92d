#include "inspector/metrics.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <vector>

namespace cordwood::inspector {
namespace {

class MetricsText {
 public:
  void family(std::string_view name, std::string_view type, std::string_view help) {
    name_ = name;
    fmt::format_to(std::back_inserter(out_), "# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
  }
  // `labels` as they stand in braces; empty: none.
  template <class Number>
  void sample(std::string_view labels, Number value) {
    out_ += name_;
    if (!labels.empty()) {
      out_ += '{';
      out_ += labels;
      out_ += '}';
    }
    fmt::format_to(std::back_inserter(out_), " {}\n", value);
  }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
  std::string name_;
};

// What /proc/self/stat says. Absent elsewhere.
struct ProcessStat {
  double cpu_seconds = 0;
  std::int64_t virtual_bytes = 0;
  std::int64_t resident_bytes = 0;
};

std::optional<ProcessStat> read_process_stat(io::FileSystem& files) {
  // Its size is told as 0: it is read, and not asked for that.
  const auto file = files.open("/proc/self/stat", io::OpenMode::read);
  if (!file) return {};
  ByteVector bytes(4 * KiB);
  const auto count = (*file)->read_at(FilePosition{0}, bytes);
  if (!count) return {};
  std::string_view text = as_text(BytesView(bytes).first(*count));
  // The program's name may hold anything, brackets too.
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string_view::npos) return {};
  text.remove_prefix(name_end + 1);
  std::vector<std::int64_t> fields;  // from the third one on
  while (!text.empty()) {
    const std::size_t begin = text.find_first_not_of(" \n");
    if (begin == std::string_view::npos) break;
    text.remove_prefix(begin);
    const std::size_t end = std::min(text.find_first_of(" \n"), text.size());
    std::int64_t number = 0;
    std::from_chars(text.data(), text.data() + end, number);  // the state is a letter, and stays 0
    fields.push_back(number);
    text.remove_prefix(end);
  }
  if (fields.size() < 22) return {};
  const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  return ProcessStat{static_cast<double>(fields[11] + fields[12]) / ticks, fields[20], fields[21] * ::sysconf(_SC_PAGESIZE)};
}

void add_process(MetricsText& text, io::FileSystem& files) {
  if (const auto stat = read_process_stat(files)) {
    text.family("process_cpu_seconds_total", "counter", "CPU time of this process, in seconds.");
    text.sample("", stat->cpu_seconds);
    text.family("process_virtual_memory_bytes", "gauge", "Virtual memory, in bytes.");
    text.sample("", stat->virtual_bytes);
    text.family("process_resident_memory_bytes", "gauge", "Resident memory, in bytes.");
    text.sample("", stat->resident_bytes);
  }
  if (const auto open = files.list("/proc/self/fd")) {
    text.family("process_open_fds", "gauge", "Open file descriptors.");
    text.sample("", open->size());
  }
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    text.family("process_max_fds", "gauge", "How many file descriptors may be open.");
    text.sample("", limit.rlim_cur);
  }
}

struct PartitionNumbers {
  TopicPartition name;
  std::string labels;
  std::shared_ptr<storage::PartitionLog> log;
  broker::Partition::Leadership role;
};

template <class Number>
void add_of_partitions(MetricsText& text, const std::vector<PartitionNumbers>& partitions, std::string_view name, std::string_view help,
                       Number number) {
  text.family(name, "gauge", help);
  for (const PartitionNumbers& partition : partitions) text.sample(partition.labels, number(partition));
}

void add_broker(MetricsText& text, const broker::View& view) {
  const auto all = view.partitions();
  std::vector<PartitionNumbers> partitions;
  partitions.reserve(all.size());
  std::int64_t led = 0;
  std::int64_t under_replicated = 0;
  std::int64_t under_min_isr = 0;
  std::int64_t offline = 0;
  for (const auto& partition : all) {
    const broker::Partition::Leadership role = partition->leadership();
    if (role.is_leader) ++led;
    if (role.is_leader && role.isr_size < role.replica_count) ++under_replicated;
    if (role.is_leader && static_cast<std::int32_t>(role.isr_size) < partition->log()->config().min_insync_replicas) ++under_min_isr;
    if (!role.leader) ++offline;
    partitions.push_back({partition->name(), {}, partition->log(), role});
  }
  text.family("kafka_server_replicamanager_partitioncount", "gauge", "Partitions on this broker.");
  text.sample("", partitions.size());
  text.family("kafka_server_replicamanager_leadercount", "gauge", "Partitions that this broker leads.");
  text.sample("", led);
  text.family("kafka_server_replicamanager_underreplicatedpartitions", "gauge", "Led partitions with fewer replicas in sync than they have.");
  text.sample("", under_replicated);
  text.family("kafka_server_replicamanager_underminisrpartitioncount", "gauge", "Led partitions with fewer replicas in sync than min.insync.replicas.");
  text.sample("", under_min_isr);
  text.family("kafka_server_replicamanager_offlinereplicacount", "gauge", "Replicas on log directories that have failed.");
  const auto directories = view.directories();
  const auto image = view.image();
  std::int64_t known = 0;
  for (const auto& [name, topic] : image->topics) known += static_cast<std::int64_t>(topic->partitions.size());
  text.sample("", std::max<std::int64_t>(known - static_cast<std::int64_t>(partitions.size()), 0) +
                      std::ranges::count_if(all, [](const auto& one) { return one->check_leader(-1) == protocol::ErrorCode::KAFKA_STORAGE_ERROR; }));
  text.family("kafka_controller_kafkacontroller_activecontrollercount", "gauge", "1 on the broker that is the active controller.");
  text.sample("", 1);
  text.family("kafka_controller_kafkacontroller_offlinepartitionscount", "gauge", "Partitions without a leader.");
  text.sample("", offline);
  text.family("kafka_controller_kafkacontroller_globaltopiccount", "gauge", "Topics.");
  text.sample("", image->topics.size());
  text.family("kafka_controller_kafkacontroller_globalpartitioncount", "gauge", "Partitions of all topics.");
  text.sample("", known);
  text.family("kafka_log_logmanager_offlinelogdirectorycount", "gauge", "Log directories that have failed.");
  text.sample("", std::ranges::count_if(directories, [](const auto& one) { return one.offline.has_value(); }));
  text.family("kafka_coordinator_group_groupmetadatamanager_numgroups", "gauge", "Consumer groups.");
  text.sample("", view.group_count());

  text.family("kafka_network_requestmetrics_requests_total", "counter", "Requests since the start.");
  for (const auto& [name, count] : view.requests()) text.sample(fmt::format("request=\"{}\"", name), count);

  std::ranges::sort(partitions, {}, &PartitionNumbers::name);
  const std::size_t left_out = partitions.size() > kMostSeries ? partitions.size() - kMostSeries : 0;
  if (left_out > 0) partitions.resize(kMostSeries);
  for (PartitionNumbers& partition : partitions) {
    partition.labels = fmt::format("topic=\"{}\",partition=\"{}\"", escape_label(partition.name.topic), partition.name.partition);
  }
  add_of_partitions(text, partitions, "kafka_log_log_size", "Bytes of all segments of the log.",
                    [](const PartitionNumbers& one) { return one.log->size().value; });
  add_of_partitions(text, partitions, "kafka_log_log_logstartoffset", "The first offset that may be read.",
                    [](const PartitionNumbers& one) { return one.log->log_start_offset().value; });
  add_of_partitions(text, partitions, "kafka_log_log_logendoffset", "The offset of the next record.",
                    [](const PartitionNumbers& one) { return one.log->log_end_offset().value; });
  add_of_partitions(text, partitions, "kafka_log_log_numlogsegments", "Segments of the log.",
                    [](const PartitionNumbers& one) { return one.log->segments().size(); });
  add_of_partitions(text, partitions, "kafka_cluster_partition_underreplicated", "1 while fewer replicas are in sync than there are.",
                    [](const PartitionNumbers& one) { return one.role.isr_size < one.role.replica_count ? 1 : 0; });
  text.family("cordwood_metrics_left_out", "gauge", "Partitions, or topics, that have no series of their own, as there are too many.");
  text.sample("of=\"partitions\"", left_out);
}

void add_topics(MetricsText& text, const TopicTable& table, bool live) {
  std::vector<std::pair<std::string, const TopicFacts*>> shown;
  TopicFacts sum;
  for (const TopicFacts& facts : table.topics) {
    sum.records_in += facts.records_in;
    sum.bytes_in += facts.bytes_in;
    sum.bytes_out += facts.bytes_out;
    if (shown.size() < kMostSeries) shown.emplace_back(fmt::format("topic=\"{}\"", escape_label(facts.name)), &facts);
  }
  if (live) {
    const auto counter = [&](std::string_view name, std::string_view help, std::uint64_t TopicFacts::* number) {
      text.family(name, "counter", help);
      text.sample("", sum.*number);
      for (const auto& [labels, facts] : shown) text.sample(labels, facts->*number);
    };
    counter("kafka_server_brokertopicmetrics_messagesin_total", "Records that clients have written since the start.", &TopicFacts::records_in);
    counter("kafka_server_brokertopicmetrics_bytesin_total", "Bytes of them.", &TopicFacts::bytes_in);
    counter("kafka_server_brokertopicmetrics_bytesout_total", "Bytes of records that clients have read since the start.", &TopicFacts::bytes_out);
  }
  const auto gauge = [&](std::string_view name, std::string_view help, std::int64_t TopicFacts::* number) {
    text.family(name, "gauge", help);
    for (const auto& [labels, facts] : shown) text.sample(labels, facts->*number);
  };
  gauge("cordwood_topic_size_bytes", "Bytes of all segments of the topic.", &TopicFacts::size_bytes);
  gauge("cordwood_topic_records", "Log ends minus log starts.", &TopicFacts::records);
  gauge("cordwood_topic_partitions", "Partitions of the topic.", &TopicFacts::partitions);
  gauge("cordwood_topic_problems", "Partitions that are offline, loading, missing or damaged.", &TopicFacts::problems);
}

}  // namespace

std::string escape_label(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  return out;
}

std::string metrics_text(Source& source, const broker::View* view, io::FileSystem& files, const Clock& clock, std::string_view version) {
  MetricsText text;
  text.family("cordwood_build_info", "gauge", "1, with the version of Cordwood.");
  text.sample(fmt::format("version=\"{}\"", escape_label(version)), 1);
  const api::About about = source.about();
  if (about.started_ms) {
    text.family("process_start_time_seconds", "gauge", "When the broker started, in seconds since 1970.");
    text.sample("", fmt::format("{:.3f}", static_cast<double>(*about.started_ms) / 1000));
    text.family("cordwood_uptime_seconds", "gauge", "For how long it has run.");
    text.sample("", fmt::format("{:.3f}", static_cast<double>(clock.now().value - *about.started_ms) / 1000));
  }
  add_process(text, files);
  const auto directories = [&](std::string_view name, std::string_view help, auto number) {
    text.family(name, "gauge", help);
    for (const api::LogDir& log_dir : about.log_dirs) {
      const std::optional<std::int64_t> value = number(log_dir);
      if (value) text.sample(fmt::format("directory=\"{}\"", escape_label(log_dir.path)), *value);
    }
  };
  directories("cordwood_log_directory_size_bytes", "Bytes of all segments in the directory.",
              [](const api::LogDir& one) { return std::optional(one.size_bytes); });
  directories("cordwood_log_directory_free_bytes", "What is free on its disk.", [](const api::LogDir& one) { return one.free_bytes; });
  if (view != nullptr) add_broker(text, *view);
  add_topics(text, *source.topics(), view != nullptr);
  return text.take();
}

}  // namespace cordwood::inspector
