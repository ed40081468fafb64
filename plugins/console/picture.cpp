// SPDX-License-Identifier: Apache-2.0
#include "picture.hpp"

#ifdef NARRATORIA_CHAFA
#include <chafa.h>
#include <gdk-pixbuf/gdk-pixbuf.h>
#include <unistd.h>

#include <memory>
#include <string_view>
#endif

namespace narratoria::console {

#ifdef NARRATORIA_CHAFA
namespace {

// An image from a tool may have any size; the decoder scales larger ones down while it reads them.
constexpr int kMaxPixels = 1024;

template <auto Release>
struct Releases {
    template <typename Object>
    void operator()(Object* object) const {
        Release(object);
    }
};

std::unique_ptr<GdkPixbuf, Releases<g_object_unref>> load(const std::string& path) {
    int wide = 0;
    int high = 0;
    if (gdk_pixbuf_get_file_info(path.c_str(), &wide, &high) == nullptr) return nullptr;
    const int most = std::max(wide, high);
    GError* error = nullptr;
    GdkPixbuf* picture = most > kMaxPixels ? gdk_pixbuf_new_from_file_at_scale(
                                                 path.c_str(), kMaxPixels, kMaxPixels, TRUE, &error)
                                           : gdk_pixbuf_new_from_file(path.c_str(), &error);
    if (error != nullptr) g_error_free(error);
    return std::unique_ptr<GdkPixbuf, Releases<g_object_unref>>(picture);
}

}  // namespace

std::vector<std::string> picture_lines(const std::string& path, std::size_t columns,
                                       std::size_t rows) {
    // No worker threads in the host's process.
    chafa_set_n_threads(1);
    std::vector<std::string> lines;
    const auto picture = load(path);
    if (!picture) return lines;
    const int wide = gdk_pixbuf_get_width(picture.get());
    const int high = gdk_pixbuf_get_height(picture.get());
    gint shown_columns = static_cast<gint>(columns);
    gint shown_rows = static_cast<gint>(rows);
    chafa_calc_canvas_geometry(wide, high, &shown_columns, &shown_rows, 0.5F, TRUE, FALSE);

    gchar** environment = g_get_environ();
    const std::unique_ptr<ChafaTermInfo, Releases<chafa_term_info_unref>> terminal(
        chafa_term_db_detect(chafa_term_db_get_default(), environment));
    const char* colours = g_environ_getenv(environment, "COLORTERM");
    const bool true_colour = colours != nullptr && (std::string_view(colours) == "truecolor" ||
                                                    std::string_view(colours) == "24bit");
    g_strfreev(environment);

    const std::unique_ptr<ChafaSymbolMap, Releases<chafa_symbol_map_unref>> symbols(
        chafa_symbol_map_new());
    chafa_symbol_map_add_by_tags(
        symbols.get(),
        static_cast<ChafaSymbolTags>(CHAFA_SYMBOL_TAG_BLOCK | CHAFA_SYMBOL_TAG_SPACE));
    const std::unique_ptr<ChafaCanvasConfig, Releases<chafa_canvas_config_unref>> config(
        chafa_canvas_config_new());
    chafa_canvas_config_set_geometry(config.get(), shown_columns, shown_rows);
    chafa_canvas_config_set_symbol_map(config.get(), symbols.get());
    chafa_canvas_config_set_canvas_mode(
        config.get(), true_colour ? CHAFA_CANVAS_MODE_TRUECOLOR : CHAFA_CANVAS_MODE_INDEXED_240);
    const std::unique_ptr<ChafaCanvas, Releases<chafa_canvas_unref>> canvas(
        chafa_canvas_new(config.get()));
    chafa_canvas_draw_all_pixels(
        canvas.get(),
        gdk_pixbuf_get_has_alpha(picture.get()) ? CHAFA_PIXEL_RGBA8_UNASSOCIATED : CHAFA_PIXEL_RGB8,
        gdk_pixbuf_read_pixels(picture.get()), wide, high, gdk_pixbuf_get_rowstride(picture.get()));
    const std::unique_ptr<GString, Releases<[](GString* text) { g_string_free(text, TRUE); }>> text(
        chafa_canvas_print(canvas.get(), terminal.get()));
    std::string_view rest(text->str, text->len);
    while (!rest.empty()) {
        const std::size_t end = std::min(rest.find('\n'), rest.size());
        lines.emplace_back(rest.substr(0, end));
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return lines;
}
#else
std::vector<std::string> picture_lines(const std::string&, std::size_t, std::size_t) { return {}; }
#endif

}  // namespace narratoria::console
