// One line of a click log or of a judgment file. What is plain is read here; what is odd (a broken line, a number
// that only float() can read) is left to Python, which knows every rule and words every error.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>

#include "io/decimal.hpp"
#include "io/timestamp.hpp"
#include "text/utf8.hpp"
#include "text/white_space.hpp"

namespace vizsla {

enum class Separator : std::uint8_t { tabs, commas, spaces };

struct EntryFormat {
  static constexpr int most = 64;  // columns; most of a wide log are passed over

  Separator separator;
  int width;
  int query;
  int item;
  int value;  // -1: there is no such column, and every value is 1
  int time;   // -1: there is no such column
  bool grades;
};

struct Entry {
  std::string_view query;
  std::string_view item;
  double value;
  double time = std::numeric_limits<double>::quiet_NaN();  // seconds since 1970, where there is such a column
};

enum class LineKind : std::uint8_t { entry, blank, odd };

class EntryLine {
 public:
  explicit EntryLine(const EntryFormat& format) : format_(format) {}

  // `entry` looks into the line or into this object until the next call.
  LineKind read(std::string_view line, Entry& entry) {
    if (!is_text(line)) return LineKind::odd;
    if (is_blank(line)) return LineKind::blank;
    if (!split(line)) return LineKind::odd;
    entry.query = field(format_.query);
    entry.item = field(format_.item);
    const bool full = says(entry.query) && says(entry.item);
    return full && read_value(entry.value) && read_time(entry.time) ? LineKind::entry : LineKind::odd;
  }

 private:
  // The csv module refuses fields above a limit of 2^17 characters.
  static constexpr std::size_t longest_csv = 100'000;

  std::string_view field(int column) const { return fields_[static_cast<std::size_t>(column)]; }

  // Valid UTF-8 without NUL; eight bytes at a time while they are ASCII.
  static bool is_text(std::string_view line) {
    constexpr std::uint64_t ones = 0x0101010101010101ULL;
    std::size_t at = 0;
    for (; at + 8 <= line.size(); at += 8) {
      std::uint64_t word;
      std::memcpy(&word, line.data() + at, sizeof word);
      if (((word | ((word - ones) & ~word)) & 0x80 * ones) != 0) break;
    }
    const std::string_view rest = line.substr(at);
    return rest.find('\0') == std::string_view::npos && utf8::valid(rest);
  }

  // A click's texts must show something; a judgment's ids need only be there.
  bool says(std::string_view text) const { return format_.grades ? !text.empty() : !is_blank(text); }

  bool read_value(double& value) const {
    value = 1;
    if (format_.value < 0) return true;
    std::string_view text = field(format_.value);
    const bool negative = format_.grades && text.starts_with('-');
    if (negative) text.remove_prefix(1);
    const std::optional<double> number = read_decimal(text);
    if (!number || (format_.grades && (std::trunc(*number) != *number || *number > INT32_MAX))) return false;
    value = negative ? -*number : *number;
    return true;
  }

  bool read_time(double& time) const {
    if (format_.time < 0) return true;
    const std::optional<double> timestamp = read_timestamp(field(format_.time));
    if (timestamp) time = *timestamp;
    return timestamp.has_value();
  }

  bool split(std::string_view line) {
    if (format_.separator == Separator::spaces) return split_words(line);
    return format_.separator == Separator::tabs ? split_tabs(line) : split_commas(line);
  }

  bool split_tabs(std::string_view line) {
    for (int column = 0; column + 1 < format_.width; ++column) {
      const std::size_t end = line.find('\t');
      if (end == std::string_view::npos) return false;
      fields_[static_cast<std::size_t>(column)] = line.substr(0, end);
      line.remove_prefix(end + 1);
    }
    fields_[static_cast<std::size_t>(format_.width - 1)] = line;
    return line.find('\t') == std::string_view::npos;
  }

  bool split_words(std::string_view line) {
    const char* const end = line.data() + line.size();
    const char* at = skip_space(line.data(), end);
    for (int column = 0; column < format_.width; ++column) {
      const char* const stop = skip_word(at, end);
      fields_[static_cast<std::size_t>(column)] = {at, static_cast<std::size_t>(stop - at)};
      if (stop == at) return false;
      at = skip_space(stop, end);
    }
    return at == end;
  }

  bool split_commas(std::string_view line) {
    // A lone carriage return ends a record for the csv module, unless it is quoted.
    if (line.size() > longest_csv || line.find('\r') != std::string_view::npos) return false;
    unquoted_.clear();
    unquoted_.reserve(line.size());  // so that it never moves while fields look into it
    for (int column = 0; column < format_.width; ++column) {
      std::string_view& field = fields_[static_cast<std::size_t>(column)];
      if (!(line.starts_with('"') ? take_quoted(line, field) : take_bare(line, field))) return false;
      const bool last = column + 1 == format_.width;
      if (last != line.empty()) return false;
      if (!last) line.remove_prefix(1);
      // "a," has an empty field behind its comma: the loop goes on with nothing left, which take_bare takes.
    }
    return true;
  }

  // Both leave the line at the comma behind the field, or empty.
  static bool take_bare(std::string_view& line, std::string_view& field) {
    field = line.substr(0, line.find(','));
    line.remove_prefix(field.size());
    return true;
  }

  bool take_quoted(std::string_view& line, std::string_view& field) {
    const std::size_t begin = unquoted_.size();
    line.remove_prefix(1);
    bool doubled = false;
    while (true) {
      const std::size_t quote = line.find('"');
      if (quote == std::string_view::npos) return false;
      const std::string_view part = line.substr(0, quote);
      line.remove_prefix(quote + 1);
      if (!line.starts_with('"')) {
        field = part;
        break;
      }
      doubled = true;
      unquoted_.append(part).push_back('"');
      line.remove_prefix(1);
    }
    if (doubled) {
      unquoted_.append(field);
      field = std::string_view(unquoted_).substr(begin);
    }
    return line.empty() || line.starts_with(',');
  }

  EntryFormat format_;
  std::array<std::string_view, EntryFormat::most> fields_;
  std::string unquoted_;
};

}  // namespace vizsla
