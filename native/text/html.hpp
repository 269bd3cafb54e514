// The text of an HTML page, in one pass over its bytes: no tree is built, so the work grows with the page's length,
// however deep it nests.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "text/utf8.hpp"

namespace vizsla {

// Control characters of the output; the text itself has none but tabs and line ends.
inline constexpr char HEADING_BEGIN = '\x02';  // followed by the level, '1' to '6'
inline constexpr char HEADING_END = '\x03';
inline constexpr char NAMED_REFERENCE = '\x1a';  // in place of the & of a named reference that this file does not know

class HtmlText {
 public:
  explicit HtmlText(std::string_view page) : page_(page) {}

  std::string read() {
    out_.reserve(page_.size() / 2);
    while (at_ < page_.size() || rewound()) {
      if (page_[at_] == '<') {
        markup();
      } else if (!skipped_.empty()) {
        at_ = std::min(page_.find('<', at_), page_.size());
      } else {
        text();
      }
    }
    end_heading();
    while (!out_.empty() && (out_.back() == ' ' || out_.back() == '\n')) out_.pop_back();
    return std::move(out_);
  }

 private:
  enum class Break : std::uint8_t { none, space, line, paragraph };

  template <std::size_t N>
  using Names = std::array<std::string_view, N>;

  static constexpr Names<8> RAW = {"script", "style", "title", "iframe", "noembed", "noframes", "xmp", "textarea"};
  static constexpr Names<7> SILENT = {"nav", "template", "noscript", "svg", "select", "button", "dialog"};
  static constexpr Names<8> PARAGRAPHS = {"p", "ul", "ol", "dl", "table", "pre", "blockquote", "figure"};
  static constexpr Names<10> SECTIONS = {"div",  "section", "article", "main", "header",
                                         "body", "footer",  "aside",   "form", "details"};
  static constexpr Names<9> LINES = {"li", "tr", "dt", "dd", "br", "hr", "option", "figcaption", "summary"};
  static constexpr Names<3> CELLS = {"td", "th", "caption"};
  static constexpr Names<13> VOID = {"br",   "hr",  "img",   "input",  "meta",  "link", "area",
                                     "base", "col", "embed", "source", "track", "wbr"};
  static constexpr Names<12> BOILERPLATE = {"nav",         "headerlink",    "permalink",  "navheader",
                                            "navfooter",   "sphinxsidebar", "related",    "navbar",
                                            "breadcrumbs", "footer",        "onthispage", "prev-next-area"};
  static constexpr Names<4> ROLES = {"navigation", "search", "contentinfo", "banner"};
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 20> REFERENCES = {{
      {"amp", "&"},   {"lt", "<"},    {"gt", ">"},     {"quot", "\""}, {"apos", "'"},  {"nbsp", " "},  {"copy", "©"},
      {"mdash", "—"}, {"ndash", "–"}, {"hellip", "…"}, {"lsquo", "‘"}, {"rsquo", "’"}, {"ldquo", "“"}, {"rdquo", "”"},
      {"sect", "§"},  {"para", "¶"},  {"middot", "·"}, {"rarr", "→"},  {"larr", "←"},  {"bull", "•"},
  }};
  static constexpr std::size_t MAX_NAME = 32;

  struct Tag {
    std::string_view name, classes, role;
    bool closes = false, ends_itself = false;
  };

  template <typename Collection>
  static bool holds(const Collection& names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  }
  static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  static bool is_blank_byte(char c) { return static_cast<unsigned char>(c) <= ' ' || c == '\x7f'; }
  static char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }
  char peek(std::size_t ahead) const { return at_ + ahead < page_.size() ? page_[at_ + ahead] : '\0'; }

  // An element that is left out and never ends would take the rest of the page with it: read it after all, and from
  // there on leave no more out. This happens at most once.
  bool rewound() {
    if (skipped_.empty() || keeps_all_) return false;
    keeps_all_ = true;
    skipped_ = {};
    at_ = skip_begin_;
    return at_ < page_.size();
  }

