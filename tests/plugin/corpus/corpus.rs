// SPDX-License-Identifier: Apache-2.0
// The corpus of plugins in Rust: an event sink, with the metadata in a file next to the library.
// The file's name, LANGUAGE+WAY+PLACE.so, selects its behaviour, as in plugin.h.
#![allow(non_camel_case_types, static_mut_refs, unconditional_recursion)]

use std::ffi::{c_char, c_int, c_void, CStr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::OnceLock;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct nar_str {
    data: *const c_char,
    size: u64,
}
unsafe impl Sync for nar_str {}

#[repr(C)]
pub struct nar_failure {
    size: u32,
    message: [u8; 508],
    code: [u8; 64],
}

#[repr(C)]
pub struct nar_host {
    size: u32,
    abi_version: u32,
}

#[repr(C)]
pub struct nar_event {
    size: u32,
    kind: u32,
    kind_of_tool: u32,
    attempt: u32,
    seq: u64,
    time_us: i64,
    session_id: nar_str,
    plan_id: nar_str,
    tool_id: nar_str,
    body: nar_str,
}

#[repr(C)]
pub struct nar_event_sink_extension {
    size: u32,
    reserved: u32,
    kinds: u64,
    event: extern "C" fn(*mut c_void, *const nar_event),
}

#[repr(C)]
pub struct nar_plugin {
    size: u32,
    abi_version: u32,
    id: nar_str,
    name: nar_str,
    version: nar_str,
    extensions: *const nar_str,
    extension_count: u64,
    init: extern "C" fn(*const nar_host, *mut *mut c_void, *mut nar_failure) -> i32,
    deinit: extern "C" fn(*mut c_void),
    get_extension: extern "C" fn(nar_str) -> *const c_void,
}
unsafe impl Sync for nar_plugin {}

const fn text(bytes: &'static [u8]) -> nar_str {
    nar_str { data: bytes.as_ptr() as *const c_char, size: bytes.len() as u64 }
}

const SINK: &[u8] = b"narratoria.event_sink/1";
static EXTENSIONS: [nar_str; 1] = [text(SINK)];
static EVENT_SINK: nar_event_sink_extension = nar_event_sink_extension {
    size: std::mem::size_of::<nar_event_sink_extension>() as u32,
    reserved: 0,
    kinds: 0,
    event,
};
static PLUGIN: nar_plugin = nar_plugin {
    size: std::mem::size_of::<nar_plugin>() as u32,
    abi_version: 1 << 16,
    id: text(b"org.narratoria.test.corpus"),
    name: text(b"Corpus"),
    version: text(b"1.0.0"),
    extensions: EXTENSIONS.as_ptr(),
    extension_count: 1,
    init,
    deinit,
    get_extension,
};

#[repr(C)]
struct dl_info {
    file: *const c_char,
    base: *mut c_void,
    symbol: *const c_char,
    address: *mut c_void,
}

extern "C" {
    fn dladdr(address: *const c_void, found: *mut dl_info) -> c_int;
}

static CHOSEN: OnceLock<(String, String)> = OnceLock::new();
static SUM: AtomicU64 = AtomicU64::new(0);

// The way and the place, from the library's file name.
fn chosen() -> &'static (String, String) {
    CHOSEN.get_or_init(|| unsafe {
        let mut found: dl_info = std::mem::zeroed();
        if dladdr(&PLUGIN as *const nar_plugin as *const c_void, &mut found) == 0 {
            return Default::default();
        }
        let path = CStr::from_ptr(found.file).to_string_lossy().into_owned();
        let name = path.rsplit('/').next().unwrap_or("").trim_end_matches(".so").to_string();
        let mut parts = name.split('+').skip(1).map(String::from);
        (parts.next().unwrap_or_default(), parts.next().unwrap_or_default())
    })
}

fn recurse(depth: u64) -> u64 {
    let frame = [depth; 512];
    SUM.fetch_add(frame[(depth % 512) as usize], Ordering::Relaxed);
    recurse(depth + 1) + frame[0]
}

