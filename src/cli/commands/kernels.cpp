// wavefill kernels: the kernel table of a device, and which rows of it take a shape.
#include <fmt/format.h>

#include <memory>
#include <optional>

#include "cli/command.h"
#include "cli/device_options.h"
#include "cli/json_output.h"
#include "cli/shape_options.h"
#include "cli/units.h"
#include "report/text_table.h"

namespace wavefill::cli {
namespace {

struct KernelsOptions {
  DeviceOptions device;
  ShapeOptions shape;
  bool json = false;
};

struct Listing {
  std::string device;
  std::optional<NamedShape> shape;
  std::vector<KernelSpec> kernels;
  std::vector<Status> supports;  // of each kernel, with a shape

  bool has_answer_yes() const {
    if (!shape) return true;
    for (const Status& status : supports) {
      if (status.ok()) return true;
    }
    return false;
  }
};

Result<Listing> make_listing(const KernelsOptions& options) {
  Listing listing;
  const bool has_shape = is_given(options.shape);
  if (has_shape) {
    const Result<NamedShape> named = read_shape(options.shape);
    if (!named.ok()) return named.status();
    listing.shape = *named;
  }
  const Result<std::unique_ptr<Backend>> backend = open_device(options.device);
  if (!backend.ok()) return backend.status();
  listing.device = (*backend)->device().name;
  for (const KernelSpec& kernel : (*backend)->kernels()) {
    listing.kernels.push_back(kernel);
    if (has_shape) listing.supports.push_back((*backend)->supports(kernel, listing.shape->shape));
  }
  return listing;
}

Json document(const Listing& listing) {
  Json array = Json::array();
  for (std::size_t i = 0; i < listing.kernels.size(); ++i) {
    const KernelSpec& kernel = listing.kernels[i];
    Json json = {{"name", kernel.name},
                 {"heads_per_cta", kernel.heads_per_cta},
                 {"kv_tile", kernel.kv_tile},
                 {"threads", kernel.threads},
                 {"smem_bytes", kernel.smem_bytes},
                 {"ctas_per_sm", kernel.ctas_per_sm}};
    if (listing.shape) {
      json["supported"] = listing.supports[i].ok();
      json["reason"] = listing.supports[i].ok() ? Json() : Json(listing.supports[i].message());
    }
    array.push_back(std::move(json));
  }
  return array;
}

std::string text_of(const Listing& listing, const report::TerminalStyle& style) {
  using report::Align;
  std::vector<report::Column> columns = {{"kernel", Align::left}, {"heads/CTA"}, {"kv tile"}, {"threads"},
                                         {"shared memory"},       {"CTAs/SM"}};
  if (listing.shape) columns.push_back({"takes the shape", Align::left});
  report::TextTable table(columns);
  for (std::size_t i = 0; i < listing.kernels.size(); ++i) {
    const KernelSpec& kernel = listing.kernels[i];
    std::vector<report::Cell> row = {kernel.name,
                                     std::to_string(kernel.heads_per_cta),
                                     std::to_string(kernel.kv_tile),
                                     std::to_string(kernel.threads),
                                     bytes_text(static_cast<std::uint64_t>(kernel.smem_bytes)),
                                     std::to_string(kernel.ctas_per_sm)};
    if (listing.shape) {
      const Status& status = listing.supports[i];
      row.emplace_back(status.ok() ? "yes" : "no: " + status.message(),
                       status.ok() ? report::Tone::good : report::Tone::bad);
    }
    table.add_row(std::move(row));
  }
  return listing.device + (listing.shape ? ", " + listing.shape->title : "") + "\n\n" + table.render(style);
}

Result<ExitCode> run(const KernelsOptions& options, Console& console) {
  const Result<Listing> listing = make_listing(options);
  if (!listing.ok()) return listing.status();
  console.print(options.json ? json_text(document(*listing)) : text_of(*listing, console.style()));
  return listing->has_answer_yes() ? ExitCode::ok : ExitCode::no;
}

}  // namespace

Action define_kernels(OptionSet& set) {
  const auto options = std::make_shared<KernelsOptions>();
  add_device_options(set, options->device);
  add_shape_options(set, options->shape);
  add_json_option(set, options->json);
  return [options](Console& console) { return run(*options, console); };
}

}  // namespace wavefill::cli
