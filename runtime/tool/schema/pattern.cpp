// SPDX-License-Identifier: Apache-2.0
#include "tool/schema/pattern.hpp"

#include <algorithm>
#include <memory>
#include <optional>

#include "base/bytes/utf8.hpp"

namespace narratoria::tool {
namespace {

using Ranges = std::vector<std::pair<uint32_t, uint32_t>>;

constexpr uint32_t kLastCodePoint = 0x10FFFF;
constexpr uint32_t kNothing = UINT32_MAX;  // before the first and after the last code point
constexpr int kMaxNesting = 100;
// The program of a longer pattern exceeds kMaxProgram.
constexpr size_t kMaxText = 6 * Pattern::kMaxProgram;

const Ranges digits = {{'0', '9'}};
const Ranges word_characters = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
const Ranges spaces = {{0x09, 0x0D},     {0x20, 0x20},     {0xA0, 0xA0},     {0x1680, 0x1680},
                       {0x2000, 0x200A}, {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F},
                       {0x3000, 0x3000}, {0xFEFF, 0xFEFF}};
const Ranges line_ends = {{0x0A, 0x0A}, {0x0D, 0x0D}, {0x2028, 0x2029}};

bool is_word(uint32_t c) {
    return c < 128 &&
           ((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || c == '_' || (c >= 'a' && c <= 'z'));
}

void settle(Ranges& ranges) {
    std::sort(ranges.begin(), ranges.end());
    Ranges out;
    for (const auto& [low, high] : ranges) {
        if (!out.empty() && low <= out.back().second + 1) {
            out.back().second = std::max(out.back().second, high);
        } else {
            out.emplace_back(low, high);
        }
    }
    ranges = std::move(out);
}

Ranges inverted(Ranges ranges) {
    settle(ranges);
    Ranges out;
    uint32_t next = 0;
    for (const auto& [low, high] : ranges) {
        if (low > next) out.emplace_back(next, low - 1);
        next = high + 1;
    }
    if (next <= kLastCodePoint) out.emplace_back(next, kLastCodePoint);
    return out;
}

struct Term {
    enum class Kind : uint8_t { Empty, Set, Sequence, Choice, Repeat, Assertion };
    Kind kind = Kind::Empty;
    Ranges set;
    std::vector<std::unique_ptr<Term>> parts;
    uint32_t least = 0;
    uint32_t most = 0;  // kNothing: no limit
    uint8_t assertion = 0;
};
using TermPtr = std::unique_ptr<Term>;

}  // namespace

bool Pattern::Set::has(uint32_t c) const {
    if (c < 128) return (ascii[c >> 6] >> (c & 63) & 1) != 0;
    const auto found =
        std::upper_bound(ranges.begin(), ranges.end(), c,
                         [](uint32_t wanted, const auto& range) { return wanted < range.first; });
    return found != ranges.begin() && c <= std::prev(found)->second;
}

class PatternCompiler {
public:
    PatternCompiler(Pattern& out, std::string_view text) : out_(out), text_(text) {}

    bool run(std::string& problem) {
        if (text_.size() > kMaxText) {
            problem = "the pattern is longer than " + std::to_string(kMaxText) + " bytes";
            return false;
        }
        const TermPtr term = choice(0);
        if (problem_.empty() && at_ < text_.size()) fail("a \")\" has no matching \"(\"");
        if (problem_.empty()) {
            emit(*term);
            add({Pattern::Op::Match});
            out_.begins_ = begins(*term);
        }
        problem = problem_;
        return problem_.empty();
    }

private:
    void fail(std::string problem) {
        if (problem_.empty()) {
            problem_ = std::move(problem) + " (byte " + std::to_string(at_ + 1) + ")";
        }
        at_ = text_.size();
    }
    bool more() const { return at_ < text_.size(); }
    bool next_is(char c) const { return more() && text_[at_] == c; }
    bool skip(std::string_view token) {
        if (text_.substr(at_, token.size()) != token) return false;
        at_ += token.size();
        return true;
    }

    static TermPtr make(Term::Kind kind) {
        auto term = std::make_unique<Term>();
        term->kind = kind;
        return term;
    }
    static TermPtr set_of(Ranges ranges) {
        TermPtr term = make(Term::Kind::Set);
        settle(ranges);
        term->set = std::move(ranges);
        return term;
    }
    static TermPtr assertion(Pattern::Op op) {
        TermPtr term = make(Term::Kind::Assertion);
        term->assertion = static_cast<uint8_t>(op);
        return term;
    }

