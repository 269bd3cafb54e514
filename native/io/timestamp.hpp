// Times of a log, exactly as Python's rules read them: seconds since 1970, in UTC.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace vizsla {

// So many digits as a number; -1 where there are others.
inline int read_digits(std::string_view text) {
  int number = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return -1;
    number = 10 * number + (c - '0');
  }
  return number;
}

inline std::optional<double> read_date(std::string_view text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return std::nullopt;
  const int year = read_digits(text.substr(0, 4));
  const int month = read_digits(text.substr(5, 2));
  const int day = read_digits(text.substr(8, 2));
  if (year < 1 || month < 1 || day < 1) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) return std::nullopt;
  return 86400.0 * static_cast<double>(std::chrono::sys_days(date).time_since_epoch().count());
}

inline std::optional<double> read_clock(std::string_view text) {
  if (text.size() != 8 || text[2] != ':' || text[5] != ':') return std::nullopt;
  const int hours = read_digits(text.substr(0, 2));
  const int minutes = read_digits(text.substr(3, 2));
  const int seconds = read_digits(text.substr(6, 2));
  if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59 || seconds < 0 || seconds > 59) return std::nullopt;
  return 3600.0 * hours + 60.0 * minutes + seconds;
}

// Seconds of nine or ten digits, "2024-05-01", and "2024-05-01 12:30:00" with a T and a Z or without; nothing for
// everything else, also where Python would find a time.
inline std::optional<double> read_timestamp(std::string_view text) {
  if (text.size() == 9 || (text.size() == 10 && text[4] != '-')) {
    const int high = read_digits(text.substr(0, text.size() - 5));
    const int low = read_digits(text.substr(text.size() - 5));
    if (high < 0 || low < 0) return std::nullopt;
    return 1e5 * high + low;
  }
  if (text.size() == 20 && text.ends_with('Z')) text.remove_suffix(1);
  const std::optional<double> date = read_date(text.substr(0, 10));
  if (!date || text.size() == 10) return date;
  if (text.size() != 19 || (text[10] != ' ' && text[10] != 'T')) return std::nullopt;
  const std::optional<double> clock = read_clock(text.substr(11));
  return clock ? std::optional(*date + *clock) : std::nullopt;
}

}  // namespace vizsla
