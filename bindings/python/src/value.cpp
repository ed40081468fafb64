// SPDX-License-Identifier: Apache-2.0
#include "value.hpp"

#include <rapidjson/error/en.h>
#include <rapidjson/reader.h>

#include <array>
#include <cmath>
#include <cstring>
#include <vector>

namespace narratoria::python {
namespace {

// The runtime accepts events of 512 levels; a result and a record add a few.
constexpr std::size_t kMaxLevels = 1000;
// The maximum number of conversions of one value without a container in between.
constexpr std::size_t kMaxConversions = 8;

bool is_ascii(const char* text, std::size_t size) {
    constexpr std::uint64_t kHighBits = 0x8080808080808080;
    std::size_t at = 0;
    for (; at + 8 <= size; at += 8) {
        std::uint64_t piece;
        std::memcpy(&piece, text + at, sizeof piece);
        if ((piece & kHighBits) != 0) return false;
    }
    for (; at < size; ++at) {
        if ((static_cast<unsigned char>(text[at]) & 0x80) != 0) return false;
    }
    return true;
}

// Returns a new reference, or NULL with the exception set.
PyObject* make_str(const char* text, std::size_t size) {
    if (!is_ascii(text, size)) {
        return PyUnicode_DecodeUTF8(text, static_cast<Py_ssize_t>(size), "replace");
    }
    PyObject* made = PyUnicode_New(static_cast<Py_ssize_t>(size), 127);
    if (made != nullptr && size > 0) std::memcpy(PyUnicode_1BYTE_DATA(made), text, size);
    return made;
}

// A cache of member names, which are the same in every event: the str and its hash are reused.
// Lives as long as the process. Needs the GIL.
class Names {
public:
    PyObject* find_or_make(const char* text, std::size_t size) {
        if (size > kLongest || size == 0 || !is_ascii(text, size)) return make_str(text, size);
        PyObject*& place = places_[index(text, size)];
        if (place != nullptr && static_cast<std::size_t>(PyUnicode_GET_LENGTH(place)) == size &&
            std::memcmp(PyUnicode_1BYTE_DATA(place), text, size) == 0) {
            Py_INCREF(place);
            return place;
        }
        PyObject* made = make_str(text, size);
        if (made == nullptr) return nullptr;
        Py_XDECREF(place);
        Py_INCREF(made);
        place = made;
        return made;
    }

private:
    static constexpr std::size_t kLongest = 32;
    static constexpr std::size_t kPlaces = 512;

    static std::size_t index(const char* text, std::size_t size) {
        std::uint32_t hash = 2166136261u;
        for (std::size_t at = 0; at < size; ++at) {
            hash = (hash ^ static_cast<unsigned char>(text[at])) * 16777619u;
        }
        return (hash ^ (hash >> 15)) % kPlaces;
    }

    std::array<PyObject*, kPlaces> places_{};
};

Names names;

// Builds values as RapidJSON parses them. False stops the parser, with an exception set.
class Builder {
public:
    Builder() { levels_.reserve(16); }
    Builder(const Builder&) = delete;
    Builder& operator=(const Builder&) = delete;
    ~Builder() {
        for (const Level& level : levels_) {
            Py_DECREF(level.container);
            Py_XDECREF(level.key);
        }
        Py_XDECREF(root_);
    }

    PyObject* release() { return std::exchange(root_, nullptr); }

    bool Null() { return add(Py_NewRef(Py_None)); }
    bool Bool(bool value) { return add(Py_NewRef(value ? Py_True : Py_False)); }
    bool Int(int value) { return add(PyLong_FromLong(value)); }
    bool Uint(unsigned value) { return add(PyLong_FromUnsignedLong(value)); }
    bool Int64(std::int64_t value) { return add(PyLong_FromLongLong(value)); }
    bool Uint64(std::uint64_t value) { return add(PyLong_FromUnsignedLongLong(value)); }
    bool Double(double value) { return add(PyFloat_FromDouble(value)); }
    bool RawNumber(const char*, rapidjson::SizeType, bool) { return false; }
    bool String(const char* text, rapidjson::SizeType size, bool) {
        return add(make_str(text, size));
    }
    bool Key(const char* text, rapidjson::SizeType size, bool) {
        levels_.back().key = names.find_or_make(text, size);
        return levels_.back().key != nullptr;
    }
    bool StartObject() { return open(PyDict_New(), true); }
    bool EndObject(rapidjson::SizeType) { return close(); }
    bool StartArray() { return open(PyList_New(0), false); }
    bool EndArray(rapidjson::SizeType) { return close(); }

private:
    struct Level {
        PyObject* container;
        PyObject* key;
        bool is_object;
    };

