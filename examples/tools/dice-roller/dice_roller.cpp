// SPDX-License-Identifier: Apache-2.0

/// Rolls dice: a tool written with narratoria/tool.hpp.
///
/// Input: `{"dice": "2d6+1"}`, or `{"count": 2, "sides": 6, "modifier": 1}`, where count defaults to 1
/// and modifier to 0. With `"seed": 7` the roll is reproducible. Each die is a log event with
/// progress. The roll is written to the state at `/dice/last` and is the `result` of `done`:
/// `{"notation": "2d6+1", "rolls": [3, 5], "modifier": 1, "total": 9}`.

#include <cctype>
#include <charconv>
#include <cstdlib>
#include <narratoria/tool.hpp>
#include <random>
#include <string>
#include <string_view>

namespace tool = narratoria::tool;
namespace json = narratoria::tool::json;

namespace {

constexpr std::int64_t kMaxDice = 100;
constexpr std::int64_t kMaxSides = 1'000'000;
constexpr std::int64_t kLargestModifier = 1'000'000;

struct Dice {
    std::int64_t count = 1;
    std::int64_t sides = 0;
    std::int64_t modifier = 0;

    std::string notation() const {
        std::string text = std::to_string(count) + "d" + std::to_string(sides);
        if (modifier != 0) text += (modifier > 0 ? "+" : "") + std::to_string(modifier);
        return text;
    }
};

void require_range(std::string_view pointer, std::string_view what, std::int64_t number,
                   std::int64_t least, std::int64_t most) {
    if (number < least || number > most) {
        throw tool::InvalidInput(
            pointer, std::string(what) + " must be from " + std::to_string(least) + " to " +
                         std::to_string(most) + ", is " + std::to_string(number));
    }
}

void require_possible(const Dice& dice, bool from_notation) {
    const auto pointer = [from_notation](std::string_view member) {
        return from_notation ? std::string_view("/dice") : member;
    };
    require_range(pointer("/count"), "the number of dice", dice.count, 1, kMaxDice);
    require_range(pointer("/sides"), "the number of sides", dice.sides, 2, kMaxSides);
    require_range(pointer("/modifier"), "the modifier", dice.modifier, -kLargestModifier,
                  kLargestModifier);
}

/// Removes a number from the front of `text`. False if it is missing or too large.
bool take_number(std::string_view& text, std::int64_t& number) {
    if (text.empty() || std::isdigit(static_cast<unsigned char>(text.front())) == 0) return false;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
    text.remove_prefix(static_cast<std::size_t>(read.ptr - text.data()));
    return read.ec == std::errc{};
}

/// Parses `[count] d sides [(+|-) modifier]`. Blanks and the case of the d are ignored.
Dice parse_notation(std::string_view written) {
    std::string squeezed;
    for (const char letter : written) {
        const auto byte = static_cast<unsigned char>(letter);
        if (std::isspace(byte) == 0) squeezed += static_cast<char>(std::tolower(byte));
    }
    std::string_view rest = squeezed;
    Dice dice;
    bool understood = rest.substr(0, 1) == "d" || take_number(rest, dice.count);
    understood = understood && rest.substr(0, 1) == "d";
    if (understood) {
        rest.remove_prefix(1);
        understood = take_number(rest, dice.sides);
    }
    if (understood && !rest.empty()) {
        const char sign = rest.front();
        rest.remove_prefix(1);
        understood = (sign == '+' || sign == '-') && take_number(rest, dice.modifier);
        dice.modifier = sign == '-' ? -dice.modifier : dice.modifier;
    }
    if (!understood || !rest.empty()) {
        throw tool::InvalidInput("/dice", "\"" + std::string(written) +
                                              "\" is not a dice notation; write 2d6, d20 or 3d8-2");
    }
    require_possible(dice, true);
    return dice;
}

Dice read_dice(const tool::Invocation& invocation) {
    if (invocation.has("/dice")) return parse_notation(invocation.string("/dice"));
    if (!invocation.has("/sides")) {
        throw tool::InvalidInput(
            R"(the input names no dice; give {"dice": "2d6+1"} or {"count": 2, "sides": 6})");
    }
    const Dice dice{invocation.integer_or("/count", 1), invocation.integer("/sides"),
                    invocation.integer_or("/modifier", 0)};
    require_possible(dice, false);
    return dice;
}

/// Fair dice with the same results on every platform for a given seed, which
/// `std::uniform_int_distribution` does not guarantee.
class Hand {
public:
    explicit Hand(std::uint64_t seed) : generator_(seed) {}

    std::int64_t roll(std::int64_t sides) {
        const auto range = static_cast<std::uint64_t>(sides);
        // The generator's range is not a multiple of the sides. Numbers above the last complete
        // multiple would favour low rolls, so they are drawn again.
        const std::uint64_t fair = generator_.max() - generator_.max() % range;
        std::uint64_t drawn = generator_();
        while (drawn >= fair) drawn = generator_();
        return static_cast<std::int64_t>(drawn % range) + 1;
    }

private:
    std::mt19937_64 generator_;
};

std::uint64_t read_seed(const tool::Invocation& invocation) {
    if (invocation.has("/seed")) return static_cast<std::uint64_t>(invocation.integer("/seed"));
    std::random_device device;
    return (static_cast<std::uint64_t>(device()) << 32U) | device();
}

void roll_dice(const tool::Invocation& invocation, tool::Events& events) {
    const Dice dice = read_dice(invocation);
    Hand hand(read_seed(invocation));

    std::int64_t total = dice.modifier;
    std::string sum;
    json::Value rolls = json::array();
    for (std::int64_t die = 1; die <= dice.count; ++die) {
        const std::int64_t rolled = hand.roll(dice.sides);
        total += rolled;
        sum += (die == 1 ? "" : " + ") + std::to_string(rolled);
        rolls.append(rolled);
        events.progress(static_cast<double>(die) / static_cast<double>(dice.count),
                        "Die " + std::to_string(die) + " of " + std::to_string(dice.count) +
                            " shows " + std::to_string(rolled));
    }
    if (dice.modifier != 0) {
        sum += (dice.modifier > 0 ? " + " : " - ") + std::to_string(std::abs(dice.modifier));
    }

    const json::Value roll = json::object({{"notation", dice.notation()},
                                           {"rolls", rolls},
                                           {"modifier", dice.modifier},
                                           {"total", total}});
    events.patch(json::object({{"dice", json::object({{"last", roll}})}}));
    const bool plain = dice.count == 1 && dice.modifier == 0;
    events.done(true,
                dice.notation() + ": " + sum + (plain ? "" : " = " + std::to_string(total)) + ".",
                roll);
}

}  // namespace

int main() { return tool::run(roll_dice); }