fn at(place: &str, event: *const nar_event) {
    let (way, wanted) = chosen();
    if wanted != place {
        return;
    }
    let none: Option<u64> = if way.is_empty() { Some(1) } else { None };
    let empty: Vec<u64> = Vec::new();
    match way.as_str() {
        "panic" => panic!("a panic across the contract"),
        "unwrap" => SUM.store(none.unwrap(), Ordering::Relaxed),
        "expect" => SUM.store(none.expect("a number"), Ordering::Relaxed),
        "index" => SUM.store(empty[way.len()], Ordering::Relaxed),
        "divide" => SUM.store(1 / (SUM.load(Ordering::Relaxed) & 0), Ordering::Relaxed),
        "parse" => SUM.store("rain".parse::<u64>().unwrap(), Ordering::Relaxed),
        "borrow" => {
            let cell = std::cell::RefCell::new(0);
            let _first = cell.borrow_mut();
            let _second = cell.borrow_mut();
        }
        "exit" => std::process::exit(0),
        "abort" => std::process::abort(),
        "null" => unsafe { std::ptr::null_mut::<u64>().write_volatile(1) },
        "overflow" => SUM.store(recurse(0), Ordering::Relaxed),
        "hang" => loop {
            std::thread::park();
        },
        "slow" => std::thread::sleep(std::time::Duration::from_millis(160)),
        "chdir" => std::env::set_current_dir("/").unwrap(),
        "setenv" => unsafe { std::env::set_var("RAIN", "1") },
        "leak-file" => std::mem::forget(std::fs::File::open("/dev/null").unwrap()),
        "leak-thread" => {
            std::thread::spawn(|| loop {
                std::thread::park();
            });
        }
        "leak-child" => std::mem::forget(std::process::Command::new("/bin/true").spawn().unwrap()),
        "write-seq" => unsafe { std::ptr::write_volatile(&raw mut (*(event as *mut nar_event)).seq, 0) },
        "read-body" if unsafe { (*event).body.size } > 0 => unsafe {
            let body = (*event).body;
            let byte = std::ptr::read_volatile(body.data.add(body.size as usize));
            SUM.fetch_add(byte as u64, Ordering::Relaxed);
        },
        _ => {}
    }
}

extern "C" fn event(_instance: *mut c_void, event: *const nar_event) {
    at("sink", event);
}

extern "C" fn init(_: *const nar_host, instance: *mut *mut c_void, _: *mut nar_failure) -> i32 {
    at("init", std::ptr::null());
    unsafe { *instance = Box::into_raw(Box::new(0u64)) as *mut c_void };
    0
}

extern "C" fn deinit(instance: *mut c_void) {
    at("deinit", std::ptr::null());
    drop(unsafe { Box::from_raw(instance as *mut u64) });
}

extern "C" fn get_extension(id: nar_str) -> *const c_void {
    if id.data.is_null() || id.size as usize != SINK.len() {
        return std::ptr::null();
    }
    let wanted = unsafe { std::slice::from_raw_parts(id.data as *const u8, id.size as usize) };
    if wanted == SINK {
        return &EVENT_SINK as *const nar_event_sink_extension as *const c_void;
    }
    std::ptr::null()
}

#[no_mangle]
pub extern "C" fn nar_plugin_entry(
    host: *const nar_host,
    found: *mut *const nar_plugin,
    failure: *mut nar_failure,
) -> i32 {
    unsafe {
        if (*host).abi_version >> 16 != 1 {
            for (to, from) in (*failure).message.iter_mut().zip(b"built for another ABI\0") {
                *to = *from;
            }
            return UNSUPPORTED;
        }
        at("entry", std::ptr::null());
        *found = &PLUGIN;
    }
    0
}

// NAR_UNSUPPORTED of narratoria/status.h.
const UNSUPPORTED: i32 = -14;
