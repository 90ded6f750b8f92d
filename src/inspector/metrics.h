// inspector/metrics.h — the numbers of a broker, or of a directory, in the text format of Prometheus.
//
// Names are those that the usual rules of the JMX exporter give to Apache Kafka's beans, so that dashboards go on working; what
// Kafka does not have begins with cordwood_. Rates are left to whoever scrapes. Bounded: of more than kMostSeries partitions (or
// topics) the first by name have series of their own, and cordwood_metrics_left_out says how many have none.
#pragma once

#include <string>

#include "base/clock.h"
#include "broker/view.h"
#include "inspector/source.h"

namespace cordwood::inspector {

inline constexpr std::size_t kMostSeries = 2000;

// `view` is null for a directory. `files` is where /proc is looked for.
std::string metrics_text(Source& source, const broker::View* view, io::FileSystem& files, const Clock& clock, std::string_view version);

// As a label's value: quotes, backslashes and line ends escaped.
std::string escape_label(std::string_view text);

}  // namespace cordwood::inspector
