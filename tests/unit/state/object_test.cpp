// SPDX-License-Identifier: Apache-2.0
#include "state/object.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "base/hash.hpp"
#include "base/json/tape.hpp"

namespace narratoria::state {
namespace {

// A text followed by padding, as texts from a tape are.
class Padded {
public:
    explicit Padded(std::string text) : size_(text.size()), text_(std::move(text)) {
        text_.append(json::kPadding, '\x7F');
    }
    operator std::string_view() const { return std::string_view(text_).substr(0, size_); }

private:
    size_t size_;
    std::string text_;
};

uint32_t hash_of(std::string_view key) { return static_cast<uint32_t>(hash_text(key, 5)); }

uint32_t find(const Object& object, const std::string& key) {
    const Padded padded(key);
    return object.find(padded, hash_of(key));
}

void append(Object& object, const std::string& key, const std::string& value) {
    const Padded padded_key(key), padded_value(value);
    object.append(padded_key, hash_of(key)).value.set(padded_value);
}

std::string key_of(int number) {
    // Every third key is too long to be stored inline.
    return (number % 3 == 0 ? "a key that is longer than fourteen bytes " : "key") +
           std::to_string(number);
}

TEST(Text, StoresShortTextsInlineAndLongOnesOnTheHeap) {
    for (size_t size = 0; size < 40; ++size) {
        const Padded content(std::string(size, 'c'));
        Text text{};
        text.set(content);
        EXPECT_EQ(text.length == Text::kOnHeap, size > Text::kInline);
        EXPECT_EQ(text.view(), std::string_view(content));
        EXPECT_TRUE(text.equals(content));
        EXPECT_FALSE(text.equals(Padded(std::string(size + 1, 'c'))));
        if (size > 0) {
            EXPECT_FALSE(text.equals(Padded(std::string(size - 1, 'c') + 'x')));
        }
        for (const size_t next : {size_t{3}, size, size_t{30}}) {
            const Padded other(std::string(next, 'o'));
            text.replace(other);
            EXPECT_EQ(text.view(), std::string_view(other)) << size;
        }
        Text copy{};
        copy.copy(text);
        EXPECT_EQ(copy.view(), text.view());
        EXPECT_NE(static_cast<const void*>(copy.view().data()), text.view().data());
        copy.release();
        text.release();
        EXPECT_EQ(text.view(), "");
    }
}

// Up to eight keys are compared one by one; from nine keys on there is an index.
TEST(Object, FindsEachKeyWithAndWithoutAnIndex) {
    Object object;
    for (int i = 0; i < 200; ++i) {
        append(object, key_of(i), std::to_string(i));
        ASSERT_EQ(object.live, static_cast<uint32_t>(i + 1));
        for (int each = 0; each <= i; ++each) {
            const uint32_t position = find(object, key_of(each));
            ASSERT_NE(position, Object::kNone) << each << " of " << i;
            EXPECT_EQ(object.entries[position].value.view(), std::to_string(each));
            EXPECT_TRUE(object.find_at(position, Padded(key_of(each)), hash_of(key_of(each))));
        }
        EXPECT_EQ(find(object, key_of(i + 1)), Object::kNone);
    }
    EXPECT_EQ(object.index != nullptr, true);
    EXPECT_FALSE(object.find_at(Object::kNone, Padded("key1"), hash_of("key1")));
}

TEST(Object, KeysWithEqualHashesAreDistinct) {
    for (const int others : {0, 20}) {
        Object object;
        for (int i = 0; i < others; ++i) append(object, key_of(i), "x");
        const Padded one("one"), two("two");
        object.append(one, 42).value.set(one);
        EXPECT_EQ(object.find(two, 42), Object::kNone);
        object.append(two, 42).value.set(two);
        EXPECT_EQ(object.entries[object.find(one, 42)].value.view(), "one");
        EXPECT_EQ(object.entries[object.find(two, 42)].value.view(), "two");
    }
}

TEST(Object, GrowingClosesTheGapsOfRemovedKeys) {
    Object object;
    for (int i = 0; i < 16; ++i) append(object, key_of(i), std::to_string(i));
    ASSERT_EQ(object.capacity, 16u);
    for (int i = 0; i < 16; i += 2) object.remove(find(object, key_of(i)));
    EXPECT_EQ(object.live, 8u);
    EXPECT_EQ(object.count, 16u);
    for (int i = 0; i < 16; ++i) EXPECT_EQ(find(object, key_of(i)) == Object::kNone, i % 2 == 0);
    append(object, key_of(16), "16");
    EXPECT_EQ(object.count, 9u);
    EXPECT_EQ(object.live, 9u);
    for (int i = 1; i < 16; i += 2) {
        EXPECT_EQ(object.entries[find(object, key_of(i))].value.view(), std::to_string(i));
    }
    EXPECT_EQ(find(object, key_of(0)), Object::kNone);
    append(object, key_of(0), "again");
    EXPECT_EQ(object.entries[find(object, key_of(0))].value.view(), "again");
}

TEST(Object, CloneIsDeepAndKeepsPositions) {
    Object object;
    for (int i = 0; i < 20; ++i) append(object, key_of(i), "value " + std::to_string(i));
    object.remove(find(object, key_of(4)));
    auto* const child = new Object;
    append(*child, "inner", "before");
    Entry& holder = object.append(Padded("child"), hash_of("child"));
    holder.child.object = child;
    holder.set_kind(Kind::Object);

    const std::unique_ptr<Object> copy(object.clone());
    EXPECT_EQ(copy->live, object.live);
    for (int i = 0; i < 20; ++i) EXPECT_EQ(find(*copy, key_of(i)), find(object, key_of(i))) << i;
    Object* const copied = copy->entries[find(*copy, "child")].child.object;
    ASSERT_NE(copied, child);
    copied->entries[find(*copied, "inner")].value.replace(Padded("after"));
    copy->entries[find(*copy, key_of(3))].value.replace(Padded("another text that is long"));
    EXPECT_EQ(child->entries[find(*child, "inner")].value.view(), "before");
    EXPECT_EQ(object.entries[find(object, key_of(3))].value.view(), "value 3");
}

}  // namespace
}  // namespace narratoria::state
