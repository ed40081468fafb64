#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""languages.py LANGUAGE BUILD-FOLDER: writes declarations for rust or go from the build's
abi/narratoria-1.json, compiles them with a program of fifty lines, and plays one turn with it.
Exits with 77 if the compiler is not available."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
STORY = ROOT / "examples" / "stories" / "torch"
EXPECTED = "You reach for the torch on the wall."
SKIPPED = 77

RUST = {"void": "c_void", "char": "c_char", "int32_t": "i32", "uint32_t": "u32", "int64_t": "i64",
        "uint64_t": "u64"}


def rust_type(given):
    if given["type"] == "callback":
        return f"Option<{rust_function(given['callback'])}>"
    text = given["type"]
    stars = text.count("*")
    base = text.replace("*", "").replace("const", "").strip()
    out = RUST.get(base, base)
    for level in range(stars):
        is_const = text.startswith("const") and level == 0
        out = ("*const " if is_const else "*mut ") + out
    return f"[{out}; {given['count']}]" if "count" in given else out


def rust_function(given):
    parameters = ", ".join(rust_type(each) for each in given["parameters"])
    returns = "" if given["returns"] == "void" else " -> " + rust_type({"type": given["returns"]})
    return f'unsafe extern "C" fn({parameters}){returns}'


def rust_declarations(api):
    lines = ["#![allow(non_camel_case_types, non_upper_case_globals, dead_code)]",
             "use std::os::raw::{c_char, c_void};"]
    lines += [f"pub type {each['name']} = {RUST[each['type']]};" for each in api["aliases"]]
    lines += [f"#[repr(C)] pub struct {each['name']} {{ _private: [u8; 0] }}"
              for each in api["opaque"]]
    lines += [f"pub type {each['name']} = Option<{rust_function(each)}>;"
              for each in api["callbacks"]]
    lines += [f"pub const {each['name']}: i64 = {each['value']};" for each in api["constants"]
              if isinstance(each["value"], int)]
    for struct in api["structs"]:
        fields = ", ".join(f"pub r#{each['name']}: {rust_type(each)}" for each in struct["fields"])
        lines.append(f"#[repr(C)] pub struct {struct['name']} {{ {fields} }}")
        # The description has the sizes of the C compiler; those of Rust must be the same.
        lines.append(f"const _: () = assert!(std::mem::size_of::<{struct['name']}>() == "
                     f"{struct['size']});")
    lines.append('#[link(name = "narratoria")] extern "C" {')
    for each in api["functions"]:
        parameters = ", ".join(f"r#{one['name']}: {rust_type(one)}" for one in each["parameters"])
        returns = "" if each["returns"] == "void" else " -> " + rust_type({"type": each["returns"]})
        lines.append(f"    pub fn {each['name']}({parameters}){returns};")
    return "\n".join(lines + ["}"]) + "\n"


RUST_PROGRAM = r"""
mod narratoria;
use narratoria::*;
use std::os::raw::c_void;

fn view(text: &str) -> nar_str {
    nar_str { data: text.as_ptr() as *const _, size: text.len() as u64 }
}
unsafe fn text(view: &nar_str) -> String {
    if view.size == 0 { return String::new(); }
    let bytes = std::slice::from_raw_parts(view.data as *const u8, view.size as usize);
    String::from_utf8_lossy(bytes).into_owned()
}
unsafe extern "C" fn ended(user: *mut c_void, turn: *const nar_turn) {
    *(user as *mut u32) = (*turn).outcome;
    println!("{}", text(&(*turn).narrative));
}

fn main() {
    let story = std::env::args().nth(1).expect("usage: turn STORY");
    let mut outcome: u32 = 0;
    unsafe {
        let mut error: nar_error = std::mem::zeroed();
        error.size = std::mem::size_of::<nar_error>() as u32;
        let mut engine: *mut nar_engine = std::ptr::null_mut();
        let mut session: *mut nar_session = std::ptr::null_mut();
        let mut options: nar_session_options = std::mem::zeroed();
        options.size = std::mem::size_of::<nar_session_options>() as u32;
        options.story = view(&story);
        let mut handler: nar_turn_handler = std::mem::zeroed();
        handler.size = std::mem::size_of::<nar_turn_handler>() as u32;
        handler.user = &mut outcome as *mut u32 as *mut c_void;
        handler.ended = Some(ended);
        let ok = NAR_OK as nar_status;
        if nar_engine_create(std::ptr::null(), &mut engine, &mut error) != ok
            || nar_session_create(engine, &options, &mut session, &mut error) != ok
            || nar_session_prompt(session, view("I light the torch"), &handler, std::ptr::null_mut(), &mut error) != ok
            || nar_engine_run_until_idle(engine, &mut error) != ok
        {
            eprintln!("{}", text(&error.message));
        }
        nar_error_clear(&mut error);
        nar_engine_destroy(engine, std::ptr::null_mut());
    }
    std::process::exit(if outcome as i64 == NAR_TURN_COMPLETED { 0 } else { 1 });
}
"""


def c_declaration(given, name):
    if given["type"] == "callback":
        inner = given["callback"]
        parameters = ", ".join(c_declaration(each, each["name"]) for each in inner["parameters"])
        return f"{inner['returns']} (*{name})({parameters or 'void'})"
    return f"{given['type']} {name}" + (f"[{given['count']}]" if "count" in given else "")


