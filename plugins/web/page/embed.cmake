# SPDX-License-Identifier: Apache-2.0
# narratoria_embed_page(<target> <folder>): embeds index.html, enter.html and app/* of the folder in the target. A
# generated assembler file contains their bytes, and a generated source defines page_files() of page.hpp.
function(narratoria_embed_page target folder)
    file(GLOB_RECURSE files CONFIGURE_DEPENDS "${folder}/index.html"
        "${folder}/enter.html" "${folder}/app/*")
    list(SORT files)
    if(NOT "${folder}/index.html" IN_LIST files)
        message(WARNING "${folder} has no index.html: the page is not built into the library")
        set(files)
    endif()

    set(types
        html text/html js text/javascript css text/css txt text/plain json application/json
        svg image/svg+xml png image/png jpg image/jpeg webp image/webp ico image/x-icon
        woff2 font/woff2 webmanifest application/manifest+json wasm application/wasm)
    set(number 0)
    set(bytes "    .section .rodata\n")
    set(declarations "")
    set(entries "")
    foreach(file IN LISTS files)
        file(RELATIVE_PATH name "${folder}" "${file}")
        cmake_path(GET name EXTENSION LAST_ONLY extension)
        string(SUBSTRING "${extension}" 1 -1 extension)
        list(FIND types "${extension}" at)
        if(at EQUAL -1)
            message(FATAL_ERROR "${file}: unknown media type; add its extension to embed.cmake")
        endif()
        math(EXPR at "${at} + 1")
        list(GET types ${at} type)
        if(type MATCHES "^text/")
            string(APPEND type "; charset=utf-8")
        endif()
        # The page's builder names files that never change NAME-HASH.EXTENSION.
        set(lasting false)
        string(REPEAT "[A-Za-z0-9_-]" 8 hash_letters)
        if(name MATCHES "^app/.*-(${hash_letters})\\.[a-z0-9]+$" AND CMAKE_MATCH_1 MATCHES "[A-Z0-9]")
            set(lasting true)
        endif()
        set(path "/${name}")
        if(name STREQUAL "index.html")
            set(path "/")
        endif()
        file(SHA256 "${file}" hash)
        string(SUBSTRING "${hash}" 0 32 hash)
        set(symbol "narratoria_page_${number}")
        string(APPEND bytes
            "    .globl ${symbol}\n    .globl ${symbol}_end\n"
            "    .hidden ${symbol}\n    .hidden ${symbol}_end\n"
            "${symbol}:\n    .incbin \"${file}\"\n${symbol}_end:\n    .byte 0\n")
        string(APPEND declarations "extern const char ${symbol}[];\nextern const char ${symbol}_end[];\n")
        string(APPEND entries
            "        {\"${path}\", \"${type}\", \"\\\"${hash}\\\"\", ${lasting},\n"
            "         {${symbol}, static_cast<std::size_t>(${symbol}_end - ${symbol})}},\n")
        math(EXPR number "${number} + 1")
    endforeach()
    # Without this section the linker would make the stack of the whole process executable.
    string(APPEND bytes "    .section .note.GNU-stack,\"\",%progbits\n")

    set(assembler "${CMAKE_CURRENT_BINARY_DIR}/page_files.S")
    set(table "${CMAKE_CURRENT_BINARY_DIR}/page_files.cpp")
    file(CONFIGURE OUTPUT "${assembler}" CONTENT "@bytes@" @ONLY)
    file(CONFIGURE OUTPUT "${table}" @ONLY CONTENT
"#include \"web/page.hpp\"
extern \"C\" {
@declarations@}
namespace narratoria::web {
std::span<const PageFile> page_files() {
    static const std::array<PageFile, @number@> files = {{
@entries@    }};
    return files;
}
}  // namespace narratoria::web
")
    target_sources(${target} PRIVATE "${assembler}" "${table}")
    set_source_files_properties("${assembler}" PROPERTIES OBJECT_DEPENDS "${files}")
    # The table contains the hashes of the files.
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${files})
endfunction()
