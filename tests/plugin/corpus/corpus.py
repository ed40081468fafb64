# SPDX-License-Identifier: Apache-2.0
"""A corpus of misbehaving plugins: rules x ways to break them x places x languages.

Each language has one library, which is well-behaved unless its file name says what to violate and
where (plugin.h), so a variant is a copy with a different name. The tables below list the rules
that each variant violates. For a few variants, bytes of the copy are changed as well.
`python3 corpus.py` prints the matrix in docs/plugin-rules.md.

tests/cli/test_plugin_corpus.py checks the variants; NARRATORIA_CORPUS=N selects every N-th.
"""

import json
import shutil
import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ABI = HERE.parents[2] / "abi" / "include"
MAP = HERE.parents[2] / "cmake" / "nar_plugin.map"
SOURCES = {"c": "corpus.c", "cpp": "corpus.cpp", "rust": "corpus.rs"}
NAMES = {"c": "C", "cpp": "C++", "rust": "Rust"}


@dataclass(frozen=True)
class Variant:
    language: str
    way: str
    place: str
    rules: tuple  # the rules that it violates

    @property
    def name(self):
        return f"{self.language}+{self.way}+{self.place}"


# ---------------------------------------------------------------- the table

CALLS = "sink handle render generate start invoke"
CALLBACKS = "timer post"
# Rules, ways, places. Every way is combined with every place.
C = [
    ("P26", "null-write null-read null-call divide illegal overflow double-free free-stack", "handle"),
    ("P26", "breakpoint free-inner write-code sigsys raise-segv raise-bus", "sink"),
    ("P26", "null-write", "init deinit sink render generate start invoke timer post get_extension"),
    ("P26", "double-free", "init sink invoke"),
    ("P26", "null-write", "entry"),
    ("P5", "null-write abort hang chdir sigpipe alarm nonblock-1 nice name leak-fd umask", "load"),
    ("P5 P28", "leak-child", "load"),
    ("P25", "abort exit exit-7 _exit quick-exit", "handle"),
    ("P25", "exit", "init deinit sink render generate start invoke timer post entry get_extension"),
    ("P25", "abort", "init sink generate invoke"),
    ("P25", "exec", "handle"),
    ("P46", "kill-group-term kill-group-int kill-group-hup kill-group-usr1 raise-kill", "handle"),
    ("P46", "kill-group-term", "init sink timer"),
    ("P27", "alarm-now itimer-prof-now", "handle"),
    ("P27", "sigpipe sigchld sigint sigterm sigmask chdir umask rlimit setenv rounding alarm "
            "itimer-virtual itimer-prof nice batch name nonblock-0 nonblock-1 nonblock-2 locale", "init"),
    ("P27", "sigpipe chdir rounding alarm nice name nonblock-1 setenv", "sink handle invoke"),
    ("P27", "umask alarm", "timer post"),
    ("P23", "hang", "init sink handle render generate start invoke timer post get_extension entry"),
    ("P23", "spin slow", "handle"),
    ("P23", "slow", "generate render"),
    ("P19", "hang spin", "deinit"),
    ("P20", "leak-thread", "init handle"),
    ("P28", "leak-fd leak-pipe leak-socket leak-child leak-zombie", "init"),
    ("P28", "leak-fd leak-child", "handle deinit"),
    ("P21", "share-host", "init handle"),
    ("P42", "fork-bomb fork-wide many-threads all-memory", "handle"),
    ("P42", "fork-bomb many-threads all-memory", "init"),
    ("P42", "fork-bomb", "sink timer"),
    ("P43", "timer-again post-again", "handle sink"),
    ("P43", "prompt-again", "handle sink"),
    ("P44", "poll-close poll-close-stop poll-reuse", "handle sink"),
    ("P45", "close-0 close-1 close-2 close-range", "handle"),
    ("P27 P45", "replace-1", "handle"),
    ("P45", "close-0 close-range", "init sink"),
    ("P47", "atexit-crash atexit-hang atexit-status", "init"),
    # The contract's calls
    ("P18", "call-state-read call-state-patch call-assets-list call-prompt-submit call-timer-start "
            "call-poll-start", "init"),
    ("P18", "call-state-read call-state-patch call-timer-start call-post call-settings", "deinit"),
    ("P22", "thread-state-read thread-state-patch thread-assets-list thread-prompt-submit "
            "thread-timer-start thread-timer-stop thread-poll-start thread-poll-stop", "handle"),
    ("P34", "level-0 level-9 log-bytes log-null log-foreign patch-text patch-array patch-bytes pointer "
            "publish-many prompt-bytes post-null timer-null poll-null poll-bad poll-events token-none fail-none "
            "output-none ended-none", "handle"),
    ("P34", "status-5 status-low", "answer"),
    ("P34", "end-size-0 end-size-huge", "invoke start"),
    ("P35", "no-reply", "narrator"),
    ("P36", "reply-twice reply-fail fail-first reply-old", "narrator"),
    ("P35 P37", "no-reply", "cancel"),
    ("P39", "end-twice output-late diagnostics-late run-late no-end", "invoke start"),
    ("P39", "late-synchronous", "invoke"),
    ("P39 P40", "end-first", "invoke start"),
    ("P40", "garbage no-done two-dones done-first version-1 unknown-type no-level array-line bad-bytes "
            "ok-text", "invoke"),
    ("P40", "garbage no-done", "start"),
    ("P9", "silent reason-bytes", "start-refused init-refused entry-refused"),
    ("P9", "reason-endless", "init-refused entry-refused"),
    ("P39", "ended-refused", "start-refused"),
    # Tricks (tricks.h)
    ("P27", "reset-hand uselocale putenv clearenv environ fp-traps flush-to-zero stack-limit", "init"),
    ("P27", "posix-timer-now seccomp trace-me", "handle"),
    ("P25", "pthread-exit cancel-self exit-thread", "handle"),
    ("P46", "raise-thread stop-self", "handle"),
    ("P26", "unload-self longjmp smash-stack log-wild", "handle"),
    ("P28", "daemon fork-return vfork-exit", "handle"),
    ("P42", "flood-output", "handle"),
    ("P43", "poll-hot", "handle"),
    ("P45", "fclose-stderr", "handle"),
    ("P34", "log-endless", "handle"),
    ("P30", "unlock-table", "init handle"),
    ("P30", "unlock-record", "sink handle render start invoke"),
    ("P36", "reply-threads", "narrator"),
    ("P9", "status-5", "init entry"),
    ("P11", "size-1 size-3", "description"),
    ("P16", "size-1 size-3 wild misaligned", "event_sink tool"),
    # What the host has in its process (decoys.hpp)
    ("P45", "epoll-replace epoll-add epoll-empty epoll-change eventfd-write pipe-read keep-on-exec", "handle"),
    ("P45", "epoll-empty keep-on-exec", "init deinit"),
    ("P46", "kill-children stop-children reap-children atexit-kill-children "
            "destructor-kill-children", "handle"),
    ("P46", "kill-children reap-children", "init deinit"),
    ("P27", "file-limit subreaper death-signal dumpable no-new-privs timer-slack fp-traps", "handle"),
    ("P25", "pthread-exit", "init deinit sink render generate start invoke timer post get_extension entry"),
    ("P47", "atexit-crash atexit-hang atexit-status", "handle"),
    ("P26", "unload-once", "handle"),
    # Memory
    ("P30", "write-record write-size write-last write-text write-text-end", "sink handle render"),
    ("P30", "write-record write-last write-text", "start invoke"),
    ("P30", "write-text write-text-end", "generate"),
    ("P30", "write-log write-config write-state write-assets write-prompt write-post-table write-timer "
            "write-poll write-narrator write-invocation write-host write-settings", "init"),
    ("P30", "write-log write-host", "handle deinit"),
    ("P30", "read-record", "sink handle render start invoke"),
    ("P30", "read-text strlen-text", "sink handle render generate start invoke"),
    ("P30", "unterminated", "ids"),
    ("P41", "keep-text", "sink handle render generate start"),
    ("P41", "keep-record", "sink handle render start"),
    ("P31", "needs-log needs-config needs-state needs-assets needs-prompt needs-post needs-timer "
            "needs-poll needs-narrator needs-invocation thread-needs", "services"),
    # The description
    ("P8", "null-plugin", "entry"),
    ("P10", "any-major major-0 major-2 wrong-status later-minor", "versions"),
    ("P10", "major-2 major-0", "description"),
    ("P11", "size-0 size-8 size-huge no-init no-deinit no-get-extension no-list long-list list-id "
            "list-empty-id", "description"),
    ("P12", "id-empty id-upper id-space id-dash id-bytes", "description"),
    ("P7 P12", "name-empty version-empty name-bytes version-bytes", "description"),
    ("P13", "forgets changes", "event_sink ui_handler asset_renderer narrator tool_runner tool"),
    ("P14", "every prefix shorter any-version empty crash", "ids"),
    ("P16", "short zero huge", "event_sink ui_handler asset_renderer narrator tool_runner tool"),
    ("P16", "no-event no-handle no-render no-generate no-start no-cancel no-invoke", "function"),
    ("P16", "no-events no-media-types no-schemes no-tools null-tool same-events same-media-types "
            "same-schemes same-tools bytes-event empty-event bad-media-type colon-scheme space-scheme "
            "empty-tool space-tool schema-text schema-array schema-type schema-form result-text short-tool huge-tool "
            "bytes-description many-events long-event long-scheme long-tool tool-flags runner-flags "
            "form-key form-name", "list"),
    # Bytes of the file
    ("P1", "missing-symbol", "file"),
    ("P4", "executable-stack", "file"),
    ("P6", "no-note bad-schema bad-json", "file"),
    ("P7", "other-version other-name", "file"),
]
CPP = [
    ("P24", "throw-error throw-int throw-text throw-alloc throw-vector throw-stoi throw-map throw-cast", "handle"),
    ("P24", "throw-error", "init deinit sink render generate start invoke timer post get_extension entry"),
    ("P24", "throw-noexcept throw-thread", "handle sink"),
    ("P25", "terminate joinable", "handle"),
    ("P27", "set-terminate", "init handle"),
    ("P47", "static-destructor", "init"),
    ("P26", "delete-twice", "handle"),
    ("P26", "null-write overflow", "sink"),
    ("P42", "all-memory", "invoke"),
    ("P30", "write-text", "sink"),
    ("P41", "keep-text", "handle"),
]
RUST = [
    ("P25", "panic unwrap expect index divide parse borrow exit abort", "sink"),
    ("P25", "panic exit", "init deinit"),
    ("P25", "panic", "entry"),
    ("P26", "null overflow", "sink"),
    ("P23", "hang slow", "sink"),
    ("P19", "hang", "deinit"),
    ("P27", "chdir setenv", "init sink"),
    ("P28", "leak-file", "init sink"),
    ("P28", "leak-child", "init"),
    ("P20", "leak-thread", "init sink"),
    ("P30", "write-seq read-body", "sink"),
]


