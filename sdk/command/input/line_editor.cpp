// SPDX-License-Identifier: Apache-2.0
#include "input/line_editor.hpp"

#ifdef NARRATORIA_WITH_LIBEDIT

#include <histedit.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <cwchar>
#include <exception>
#include <new>
#include <optional>
#include <utility>

#include "display.hpp"
#include "input/history_file.hpp"
#include "io/interruption.hpp"

namespace narratoria::command::input {
namespace {

constexpr int kHistoryLines = 1000;
constexpr std::size_t kListedColumns = 78;
// Encloses the parts of a prompt that set colours, so that libedit does not count their columns.
constexpr char kNoColumns = '\1';

// `columns`: of the prompt on the terminal.
std::string mark_colours(std::string_view prompt, std::size_t& columns) {
    std::string marked;
    columns = 0;
    while (!prompt.empty()) {
        const std::size_t begin = std::min(prompt.find('\x1b'), prompt.size());
        const std::size_t end = std::min(prompt.find('m', begin), prompt.size() - 1) + 1;
        marked += prompt.substr(0, begin);
        columns += terminal::columns(prompt.substr(0, begin));
        if (begin < end)
            ((marked += kNoColumns) += prompt.substr(begin, end - begin)) += kNoColumns;
        prompt.remove_prefix(end);
    }
    return marked;
}

// The longest common prefix.
std::string_view common_beginning(const std::vector<std::string>& words) {
    if (words.empty()) return {};
    std::string_view common = words.front();
    for (const std::string& word : words) {
        const auto different =
            std::mismatch(common.begin(), common.end(), word.begin(), word.end());
        common = common.substr(0, static_cast<std::size_t>(different.first - common.begin()));
    }
    return common;
}

class LibeditEditor : public LineReader {
public:
    LibeditEditor(Engine& engine, const std::string& history_name,
                  std::function<Completion(std::string_view)> complete)
        : engine_(engine), complete_(std::move(complete)), file_(history_name) {
        // libedit takes the encoding and the width of characters from the locale; the command
        // always uses UTF-8. No other thread runs yet, so setlocale is safe.
        std::setlocale(LC_CTYPE, "C.UTF-8");
        history_.reset(history_init());
        editor_.reset(el_init("narratoria", stdin, stdout, stderr));
        if (!history_ || !editor_) throw std::bad_alloc();
        HistEvent event;
        history(history_.get(), &event, H_SETSIZE, kHistoryLines);
        history(history_.get(), &event, H_SETUNIQUE, 1);
        el_set(editor_.get(), EL_CLIENTDATA, this);
        el_set(editor_.get(), EL_HIST, history, history_.get());
        el_set(editor_.get(), EL_PROMPT_ESC, prompt_of, kNoColumns);
        el_set(editor_.get(), EL_EDITOR, "emacs");
        el_set(editor_.get(), EL_ADDFN, "narratoria-complete", "Complete the word", complete_in);
        el_set(editor_.get(), EL_BIND, "^I", "narratoria-complete", nullptr);
        el_set(editor_.get(), EL_BIND, "^R", "em-inc-search-prev", nullptr);
        el_set(editor_.get(), EL_SIGNAL, 0);
        el_wset(editor_.get(), EL_GETCFN, character_of);
        el_source(editor_.get(), nullptr);  // the user's ~/.editrc
        for (const std::string& line : file_.load()) add_to_history(line);
        // Makes was_continued() work, for Ctrl-Z: see wait_for_input.
        interruption::show_cursor_on(STDOUT_FILENO);
    }
    ~LibeditEditor() override { interruption::show_cursor_on(-1); }

    Ending read(const std::string& prompt, std::string& line) override {
        prompt_ = mark_colours(prompt, prompt_columns_);
        // Called before the prompt is shown, so that the terminal does not echo early input twice.
        el_set(editor_.get(), EL_PREP_TERM, 1);
        // Ctrl-\ would end the process without restoring the terminal.
        el_set(editor_.get(), EL_SETTY, "-d", "quit=", nullptr);
        int size = 0;
        const char* const text = el_gets(editor_.get(), &size);
        if (problem_) std::rethrow_exception(std::exchange(problem_, nullptr));
        if (text == nullptr || size <= 0) {
            const int signal = interruption::received();
            std::fputs(signal == SIGINT ? "^C\n" : "\n", stdout);
            std::fflush(stdout);
            line = std::exchange(discarded_, {});
            return signal != 0 ? Ending::Signal : Ending::Input;
        }
        line.assign(text, static_cast<std::size_t>(size));
        if (line.ends_with('\n')) line.pop_back();
        return Ending::Line;
    }

    void write_above(std::string_view text) override {
        // Erase the rows of the prompt and the line. libedit draws them again.
        const LineInfo* const line = el_line(editor_.get());
        const std::size_t before =
            prompt_columns_ + terminal::columns({line->buffer, line->cursor});
        std::string out = "\r";
        winsize window{};
        const bool is_known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0;
        if (const std::size_t rows = is_known ? before / window.ws_col : 0; rows > 0) {
            out += "\x1b[" + std::to_string(rows) + 'A';
        }
        (out += "\x1b[J") += text;
        std::fputs(out.c_str(), stdout);
        std::fflush(stdout);
        el_set(editor_.get(), EL_REFRESH);
    }

    void remember(const std::string& line) override {
        add_to_history(line);
        file_.append(line);
    }

private:
    void add_to_history(const std::string& line) {
        HistEvent event;
        history(history_.get(), &event, H_ENTER, line.c_str());
    }