  void past(std::string_view end) {
    const std::size_t found = page_.find(end, at_);
    at_ = found == std::string_view::npos ? page_.size() : found + end.size();
  }

  void markup() {
    if (peek(1) == '!' || peek(1) == '?') {
      if (page_.substr(at_, 4) == "<!--") {
        at_ += 2;  // <!--> is a whole comment
        past("-->");
      } else {
        past(">");
      }
    } else if (is_letter(peek(1)) || (peek(1) == '/' && is_letter(peek(2)))) {
      tag();
    } else if (peek(1) == '/') {
      past(">");
    } else if (skipped_.empty()) {
      put("<");
      ++at_;
    } else {
      ++at_;
    }
  }

  void tag() {
    Tag tag;
    tag.closes = peek(1) == '/';
    at_ += tag.closes ? 2 : 1;
    std::size_t length = 0;
    for (; at_ < page_.size() && !is_blank_byte(page_[at_]) && page_[at_] != '>' && page_[at_] != '/'; ++at_)
      if (length < MAX_NAME) name_[length++] = lower(page_[at_]);
    tag.name = std::string_view(name_.data(), length);
    if (!attributes(tag)) return;
    if (!skipped_.empty()) {
      skip(tag);
    } else if (tag.closes) {
      end(tag.name);
    } else {
      begin(tag);
    }
    if (!tag.closes && holds(RAW, tag.name)) raw(tag.name);
  }

  // Reads up to the tag's end; a tag that the page ends in is no tag.
  bool attributes(Tag& tag) {
    while (at_ < page_.size()) {
      if (page_[at_] == '>') {
        ++at_;
        return true;
      }
      if (page_[at_] == '/' || is_blank_byte(page_[at_])) {
        tag.ends_itself = page_[at_++] == '/';
        continue;
      }
      tag.ends_itself = false;
      const std::size_t begin = at_++;  // an attribute may begin with =
      while (at_ < page_.size() && !is_blank_byte(page_[at_]) && page_[at_] != '=' && page_[at_] != '>' &&
             page_[at_] != '/')
        ++at_;
      const std::string_view name = page_.substr(begin, at_ - begin);
      std::size_t next = at_;
      while (next < page_.size() && is_blank_byte(page_[next])) ++next;
      if (next >= page_.size() || page_[next] != '=') continue;
      at_ = next + 1;
      const std::string_view value = attribute_value();
      if (name == "class") tag.classes = value;
      if (name == "role") tag.role = value;
    }
    return false;
  }

  std::string_view attribute_value() {
    while (at_ < page_.size() && is_blank_byte(page_[at_])) ++at_;
    if (at_ >= page_.size()) return {};
    const char quote = page_[at_];
    if (quote == '"' || quote == '\'') {
      const std::size_t begin = ++at_;
      const std::size_t found = std::min(page_.find(quote, at_), page_.size());
      at_ = std::min(found + 1, page_.size());
      return page_.substr(begin, found - begin);
    }
    const std::size_t begin = at_;
    while (at_ < page_.size() && !is_blank_byte(page_[at_]) && page_[at_] != '>') ++at_;
    return page_.substr(begin, at_ - begin);
  }

  // Leaves out what is no markup, such as a script, up to its end tag.
  void raw(std::string_view name) {
    for (;;) {
      at_ = std::min(page_.find("</", at_), page_.size());
      if (at_ == page_.size()) return;
      std::size_t same = 0;
      while (same < name.size() && lower(peek(2 + same)) == name[same]) ++same;
      const char next = peek(2 + name.size());
      if (same == name.size() && (is_blank_byte(next) || next == '>' || next == '/')) {
        past(">");
        return;
      }
      at_ += 2;
    }
  }