def variants():
    for language, table in (("c", C), ("cpp", CPP), ("rust", RUST)):
        for rules, ways, places in table:
            for way in ways.split():
                for place in places.split():
                    yield Variant(language, way, place, tuple(rules.split()))


# Selected always: each is the only one of its kind, and unseen by every other test.
ALWAYS = set("epoll-replace epoll-add epoll-empty eventfd-write pipe-read keep-on-exec kill-children stop-children "
             "reap-children atexit-kill-children destructor-kill-children subreaper many-events "
             "long-scheme tool-flags runner-flags schema-type thread-needs".split())


def chosen(every):
    """Selects one variant in `every`, the first of each rule, and ALWAYS once."""
    seen = set()
    for number, variant in enumerate(variants()):
        is_kept = variant.way in ALWAYS and variant.way not in seen
        if number % every == 0 or is_kept or not seen.issuperset(variant.rules):
            seen.update(variant.rules)
            seen.add(variant.way)
            yield variant


# ---------------------------------------------------------------- the libraries


def build(folder, language):
    """Builds the library of a language; returns None without a compiler."""
    library = folder / f"{language}.so"
    if library.exists():
        return library
    source = HERE / SOURCES[language]
    if language == "rust":
        if shutil.which("rustc") is None:
            return None
        command = ["rustc", "--crate-type=cdylib", "--edition=2021", "-O", "-Cpanic=unwind",
                   "-Coverflow-checks=on", "-Clink-arg=-Wl,--exclude-libs,ALL"]
    else:
        # Warnings are off, because compilers warn of most ways.
        command = ["cc", "-std=c11", "-fexceptions"] if language == "c" else ["c++", "-std=c++20"]
        command += ["-w", "-O1", "-fPIC", "-shared", "-fvisibility=hidden", "-pthread",
                    f"-I{ABI}", f"-Wl,--version-script,{MAP}", "-Wl,--exclude-libs,ALL", "-lm"]
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run([*command, source, "-o", library.with_suffix(".new")], check=True, capture_output=True)
    library.with_suffix(".new").rename(library)
    return library


