// Finds the fields of one record of a table: between separators, in quotes where they hold one or a line end.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

namespace vizsla {

struct CsvField {
  std::size_t begin = 0, end = 0;  // without the quotes around it
  bool doubled = false;            // whether it holds quotes, which are written twice
};

// Reads records that are as they should be. Whatever is odd is left to Python, whose rules say what is wrong: another
// number of fields, a quote that is not closed or goes on, a line without an end, a NUL, very many lines.
class CsvRecord {
 public:
  CsvRecord(char separator, bool quotes, std::size_t width) : separator_(separator), quotes_(quotes), fields_(width) {}

  const std::vector<CsvField>& fields() const { return fields_; }

  // Where the record that begins at `position` ends, behind its line end; nothing if it is odd.
  std::optional<std::size_t> read(std::string_view data, std::size_t position) {
    std::size_t at = position;
    for (std::size_t number = 0; number < fields_.size(); ++number) {
      const auto end = quotes_ && at < data.size() && data[at] == '"' ? quoted(data, at, fields_[number])
                                                                      : plain(data, at, fields_[number]);
      const bool last = number + 1 == fields_.size();
      if (!end || data[*end] != (last ? '\n' : separator_)) return std::nullopt;
      at = *end + 1;
    }
    const std::string_view record = data.substr(position, at - position);
    if (record.find('\0') != record.npos) return std::nullopt;
    return at;
  }

 private:
  static constexpr std::ptrdiff_t most_lines = 1'000;

  // Both return where the separator or line end behind a field stands.
  std::optional<std::size_t> plain(std::string_view data, std::size_t begin, CsvField& field) const {
    std::size_t end = begin;
    while (end < data.size() && data[end] != separator_ && data[end] != '\n') ++end;
    if (end == data.size()) return std::nullopt;
    const bool carriage = data[end] == '\n' && end > begin && data[end - 1] == '\r';
    field = {begin, carriage ? end - 1 : end, false};
    return end;
  }

  std::optional<std::size_t> quoted(std::string_view data, std::size_t begin, CsvField& field) const {
    field = {begin + 1, begin + 1, false};
    while (true) {
      field.end = data.find('"', field.end);
      if (field.end == data.npos || field.end + 1 == data.size()) return std::nullopt;
      if (data[field.end + 1] != '"') break;
      field.doubled = true;
      field.end += 2;
    }
    const std::string_view text = data.substr(field.begin, field.end - field.begin);
    if (std::count(text.begin(), text.end(), '\n') > most_lines) return std::nullopt;
    const std::size_t end = field.end + 1;
    return data.substr(end, 2) == "\r\n" ? end + 1 : end;
  }

  char separator_;
  bool quotes_;
  std::vector<CsvField> fields_;
};

}  // namespace vizsla