    TermPtr choice(int depth) {
        if (depth > kMaxNesting) {
            fail("groups are nested more than " + std::to_string(kMaxNesting) + " deep");
            return make(Term::Kind::Empty);
        }
        TermPtr first = sequence(depth);
        if (!next_is('|')) return first;
        TermPtr all = make(Term::Kind::Choice);
        all->parts.push_back(std::move(first));
        while (skip("|")) all->parts.push_back(sequence(depth));
        return all;
    }

    TermPtr sequence(int depth) {
        TermPtr all = make(Term::Kind::Sequence);
        while (more() && !next_is('|') && !next_is(')')) {
            TermPtr term = atom(depth);
            if (!problem_.empty()) break;
            all->parts.push_back(repeated(std::move(term)));
        }
        return all;
    }

    // Reads a number of a quantifier, if one is next.
    std::optional<uint32_t> count() {
        const size_t begin = at_;
        uint32_t value = 0;
        while (more() && text_[at_] >= '0' && text_[at_] <= '9') {
            value = std::min(value * 10 + static_cast<uint32_t>(text_[at_] - '0'), 1'000'000u);
            ++at_;
        }
        if (at_ == begin) return std::nullopt;
        return value;
    }

    // Reads a quantifier {n}, {n,} or {n,m} and returns true. Any other { is a literal character.
    bool braces(uint32_t& least, uint32_t& most) {
        const size_t begin = at_;
        if (!skip("{")) return false;
        const auto low = count();
        if (low) {
            least = most = *low;
            if (skip(",")) {
                const auto high = count();
                most = high ? *high : kNothing;
            }
            if (skip("}")) return true;
        }
        at_ = begin;
        return false;
    }

    TermPtr repeated(TermPtr term) {
        uint32_t least = 0;
        uint32_t most = kNothing;
        if (skip("*")) {
        } else if (skip("+")) {
            least = 1;
        } else if (skip("?")) {
            most = 1;
        } else if (!braces(least, most)) {
            return term;
        }
        skip("?");  // a lazy quantifier matches the same texts
        if (most < least) {
            fail("the limits of a repetition are in the wrong order");
        } else if (least > Pattern::kMaxRepeat ||
                   (most != kNothing && most > Pattern::kMaxRepeat)) {
            fail("a repetition must not exceed " + std::to_string(Pattern::kMaxRepeat));
        } else if (next_is('*') || next_is('+') || next_is('?')) {
            fail("a quantifier follows a quantifier");
        }
        TermPtr out = make(Term::Kind::Repeat);
        out->least = least;
        out->most = most;
        out->parts.push_back(std::move(term));
        return out;
    }

    TermPtr atom(int depth) {
        if (skip("^")) return assertion(Pattern::Op::Begin);
        if (skip("$")) return assertion(Pattern::Op::End);
        if (skip(".")) return set_of(inverted(line_ends));
        if (next_is('(')) return group(depth);
        if (next_is('[')) return set_of(character_class());
        if (next_is('*') || next_is('+') || next_is('?')) {
            fail("there is nothing to repeat");
            return make(Term::Kind::Empty);
        }
        if (next_is('\\')) {
            if (skip("\\b")) return assertion(Pattern::Op::WordBoundary);
            if (skip("\\B")) return assertion(Pattern::Op::NotWordBoundary);
            return set_of(escape(false));
        }
        const uint32_t c = utf8::decode(text_, at_);
        return set_of({{c, c}});
    }

    TermPtr group(int depth) {
        if (skip("(?:")) {
        } else if (skip("(?=") || skip("(?!") || skip("(?<=") || skip("(?<!")) {
            fail("look-ahead and look-behind are not supported");
        } else if (skip("(?<")) {
            const size_t end = text_.find('>', at_);
            if (end == std::string_view::npos || end == at_) fail("the name of a group is invalid");
            else at_ = end + 1;
        } else if (skip("(?")) {
            fail("\"(?\" does not begin a valid group");
        } else {
            skip("(");
        }
        if (!problem_.empty()) return make(Term::Kind::Empty);
        TermPtr term = choice(depth + 1);
        if (problem_.empty() && !skip(")")) fail("a \"(\" is not closed");
        return term;
    }

