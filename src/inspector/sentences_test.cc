#include "inspector/sentences.h"

#include <gtest/gtest.h>

namespace cordwood::inspector {
namespace {

TEST(Sentences, WriteNumbersAsThePageDoes) {
  struct Case {
    const char* from;
    const char* to;
  };
  for (const Case& c : {
           Case{"6704 offsets, from 0 to 6704, in 1.5 MiB.", "6,704 offsets, from 0 to 6,704, in 1.5 MiB."},
           Case{"1234567", "1,234,567"},
           Case{"offset 999: 1000, (10000) and 100000.", "offset 999: 1,000, (10,000) and 100,000."},
           Case{"9223372036854775807 bytes", "9,223,372,036,854,775,807 bytes"},
           // What is no number of this kind.
           Case{"at 2026-01-31T23:59:59.123Z, 2026-01-31", "at 2026-01-31T23:59:59.123Z, 2026-01-31"},
           Case{"00000000000000006704.log and 00000000000000006704", "00000000000000006704.log and 00000000000000006704"},
           Case{"orders-2024, /data/2024/x, v4.40000, x_1000", "orders-2024, /data/2024/x, v4.40000, x_1000"},
           Case{"retention.ms=604800000, 0x12345678, 12345678ab", "retention.ms=604800000, 0x12345678, 12345678ab"},
           Case{"\xc3\xa4" "1000 and 1,000", "\xc3\xa4" "1000 and 1,000"},
           Case{"", ""},
       }) {
    EXPECT_EQ(with_separators(c.from), c.to);
  }
}

}  // namespace
}  // namespace cordwood::inspector