    bool open(PyObject* container, bool is_object) {
        if (container == nullptr) return false;
        if (levels_.size() >= kMaxLevels) {
            Py_DECREF(container);
            PyErr_SetString(PyExc_ValueError, "the JSON is nested too deeply");
            return false;
        }
        levels_.push_back({container, nullptr, is_object});
        return true;
    }
    bool close() {
        PyObject* container = levels_.back().container;
        levels_.pop_back();
        return add(container);
    }
    // Takes the reference.
    bool add(PyObject* value) {
        if (value == nullptr) return false;
        if (levels_.empty()) {
            root_ = value;
            return true;
        }
        Level& level = levels_.back();
        int status = 0;
        if (level.is_object) {
            status = PyDict_SetItem(level.container, level.key, value);
            Py_CLEAR(level.key);
        } else {
            status = PyList_Append(level.container, value);
        }
        Py_DECREF(value);
        return status == 0;
    }

    std::vector<Level> levels_;
    PyObject* root_ = nullptr;
};

// ---- to JSON

class Writer {
public:
    Writer(std::string& out, py::handle convert) : out_(out), convert_(convert) {}

    void write(PyObject* value) {
        if (value == Py_None) out_ += "null";
        else if (value == Py_True) out_ += "true";
        else if (value == Py_False) out_ += "false";
        else if (PyUnicode_Check(value)) write_text(value);
        else if (PyLong_Check(value)) write_integer(value);
        else if (PyFloat_Check(value)) write_float(PyFloat_AS_DOUBLE(value));
        else if (PyDict_Check(value)) write_object(value);
        else if (PyList_Check(value) || PyTuple_Check(value)) write_array(value);
        else if (convert_ && !convert_.is_none()) {
            write_converted(value);
        } else refuse_type(value);
    }

private:
    // A step on the way to the value that is being written.
    struct Step {
        PyObject* key;  // NULL: `index` is used
        Py_ssize_t index;
    };

    void write_inner(PyObject* value) {
        const std::size_t before = std::exchange(conversions_, 0);
        write(value);
        conversions_ = before;
    }

    void write_text(PyObject* value) {
        Py_ssize_t size = 0;
        const char* text = PyUnicode_AsUTF8AndSize(value, &size);
        if (text == nullptr) {
            PyErr_Clear();
            refuse(PyExc_ValueError,
                   "the text contains a lone surrogate, which is not valid UTF-8");
        }
        append_quoted({text, static_cast<std::size_t>(size)});
    }

    void append_quoted(std::string_view text) {
        out_ += '"';
        std::size_t plain = 0;
        for (std::size_t at = 0; at < text.size(); ++at) {
            const auto c = static_cast<unsigned char>(text[at]);
            if (c >= 0x20 && c != '"' && c != '\\') continue;
            out_.append(text, plain, at - plain);
            plain = at + 1;
            switch (c) {
                case '"': out_ += "\\\""; break;
                case '\\': out_ += "\\\\"; break;
                case '\n': out_ += "\\n"; break;
                case '\r': out_ += "\\r"; break;
                case '\t': out_ += "\\t"; break;
                default: {
                    constexpr const char* kDigits = "0123456789abcdef";
                    out_ += "\\u00";
                    out_ += kDigits[c >> 4];
                    out_ += kDigits[c & 0xF];
                }
            }
        }
        out_.append(text, plain, text.size() - plain);
        out_ += '"';
    }

    void write_integer(PyObject* value) {
        int overflow = 0;
        const long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
        if (overflow == 0) {
            if (number == -1 && PyErr_Occurred() != nullptr) throw py::error_already_set();
            out_ += std::to_string(number);
            return;
        }
        if (overflow > 0) {
            const unsigned long long large = PyLong_AsUnsignedLongLong(value);
            if (PyErr_Occurred() == nullptr) {
                out_ += std::to_string(large);
                return;
            }
            PyErr_Clear();
        }
        refuse(PyExc_ValueError,
               "the integer has more than 64 bits, which JSON readers cannot keep exactly; send it "
               "as a str");
    }

    void write_float(double value) {
        if (!std::isfinite(value)) {
            refuse(PyExc_ValueError, std::string("JSON has no ") +
                                         (std::isnan(value) ? "NaN" : "infinity") +
                                         "; use None or a str");
        }
        char* text = PyOS_double_to_string(value, 'r', 0, Py_DTSF_ADD_DOT_0, nullptr);
        if (text == nullptr) throw py::error_already_set();
        out_ += text;
        PyMem_Free(text);
    }

    void enter() {
        if (steps_.size() >= kMaxLevels) {
            throw py::value_error("the value is nested too deeply, or contains itself");
        }
        steps_.push_back({nullptr, 0});
    }

