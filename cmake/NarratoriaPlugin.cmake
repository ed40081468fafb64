# SPDX-License-Identifier: Apache-2.0
# narratoria_add_plugin(<name> SOURCES <file>…): a plugin, <name>.so, in C, C++ or both.
#
# It gets the headers of the SDK, does not link Narratoria, and exports one symbol,
# nar_plugin_entry. All other symbols (of a static library, of templates of the C++ library) stay
# hidden, so that two plugins in one process cannot clash. Configure the target like any other:
# target_link_libraries(<name> PRIVATE …), install(TARGETS <name> LIBRARY DESTINATION …).
function(narratoria_add_plugin name)
    cmake_parse_arguments(PARSE_ARGV 1 plugin "" "" "SOURCES")
    if(plugin_UNPARSED_ARGUMENTS OR NOT plugin_SOURCES)
        message(FATAL_ERROR "narratoria_add_plugin(${name} SOURCES <file>…): "
            "list at least one file after SOURCES")
    endif()
    get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)

    add_library(${name} MODULE ${plugin_SOURCES})
    set_target_properties(${name} PROPERTIES
        PREFIX ""
        SUFFIX ".so"
        C_VISIBILITY_PRESET hidden
        CXX_VISIBILITY_PRESET hidden
        VISIBILITY_INLINES_HIDDEN ON)
    if("CXX" IN_LIST languages)
        target_link_libraries(${name} PRIVATE Narratoria::sdk)
    else()
        target_link_libraries(${name} PRIVATE Narratoria::abi)
    endif()

    # -fvisibility=hidden is not enough: templates of the C++ library are declared as visible.
    set(map "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/nar_plugin.map")
    target_link_options(${name} PRIVATE "-Wl,--version-script,${map}" -Wl,--exclude-libs,ALL)
    set_property(TARGET ${name} APPEND PROPERTY LINK_DEPENDS "${map}")

    # Report undefined symbols at link time, not when a player loads the plugin. The symbols of a
    # sanitizer are defined by the loading program.
    set(flags "${CMAKE_C_FLAGS} ${CMAKE_CXX_FLAGS} ${CMAKE_MODULE_LINKER_FLAGS}")
    if(NOT flags MATCHES "-fsanitize=" AND NOT NARRATORIA_SANITIZE)
        target_link_options(${name} PRIVATE -Wl,-z,defs)
    endif()
endfunction()
