// broker/configs/golden_testing.h — the golden tables of tests/golden/configs, for the tests of this folder.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "base/source_path_testing.h"

namespace cordwood::broker::configs {

// The lines of a tab-separated file, each with `columns` columns; the heading line is kept.
inline std::vector<std::vector<std::string>> golden_rows(const std::string& name, std::size_t columns) {
  std::string path = source_path("tests/golden/configs/" + name);
  std::ifstream file(path);
  EXPECT_TRUE(file.good()) << path;
  std::vector<std::vector<std::string>> rows;
  for (std::string line; std::getline(file, line);) {
    std::vector<std::string> row;
    std::size_t from = 0;
    for (std::size_t tab; (tab = line.find('\t', from)) != std::string::npos; from = tab + 1) {
      row.push_back(line.substr(from, tab - from));
    }
    row.push_back(line.substr(from));
    EXPECT_EQ(row.size(), columns) << line;
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace cordwood::broker::configs