  bool is_left_out(const Tag& tag) const {
    if (keeps_all_ || tag.ends_itself || holds(VOID, tag.name)) return false;
    if (holds(SILENT, tag.name)) return true;
    if (tag.name == "footer") return articles_ == 0;
    if (tag.name == "aside") return articles_ + mains_ == 0;
    if (tag.name == "header") return articles_ + mains_ == 0 && !keeps_headers_;
    if (tag.name == "body" || tag.name == "html" || tag.name == "main" || tag.name == "article") return false;
    if (holds(ROLES, tag.role)) return true;
    for (std::string_view rest = tag.classes; !rest.empty();) {
      const std::size_t length = std::min(rest.find_first_of(" \t\n\r\f"), rest.size());
      const std::string_view one = rest.substr(0, length);
      if (holds(BOILERPLATE, one) || (one == "anchor" && tag.name == "a")) return true;
      rest.remove_prefix(std::min(length + 1, rest.size()));
    }
    return false;
  }

  void skip(const Tag& tag) {
    if (tag.name == "h1" && skipped_ == "header") {  // the title of the page, not a banner
      keeps_headers_ = true;
      skipped_ = {};
      at_ = skip_begin_;
    } else if (tag.name == skipped_ && !tag.ends_itself) {
      skip_depth_ += tag.closes ? -1 : 1;
      if (skip_depth_ == 0) skipped_ = {};
    }
  }

  void begin(const Tag& tag) {
    if (is_left_out(tag)) {
      skipped_ = std::string(tag.name);
      skip_begin_ = at_;
      skip_depth_ = 1;
      if (tag.name != "a" && tag.name != "button") separate(Break::line);
      return;
    }
    if (tag.name == "article") ++articles_;
    if (tag.name == "main" || tag.role == "main") ++mains_;
    if (tag.name == "pre") ++pres_;
    if (is_heading(tag.name)) {
      end_heading();
      separate(Break::paragraph);
      heading_level_ = tag.name[1];
    } else {
      if (holds(PARAGRAPHS, tag.name) && heading_begin_ != std::string::npos) end_heading();
      separate(break_of(tag.name));
    }
  }

  void end(std::string_view name) {
    if (name == "article" && articles_ > 0) --articles_;
    if (name == "main" && mains_ > 0) --mains_;
    if (name == "pre" && pres_ > 0) --pres_;
    if (is_heading(name)) {
      end_heading();
    } else {
      separate(break_of(name));
    }
  }

  static bool is_heading(std::string_view name) {
    return name.size() == 2 && name[0] == 'h' && name[1] >= '1' && name[1] <= '6';
  }

  static Break break_of(std::string_view name) {
    if (holds(PARAGRAPHS, name) || holds(SECTIONS, name)) return Break::paragraph;
    if (holds(LINES, name)) return Break::line;
    return holds(CELLS, name) ? Break::space : Break::none;
  }

  void end_heading() {
    if (heading_level_ == '\0') return;
    heading_level_ = '\0';
    if (heading_begin_ != std::string::npos) out_.push_back(HEADING_END);
    heading_begin_ = std::string::npos;
    break_ = Break::paragraph;
  }

  // Nothing is written before there is a word to separate.
  void separate(Break wanted) {
    if (heading_level_ != '\0' && wanted > Break::space) wanted = Break::space;
    break_ = std::max(break_, wanted);
  }

  // Begins the next word: with what separates it from the one before, and with the sign of a heading that begins.
  void flush() {
    if (!out_.empty() && break_ == Break::space) out_.push_back(' ');
    if (!out_.empty() && break_ >= Break::line) {
      while (!out_.empty() && (out_.back() == ' ' || out_.back() == '\n')) out_.pop_back();
      if (!out_.empty()) out_.append(break_ == Break::line ? "\n" : "\n\n");
    }
    break_ = Break::none;
    if (heading_level_ != '\0' && heading_begin_ == std::string::npos) {
      heading_begin_ = out_.size();
      out_.push_back(HEADING_BEGIN);
      out_.push_back(heading_level_);
    }
  }