    std::optional<uint32_t> hexadecimal(size_t length) {
        if (at_ + length > text_.size()) return std::nullopt;
        uint32_t value = 0;
        for (size_t i = 0; i < length; ++i) {
            const char c = text_[at_ + i];
            uint32_t digit = 0;
            if (c >= '0' && c <= '9') digit = static_cast<uint32_t>(c - '0');
            else if (c >= 'a' && c <= 'f') digit = static_cast<uint32_t>(c - 'a' + 10);
            else if (c >= 'A' && c <= 'F') digit = static_cast<uint32_t>(c - 'A' + 10);
            else return std::nullopt;
            value = value << 4 | digit;
        }
        at_ += length;
        return value;
    }

    std::optional<uint32_t> unicode_escape() {
        if (skip("{")) {
            const size_t end = text_.find('}', at_);
            if (end == std::string_view::npos || end == at_ || end - at_ > 6) return std::nullopt;
            const auto value = hexadecimal(end - at_);
            if (!value || *value > kLastCodePoint) return std::nullopt;
            ++at_;
            return value;
        }
        const auto first = hexadecimal(4);
        if (!first || *first < 0xD800 || *first > 0xDBFF) return first;
        const size_t before = at_;
        if (skip("\\u")) {
            const auto second = hexadecimal(4);
            if (second && *second >= 0xDC00 && *second <= 0xDFFF) {
                return 0x10000 + ((*first - 0xD800) << 10) + (*second - 0xDC00);
            }
        }
        at_ = before;
        return first;
    }

    Ranges escape(bool in_class) {
        skip("\\");
        if (!more()) {
            fail("the pattern ends with a backslash");
            return {};
        }
        const auto single = [](uint32_t c) { return Ranges{{c, c}}; };
        const char c = text_[at_++];
        switch (c) {
            case 'd': return digits;
            case 'D': return inverted(digits);
            case 'w': return word_characters;
            case 'W': return inverted(word_characters);
            case 's': return spaces;
            case 'S': return inverted(spaces);
            case 't': return single('\t');
            case 'n': return single('\n');
            case 'v': return single('\v');
            case 'f': return single('\f');
            case 'r': return single('\r');
            case 'b':
                if (in_class) return single('\b');
                break;
            case '0':
                if (!more() || text_[at_] < '0' || text_[at_] > '9') return single(0);
                break;
            case 'c':
                if (more() && ((text_[at_] >= 'a' && text_[at_] <= 'z') ||
                               (text_[at_] >= 'A' && text_[at_] <= 'Z'))) {
                    return single(static_cast<uint32_t>(text_[at_++]) & 31);
                }
                break;
            case 'x':
                if (const auto value = hexadecimal(2)) return single(*value);
                break;
            case 'u':
                if (const auto value = unicode_escape()) return single(*value);
                break;
            case 'p':
            case 'P': fail("\\p is not supported; list the characters in a class"); return {};
            case 'k': fail("back-references are not supported"); return {};
            default:
                if (c >= '1' && c <= '9') {
                    fail("back-references are not supported");
                    return {};
                }
                // Any other punctuation character is a literal.
                if (static_cast<unsigned char>(c) < 0x80 && !is_word(static_cast<uint32_t>(c))) {
                    return single(static_cast<uint32_t>(c));
                }
        }
        --at_;
        fail("a backslash does not begin a valid escape");
        return {};
    }

    // One side of a range, or a class escape such as \d.
    Ranges class_atom() {
        if (next_is('\\')) return escape(true);
        const uint32_t c = utf8::decode(text_, at_);
        return {{c, c}};
    }

    Ranges character_class() {
        skip("[");
        const bool negated = skip("^");
        Ranges all;
        while (more() && !next_is(']')) {
            Ranges low = class_atom();
            if (!problem_.empty()) return {};
            const bool one = low.size() == 1 && low[0].first == low[0].second;
            // A hyphen at the end or next to a class escape is a literal.
            if (one && next_is('-') && at_ + 1 < text_.size() && text_[at_ + 1] != ']') {
                const size_t hyphen = at_++;
                const Ranges high = class_atom();
                if (!problem_.empty()) return {};
                if (high.size() == 1 && high[0].first == high[0].second) {
                    if (high[0].first < low[0].first) {
                        fail("the ends of a character range are in the wrong order");
                        return {};
                    }
                    low[0].second = high[0].first;
                } else {
                    at_ = hyphen + 1;
                    all.emplace_back('-', '-');
                }
            }
            all.insert(all.end(), low.begin(), low.end());
        }
        if (!skip("]")) fail("a \"[\" is not closed");
        if (negated) return inverted(std::move(all));
        return all;
    }