def c_declarations(api):
    """The declarations in C, which cgo reads."""
    lines = ["#include <stdint.h>"]
    lines += [f"typedef {each['type']} {each['name']};" for each in api["aliases"]]
    lines += [f"typedef struct {each['name']} {each['name']};"
              for each in api["opaque"] + api["structs"]]
    lines += [f"enum {{ {each['name']} = {each['value']} }};" for each in api["constants"]
              if isinstance(each["value"], int) and each["value"] < 2**31]
    structs = {each["name"]: each for each in api["structs"]}
    written = set()

    def write(name):
        if name in written:
            return
        written.add(name)
        for field in structs[name]["fields"]:  # a struct that is a field by value comes first
            if field["type"] in structs:
                write(field["type"])
        fields = " ".join(c_declaration(each, each["name"]) + ";" for each in structs[name]["fields"])
        lines.append(f"struct {name} {{ {fields} }};")
        lines.append(f"_Static_assert(sizeof({name}) == {structs[name]['size']}, \"{name}\");")

    write("nar_str")
    for each in api["callbacks"]:
        parameters = ", ".join(c_declaration(one, one["name"]) for one in each["parameters"])
        lines.append(f"typedef {each['returns']} (*{each['name']})({parameters});")
    for name in structs:
        write(name)
    for each in api["functions"]:
        parameters = ", ".join(c_declaration(one, one["name"]) for one in each["parameters"])
        lines.append(f"{each['returns']} {each['name']}({parameters or 'void'});")
    return "\n".join(lines) + "\n"


GO_PROGRAM = r"""
package main

/*
#cgo LDFLAGS: -lnarratoria
#include <stdlib.h>
#include "narratoria.h"
extern void turnEnded(void *user, nar_turn *turn);
static void set_ended(nar_turn_handler *handler) {
    handler->ended = (void (*)(void *, const nar_turn *))turnEnded;
}
*/
import "C"

import (
    "fmt"
    "os"
    "runtime"
    "unsafe"
)

var outcome C.uint32_t

//export turnEnded
func turnEnded(user unsafe.Pointer, turn *C.nar_turn) {
    outcome = turn.outcome
    fmt.Println(text(turn.narrative))
}

func text(view C.nar_str) string { return C.GoStringN(view.data, C.int(view.size)) }

// The text lives in C's memory, which the garbage collector does not move.
func view(text string) C.nar_str {
    return C.nar_str{data: C.CString(text), size: C.uint64_t(len(text))}
}

func main() {
    // An engine belongs to one thread, and Go moves goroutines between threads.
    runtime.LockOSThread()
    defer runtime.UnlockOSThread()
    var failure C.nar_error
    failure.size = C.uint32_t(unsafe.Sizeof(failure))
    var engine *C.nar_engine
    var session *C.nar_session
    var options C.nar_session_options
    options.size = C.uint32_t(unsafe.Sizeof(options))
    options.story = view(os.Args[1])
    var handler C.nar_turn_handler
    handler.size = C.uint32_t(unsafe.Sizeof(handler))
    C.set_ended(&handler)
    if C.nar_engine_create(nil, &engine, &failure) != C.NAR_OK ||
        C.nar_session_create(engine, &options, &session, &failure) != C.NAR_OK ||
        C.nar_session_prompt(session, view("I light the torch"), &handler, nil, &failure) != C.NAR_OK ||
        C.nar_engine_run_until_idle(engine, &failure) != C.NAR_OK {
        fmt.Fprintln(os.Stderr, text(failure.message))
    }
    C.nar_error_clear(&failure)
    C.nar_engine_destroy(engine, nil)
    if outcome != C.NAR_TURN_COMPLETED {
        os.Exit(1)
    }
}
"""


def compiler(name, *places):
    found = shutil.which(name) or next((place for place in places if Path(place).is_file()), None)
    if found is None:
        print(f"SKIPPED: {name} is not available: no turn is played with declarations for it",
              file=sys.stderr)
        sys.exit(SKIPPED)
    return found


def main():
    language, build = sys.argv[1], Path(sys.argv[2]).resolve()
    libraries = build / "lib"
    api = json.loads((build / "abi" / "narratoria-1.json").read_text())
    environment = {**os.environ, "LD_LIBRARY_PATH": str(libraries)}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program = folder / "turn"
        if language == "rust":
            rustc = compiler("rustc", str(Path.home() / ".cargo/bin/rustc"))
            (folder / "narratoria.rs").write_text(rust_declarations(api))
            (folder / "main.rs").write_text(RUST_PROGRAM)
            command = [rustc, "--edition=2021", "-L", str(libraries), "-o", str(program),
                       str(folder / "main.rs")]
        elif language == "go":
            go = compiler("go", "/usr/local/go/bin/go")
            (folder / "narratoria.h").write_text(c_declarations(api))
            (folder / "main.go").write_text(GO_PROGRAM)
            (folder / "go.mod").write_text("module turn\n\ngo 1.20\n")
            environment |= {"CGO_ENABLED": "1", "CGO_LDFLAGS": f"-L{libraries}",
                            "GOFLAGS": "-mod=mod", "GOTOOLCHAIN": "local", "GOPROXY": "off",
                            "GOCACHE": os.environ.get("GOCACHE", str(folder / "cache"))}
            command = [go, "build", "-o", str(program), "."]
        else:
            sys.exit(f"languages.py: {language} is not supported; give rust or go")
        subprocess.run(command, check=True, cwd=folder, env=environment)
        played = subprocess.run([str(program), str(STORY)], check=True, env=environment,
                                stdout=subprocess.PIPE, text=True)
        if EXPECTED not in played.stdout:
            sys.exit(f"{language}: the turn told {played.stdout!r}, not {EXPECTED!r}")


if __name__ == "__main__":
    main()