    static LibeditEditor& of(EditLine* editor) {
        void* ours = nullptr;
        el_get(editor, EL_CLIENTDATA, &ours);
        return *static_cast<LibeditEditor*>(ours);
    }
    static char* prompt_of(EditLine* editor) { return of(editor).prompt_.data(); }

    // Exceptions must not pass through libedit, so they are stored and thrown later.
    template <class Result, class Function>
    Result guarded(Result otherwise, Function function) noexcept {
        try {
            return function();
        } catch (...) {
            problem_ = std::current_exception();
            return otherwise;
        }
    }

    // Returns 1, 0 at the end of the input, or -1, as read(2).
    static int character_of(EditLine* editor, wchar_t* character) {
        LibeditEditor& its = of(editor);
        return its.guarded(-1, [&] { return its.read_character(*character); });
    }
    int read_character(wchar_t& character) {
        std::mbstate_t state{};
        for (;;) {
            const bool is_first = std::mbsinit(&state) != 0;
            char byte = 0;
            const int got = read_byte(byte);
            if (got <= 0) return got;
            const std::size_t length = std::mbrtowc(&character, &byte, 1, &state);
            if (length == static_cast<std::size_t>(-2)) continue;
            if (length == static_cast<std::size_t>(-1)) {
                character = L'\uFFFD';
                // A byte that cannot continue the character begins the next one.
                if (!is_first) kept_ = byte;
            }
            return 1;
        }
    }
    int read_byte(char& byte) {
        if (kept_) {
            byte = *std::exchange(kept_, std::nullopt);
            return 1;
        }
        for (;;) {
            if (!wait_for_input()) {
                errno = EINTR;
                return -1;
            }
            const ssize_t got = ::read(STDIN_FILENO, &byte, 1);
            if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
            // The kernel stores a Ctrl-D that is typed before the editor sets the mode as 0.
            if (byte == '\0') byte = '\x04';
            return static_cast<int>(got);
        }
    }

    // Drives the engine until input is available. False after a signal.
    bool wait_for_input() {
        for (;;) {
            if (interruption::received() != 0) {
                const LineInfo* const line = el_line(editor_.get());
                discarded_.assign(line->buffer, line->lastchar);
                return false;
            }
            if (interruption::was_continued()) {
                // The shell has changed the terminal mode; libedit must set it again.
                el_set(editor_.get(), EL_PREP_TERM, 0);
                el_set(editor_.get(), EL_PREP_TERM, 1);
                el_set(editor_.get(), EL_REFRESH);
            }
            pollfd ready[] = {{STDIN_FILENO, POLLIN, 0},
                              {interruption::descriptor(), POLLIN, 0},
                              {engine_.descriptor(), POLLIN, 0}};
            const auto due = engine_.timeout();
            if (poll(ready, 3, due ? static_cast<int>(due->count()) : -1) < 0) {
                if (errno != EINTR) return false;
                continue;
            }
            engine_.run_for(std::chrono::microseconds(0));
            if (ready[0].revents != 0) {
                el_resize(editor_.get());
                return true;
            }
        }
    }

    static unsigned char complete_in(EditLine* editor, int) {
        LibeditEditor& its = of(editor);
        return its.guarded(static_cast<unsigned char>(CC_ERROR),
                           [&] { return its.complete_word(); });
    }
    unsigned char complete_word() {
        const LineInfo* const line = el_line(editor_.get());
        const Completion found =
            complete_({line->buffer, static_cast<std::size_t>(line->cursor - line->buffer)});
        if (found.words.empty()) return CC_ERROR;
        const std::string more(common_beginning(found.words).substr(found.typed));
        if (!more.empty()) {
            if (el_insertstr(editor_.get(), more.c_str()) != 0) return CC_ERROR;
            return CC_REFRESH;
        }
        if (found.words.size() == 1) return CC_NORM;
        const bool has_phrases = std::any_of(
            found.words.begin(), found.words.end(),
            [](const std::string& word) { return word.find(' ') != std::string::npos; });
        std::string listed;
        for (const std::string& word : found.words) {
            if (!listed.empty()) listed += has_phrases ? '\n' : ' ';
            listed += word;
        }
        std::string shown = "\n";
        for (const std::string& row : terminal::wrap(listed, kListedColumns)) shown += row + "\n";
        // libedit writes to the same stream, so the order is kept.
        std::fputs(shown.c_str(), stdout);
        return CC_REDISPLAY;
    }

    struct HistoryDeleter {
        void operator()(History* history) const { history_end(history); }
    };
    struct EditorDeleter {
        void operator()(EditLine* editor) const { el_end(editor); }
    };

    Engine& engine_;
    const std::function<Completion(std::string_view)> complete_;
    HistoryFile file_;
    std::string prompt_;
    std::size_t prompt_columns_ = 0;
    std::string discarded_;
    std::optional<char> kept_;  // a byte that was read ahead
    std::exception_ptr problem_;
    std::unique_ptr<History, HistoryDeleter> history_;
    std::unique_ptr<EditLine, EditorDeleter> editor_;
};

}  // namespace

std::unique_ptr<LineReader> open_line_editor(
    Engine& engine, const std::string& history,
    std::function<Completion(std::string_view before)> complete) {
    return std::make_unique<LibeditEditor>(engine, history, std::move(complete));
}

}  // namespace narratoria::command::input

#else

namespace narratoria::command::input {

std::unique_ptr<LineReader> open_line_editor(Engine&, const std::string&,
                                             std::function<Completion(std::string_view)>) {
    return nullptr;
}

}  // namespace narratoria::command::input

#endif