    uint32_t here() const { return static_cast<uint32_t>(out_.program_.size()); }
    uint32_t add(Pattern::Instruction instruction) {
        if (out_.program_.size() >= Pattern::kMaxProgram) {
            fail("the pattern is too large");
            return 0;
        }
        out_.program_.push_back(instruction);
        return here() - 1;
    }

    void emit_set(const Ranges& set) {
        if (set.size() == 1) {
            add({Pattern::Op::Range, set[0].first, set[0].second});
            return;
        }
        Pattern::Set made;
        for (const auto& [low, high] : set) {
            for (uint32_t c = low; c <= high && c < 128; ++c) {
                made.ascii[c >> 6] |= uint64_t{1} << (c & 63);
            }
        }
        made.ranges = set;
        const auto same = std::find_if(out_.sets_.begin(), out_.sets_.end(), [&](const auto& each) {
            return each.ranges == made.ranges;
        });
        const auto index = static_cast<uint32_t>(same - out_.sets_.begin());
        if (same == out_.sets_.end()) out_.sets_.push_back(std::move(made));
        add({Pattern::Op::Set, index});
    }

    void emit_repeat(const Term& term) {
        const Term& part = *term.parts[0];
        for (uint32_t i = 0; i < term.least && problem_.empty(); ++i) emit(part);
        if (!problem_.empty()) return;
        if (term.most == kNothing) {
            const uint32_t split = add({Pattern::Op::Split});
            emit(part);
            add({Pattern::Op::Jump, split});
            if (problem_.empty()) patch(split);
            return;
        }
        std::vector<uint32_t> splits;
        for (uint32_t i = term.least; i < term.most && problem_.empty(); ++i) {
            splits.push_back(add({Pattern::Op::Split}));
            emit(part);
        }
        if (!problem_.empty()) return;
        for (const uint32_t split : splits) patch(split);
    }

    void patch(uint32_t split) {
        out_.program_[split].x = split + 1;
        out_.program_[split].y = here();
    }

    // Recursion is limited by kMaxNesting.
    void emit(const Term& term) {
        // The repetition of an empty term adds no instructions, so the steps are counted as well.
        if (++emitted_ > 10 * Pattern::kMaxProgram) fail("the pattern is too large");
        if (!problem_.empty()) return;
        switch (term.kind) {
            case Term::Kind::Empty: return;
            case Term::Kind::Set: emit_set(term.set); return;
            case Term::Kind::Assertion: add({static_cast<Pattern::Op>(term.assertion)}); return;
            case Term::Kind::Repeat: emit_repeat(term); return;
            case Term::Kind::Sequence:
                for (const TermPtr& part : term.parts) emit(*part);
                return;
            case Term::Kind::Choice: {
                std::vector<uint32_t> jumps;
                for (size_t i = 0; i < term.parts.size() && problem_.empty(); ++i) {
                    const bool last = i + 1 == term.parts.size();
                    const uint32_t split = last ? 0 : add({Pattern::Op::Split});
                    emit(*term.parts[i]);
                    if (last || !problem_.empty()) break;
                    jumps.push_back(add({Pattern::Op::Jump}));
                    if (problem_.empty()) patch(split);
                }
                if (!problem_.empty()) return;
                for (const uint32_t jump : jumps) out_.program_[jump].x = here();
            }
        }
    }

    static bool begins(const Term& term) {
        switch (term.kind) {
            case Term::Kind::Assertion:
                return term.assertion == static_cast<uint8_t>(Pattern::Op::Begin);
            case Term::Kind::Sequence: return !term.parts.empty() && begins(*term.parts[0]);
            case Term::Kind::Choice:
                return std::all_of(term.parts.begin(), term.parts.end(),
                                   [](const TermPtr& part) { return begins(*part); });
            default: return false;
        }
    }