  void put(std::string_view bytes) {
    if (break_ != Break::none || heading_level_ != '\0') flush();
    out_.append(bytes);
  }

  void text() {
    while (at_ < page_.size() && page_[at_] != '<') {
      const char c = page_[at_];
      if (c == '&') {
        reference();
      } else if (!is_blank_byte(c)) {
        const std::size_t begin = at_;
        while (at_ < page_.size() && page_[at_] != '<' && page_[at_] != '&' && !is_blank_byte(page_[at_])) ++at_;
        put(page_.substr(begin, at_ - begin));
      } else {
        blank(c);
        ++at_;
      }
    }
  }

  void blank(char c) {
    if (pres_ == 0 || heading_level_ != '\0') {
      separate(Break::space);
    } else if ((c == '\n' || c == ' ' || c == '\t') && break_ < Break::line && !out_.empty()) {
      put(std::string_view(&c, 1));
    }
  }

  void reference() {
    if (peek(1) == '#') {
      numeric();
      return;
    }
    std::size_t length = 0;
    while (length < MAX_NAME && (is_letter(peek(1 + length)) || is_digit(peek(1 + length)))) ++length;
    const std::string_view name = page_.substr(at_ + 1, length);
    const bool whole = peek(1 + length) == ';';
    const auto found =
        std::find_if(REFERENCES.begin(), REFERENCES.end(), [&](const auto& e) { return e.first == name; });
    if (length == 0) {
      put("&");
      ++at_;
    } else if (whole && found != REFERENCES.end()) {
      at_ += length + 2;
      if (name == "nbsp") {
        blank(' ');
      } else {
        put(found->second);
      }
    } else {
      put(std::string_view(&NAMED_REFERENCE, 1));
      put(name);
      at_ += 1 + length;
    }
  }

  void numeric() {
    const bool hex = lower(peek(2)) == 'x';
    std::size_t at = at_ + (hex ? 3 : 2);
    const std::size_t first = at;
    std::uint32_t code = 0;
    for (; at < page_.size(); ++at) {
      const char c = lower(page_[at]);
      std::uint32_t digit = 16;
      if (is_digit(c)) digit = static_cast<std::uint32_t>(c - '0');
      if (hex && c >= 'a' && c <= 'f') digit = static_cast<std::uint32_t>(c - 'a' + 10);
      if (digit == 16) break;
      code = std::min<std::uint32_t>(code * (hex ? 16 : 10) + digit, 0x110000);
    }
    if (at == first) {
      put("&");
      ++at_;
      return;
    }
    at_ = at < page_.size() && page_[at] == ';' ? at + 1 : at;
    if (code >= 0x80 && code < 0xA0) code = WINDOWS_1252[code - 0x80];
    if (code == 0 || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) code = 0xFFFD;
    if (code <= ' ' || code == 0x7F || code == 0xA0) {
      blank(static_cast<char>(code == 0xA0 ? ' ' : code));
      return;
    }
    std::array<char, 4> bytes{};
    put(std::string_view(bytes.data(), static_cast<std::size_t>(utf8::encode(code, bytes.data()) - bytes.data())));
  }

  static constexpr std::array<std::uint16_t, 32> WINDOWS_1252 = {
      0x20AC, 0x81,   0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160,
      0x2039, 0x0152, 0x8D,   0x017D, 0x8F,   0x90,   0x2018, 0x2019, 0x201C, 0x201D, 0x2022,
      0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0x9D,   0x017E, 0x0178};

  std::string_view page_;
  std::string out_, skipped_;
  std::array<char, MAX_NAME> name_{};
  std::size_t at_ = 0, skip_begin_ = 0, heading_begin_ = std::string::npos;
  std::int64_t skip_depth_ = 0, articles_ = 0, mains_ = 0, pres_ = 0;
  Break break_ = Break::none;
  char heading_level_ = '\0';
  bool keeps_all_ = false, keeps_headers_ = false;
};

}  // namespace vizsla