def changed(content, way):
    """The changed bytes of the library, for the ways that are in the file itself."""
    def replace(old, new):
        assert content.count(old) >= 1 and len(old) == len(new), (way, old)
        return content.replace(old, new)

    if way == "missing-symbol":
        return replace(b"\0prctl\0", b"\0prctk\0")
    if way == "no-note":
        # The owner's name in the note.
        return replace(b"Narratoria\0", b"Narratorio\0")
    if way == "bad-schema":
        return replace(b'"plugin/1"', b'"plugin/9"')
    if way == "bad-json":
        return replace(b'{"schema":', b'{"schema"=')
    if way == "other-version":
        return replace(b'"version":"1.0.0"', b'"version":"1.0.9"')
    if way == "other-name":
        return replace(b'"name":"Corpus"', b'"name":"Korpus"')
    assert way == "executable-stack", way
    table, = struct.unpack_from("<Q", content, 32)
    size, count = struct.unpack_from("<HH", content, 54)
    for at in range(table, table + size * count, size):
        kind, flags = struct.unpack_from("<II", content, at)
        if kind == 0x6474E551:
            return content[: at + 4] + struct.pack("<I", flags | 1) + content[at + 8 :]
    raise AssertionError("there is no PT_GNU_STACK")


def write(variant, library, folder):
    path = folder / f"{variant.name}.so"
    content = library.read_bytes()
    path.write_bytes(changed(content, variant.way) if variant.place == "file" else content)
    if variant.language == "rust":
        metadata = {"schema": "plugin/1", "id": "org.narratoria.test.corpus", "name": "Corpus",
                    "version": "1.0.0", "abi": "1.0", "extensions": ["narratoria.event_sink/1"]}
        Path(f"{path}.json").write_text(json.dumps(metadata))
    return path


# ---------------------------------------------------------------- the matrix


def matrix():
    counts = {}
    for variant in variants():
        for rule in variant.rules:
            counts.setdefault(int(rule[1:]), {}).setdefault(variant.language, []).append(variant.way)
    lines = ["| rule | " + " | ".join(NAMES.values()) + " | variants |",
             "|---|" + "---|" * (len(NAMES) + 1)]
    for rule in sorted(counts):
        of = counts[rule]
        row = [str(len(of.get(language, ()))) for language in NAMES]
        lines.append(f"| `P{rule}` | " + " | ".join(row) + f" | {sum(map(len, of.values()))} |")
    total = [sum(1 for variant in variants() if variant.language == language) for language in NAMES]
    lines.append("| all | " + " | ".join(map(str, total)) + f" | {sum(total)} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(matrix(), end="")