    Pattern& out_;
    std::string_view text_;
    size_t at_ = 0;
    size_t emitted_ = 0;
    std::string problem_;
};

bool Pattern::compile(std::string_view text, std::string& problem) {
    return PatternCompiler(*this, text).run(problem);
}

// One search: simulates the automaton. A list holds the states of one position, in the order of
// their first visit, without duplicates.
class PatternRun {
public:
    PatternRun(const Pattern& pattern, uint64_t& steps)
        : pattern_(pattern), steps_(steps), size_(pattern.program_.size()) {
        // Each list has two arrays: the states, and the index of each state among them. The stack
        // has at most one entry for each instruction, because only unvisited ones are pushed.
        const size_t words = size_ * 5;
        if (words > small_.size()) large_ = std::make_unique<uint32_t[]>(words);
        uint32_t* const block = large_ ? large_.get() : small_.data();
        now_ = {block, block + size_, 0};
        then_ = {block + 2 * size_, block + 3 * size_, 0};
        stack_ = block + 4 * size_;
    }

    bool search(std::string_view text) {
        size_t at = 0;
        uint32_t before = kNothing;
        uint32_t next = at < text.size() ? utf8::decode(text, at) : kNothing;
        for (bool first = true;; first = false) {
            if (first || !pattern_.begins_) {
                if (visit(now_, 0, before, next)) return true;
            }
            if (next == kNothing || (now_.count == 0 && pattern_.begins_)) return false;
            const uint64_t cost = now_.count + 1;
            if (steps_ < cost) {
                steps_ = 0;
                return false;
            }
            steps_ -= cost;
            const uint32_t c = next;
            next = at < text.size() ? utf8::decode(text, at) : kNothing;
            then_.count = 0;
            for (uint32_t i = 0; i < now_.count; ++i) {
                const uint32_t pc = now_.states[i];
                const Pattern::Instruction& each = pattern_.program_[pc];
                const bool fits = each.op == Pattern::Op::Range ? c >= each.x && c <= each.y
                                                                : each.op == Pattern::Op::Set &&
                                                                      pattern_.sets_[each.x].has(c);
                if (fits && visit(then_, pc + 1, c, next)) return true;
            }
            std::swap(now_, then_);
            before = c;
        }
    }

private:
    struct List {
        uint32_t* states = nullptr;
        uint32_t* places = nullptr;
        uint32_t count = 0;
        // May read a stale entry of `places`; the second comparison detects it.
        bool has(uint32_t pc) const { return places[pc] < count && states[places[pc]] == pc; }
        void add(uint32_t pc) {
            places[pc] = count;
            states[count++] = pc;
        }
    };

    // Adds the states that are reachable from `pc` without a character. Returns true if one of them
    // is the end of the pattern.
    bool visit(List& list, uint32_t pc, uint32_t before, uint32_t next) {
        uint32_t waiting = 0;
        const auto push = [&](uint32_t to) {
            if (list.has(to)) return;
            list.add(to);
            stack_[waiting++] = to;
        };
        push(pc);
        while (waiting > 0) {
            const uint32_t at = stack_[--waiting];
            const Pattern::Instruction& each = pattern_.program_[at];
            switch (each.op) {
                case Pattern::Op::Match: return true;
                case Pattern::Op::Jump: push(each.x); break;
                case Pattern::Op::Split:
                    push(each.x);
                    push(each.y);
                    break;
                case Pattern::Op::Begin:
                    if (before == kNothing) push(at + 1);
                    break;
                case Pattern::Op::End:
                    if (next == kNothing) push(at + 1);
                    break;
                case Pattern::Op::WordBoundary:
                    if (is_word(before) != is_word(next)) push(at + 1);
                    break;
                case Pattern::Op::NotWordBoundary:
                    if (is_word(before) == is_word(next)) push(at + 1);
                    break;
                case Pattern::Op::Range:
                case Pattern::Op::Set: break;
            }
        }
        return false;
    }

    const Pattern& pattern_;
    uint64_t& steps_;
    size_t size_;
    std::array<uint32_t, 512> small_{};
    std::unique_ptr<uint32_t[]> large_;
    List now_;
    List then_;
    uint32_t* stack_ = nullptr;
};

bool Pattern::search(std::string_view text, uint64_t& steps) const {
    if (program_.empty()) return false;
    return PatternRun(*this, steps).search(text);
}

}  // namespace narratoria::tool