    void write_object(PyObject* value) {
        enter();
        out_ += '{';
        bool first = true;
        // Only `convert` runs Python code in this loop. It may change the dict.
        const Py_ssize_t size = PyDict_GET_SIZE(value);
        Py_ssize_t position = 0;
        PyObject* key = nullptr;
        PyObject* member = nullptr;
        while (PyDict_Next(value, &position, &key, &member) != 0) {
            if (!first) out_ += ',';
            first = false;
            if (!PyUnicode_Check(key)) {
                const std::string type = Py_TYPE(key)->tp_name;
                steps_.pop_back();
                refuse(PyExc_TypeError, "the names of a JSON object must be strings, but one is " +
                                            std::string(type) + "; convert it with str()");
            }
            const py::object held = py::reinterpret_borrow<py::object>(member);
            const py::object held_key = py::reinterpret_borrow<py::object>(key);
            steps_.back().key = key;
            write_text(key);
            out_ += ':';
            write_inner(member);
            if (PyDict_GET_SIZE(value) != size) {
                throw py::value_error("the dict changed while it was written");
            }
        }
        out_ += '}';
        steps_.pop_back();
    }

    void write_array(PyObject* value) {
        enter();
        out_ += '[';
        for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value); ++i) {
            if (i > 0) out_ += ',';
            steps_.back().index = i;
            const py::object held =
                py::reinterpret_borrow<py::object>(PySequence_Fast_GET_ITEM(value, i));
            write_inner(held.ptr());
        }
        out_ += ']';
        steps_.pop_back();
    }

    void write_converted(PyObject* value) {
        const py::object made = convert_(py::handle(value));
        if (made.ptr() == Py_NotImplemented || Py_TYPE(made.ptr()) == Py_TYPE(value)) {
            refuse_type(value);
        }
        // A mock, or two types that convert to each other, would never end.
        if (++conversions_ > kMaxConversions) {
            refuse(PyExc_ValueError, std::string("a ") + Py_TYPE(value)->tp_name +
                                         " has no JSON form, even after repeated conversion");
        }
        write(made.ptr());
        --conversions_;
    }

    [[noreturn]] void refuse_type(PyObject* value) {
        refuse(PyExc_TypeError,
               std::string("JSON has no ") + Py_TYPE(value)->tp_name +
                   "; use None, bool, int, float, str, list, tuple or a dict with str keys");
    }

    [[noreturn]] void refuse(PyObject* type, const std::string& why) {
        std::string pointer;
        for (const Step& step : steps_) {
            pointer += '/';
            if (step.key == nullptr) {
                pointer += std::to_string(step.index);
                continue;
            }
            const char* text = PyUnicode_AsUTF8(step.key);
            if (text == nullptr) PyErr_Clear();
            for (const char c : std::string_view(text != nullptr ? text : "?")) {
                if (c == '~') pointer += "~0";
                else if (c == '/') pointer += "~1";
                else pointer += c;
            }
        }
        const std::string message = pointer.empty() ? why : pointer + ": " + why;
        PyErr_SetString(type, message.c_str());
        throw py::error_already_set();
    }

    std::string& out_;
    py::handle convert_;
    std::vector<Step> steps_;
    std::size_t conversions_ = 0;
};

// Pauses the cyclic garbage collector, which would scan the many new containers again and again and
// find no garbage.
class CollectorPause {
public:
    explicit CollectorPause(bool is_worth_it) : is_paused_(is_worth_it && PyGC_Disable() == 1) {}
    ~CollectorPause() {
        if (is_paused_) PyGC_Enable();
    }
    CollectorPause(const CollectorPause&) = delete;
    CollectorPause& operator=(const CollectorPause&) = delete;

private:
    bool is_paused_;
};

constexpr std::size_t kLarge = 64 * 1024;

}  // namespace

py::object to_python(const char* text, std::size_t size) {
    constexpr unsigned kFlags =
        rapidjson::kParseFullPrecisionFlag | rapidjson::kParseStopWhenDoneFlag;
    const CollectorPause pause(size > kLarge);
    rapidjson::Reader reader;
    rapidjson::StringStream stream(text);
    Builder builder;
    const rapidjson::ParseResult parsed = reader.Parse<kFlags>(stream, builder);
    if (parsed.IsError()) {
        if (PyErr_Occurred() != nullptr) throw py::error_already_set();
        throw py::value_error("byte " + std::to_string(parsed.Offset()) + ": " +
                              rapidjson::GetParseError_En(parsed.Code()));
    }
    std::size_t end = stream.Tell();
    while (end < size &&
           (text[end] == ' ' || text[end] == '\n' || text[end] == '\r' || text[end] == '\t')) {
        ++end;
    }
    if (end != size) {
        throw py::value_error("byte " + std::to_string(end) +
                              ": extra content follows the JSON value");
    }
    return py::reinterpret_steal<py::object>(builder.release());
}

py::object to_python(std::string_view text) {
    const std::string terminated(text);
    return to_python(terminated.c_str(), terminated.size());
}

void append_json(std::string& out, py::handle value, py::handle convert) {
    Writer(out, convert).write(value.ptr());
}

py::str to_str(std::string_view text) {
    PyObject* made = make_str(text.data(), text.size());
    if (made == nullptr) throw py::error_already_set();
    return py::reinterpret_steal<py::str>(made);
}

}  // namespace narratoria::python
