// Short decimal numbers, exactly as Python's float() reads them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace vizsla {

// Digits with at most one point among them, such as "3" or "0.25"; nothing for everything else, also where float()
// would find a number. Both the digits and the power of ten are exact in a double, so one division rounds as it should.
inline std::optional<double> read_decimal(std::string_view text) {
  static constexpr std::array<double, 16> tens{1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                               1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
  std::uint64_t digits = 0;
  std::size_t count = 0;
  std::size_t behind_point = 0;
  bool point = false;
  for (const char c : text) {
    if (c == '.' && !point) {
      point = true;
    } else if (c >= '0' && c <= '9' && count < 15) {  // 10^15 is below 2^53
      digits = 10 * digits + static_cast<std::uint64_t>(c - '0');
      ++count;
      behind_point += point;
    } else {
      return std::nullopt;
    }
  }
  if (count == 0) return std::nullopt;
  return static_cast<double>(digits) / tens[behind_point];
}

}  // namespace vizsla
