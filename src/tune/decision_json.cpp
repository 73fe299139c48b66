#include "tune/decision_json.h"

#include <nlohmann/json.hpp>

namespace wavefill {
namespace {

using Json = nlohmann::ordered_json;

Json table_json(const std::vector<TableEntry>& table) {
  Json json = Json::array();
  for (const TableEntry& entry : table) {
    json.push_back({{"batch", entry.batch},
                    {"setting", entry.setting},
                    {"num_splits", entry.num_splits > 0 ? Json(entry.num_splits) : Json(nullptr)}});
  }
  return json;
}

Json rejected_json(const Rejected& rejected) {
  return {{"setting", rejected.setting},
          {"reason", to_string(rejected.reason)},
          {"batch", rejected.batch > 0 ? Json(rejected.batch) : Json(nullptr)},
          {"effect", rejected.effect},
          {"num_splits", rejected.num_splits > 0 ? Json(rejected.num_splits) : Json(nullptr)},
          {"detail", rejected.detail}};
}

Json verdict_json(const VerdictRow& row) {
  const bool has_interval = row.effect.has_interval;
  return {{"setting", row.setting},
          {"batch", row.batch},
          {"verdict", to_string(row.verdict)},
          {"effect", row.effect.effect},
          {"effect_low", has_interval ? Json(row.effect.interval.low) : Json(nullptr)},
          {"effect_high", has_interval ? Json(row.effect.interval.high) : Json(nullptr)},
          {"p_value", has_interval ? Json(row.effect.p_value) : Json(nullptr)},
          {"at_face_value", row.effect.at_face_value},
          {"noise", row.noise},
          {"median_us", row.median_us},
          {"samples", row.samples},
          {"num_splits", row.num_splits > 0 ? Json(row.num_splits) : Json(nullptr)}};
}

Json next_json(const std::optional<NextMeasurement>& next) {
  if (!next) return nullptr;
  return {{"setting", next->setting}, {"table", table_json(next->table)}, {"reason", next->reason}};
}

template <typename Item, typename ToJson>
Json array_of(const std::vector<Item>& items, ToJson to_json_of) {
  Json json = Json::array();
  for (const Item& item : items) json.push_back(to_json_of(item));
  return json;
}

Json decision_json(const Decision& decision) {
  return {{"decision", decision.decision},
          {"keeps_deployed", decision.keeps_deployed},
          {"weighted_gain", decision.weighted_gain},
          {"table", table_json(decision.table)},
          {"rejected", array_of(decision.rejected, rejected_json)},
          {"next", next_json(decision.next)},
          {"verdicts", array_of(decision.verdicts, verdict_json)},
          {"dips", array_of(decision.dips, [](const Dip& dip) { return json_of(dip); })},
          {"at_face_value", decision.at_face_value},
          {"summary", decision.summary}};
}

Json records_json(const std::optional<RecordsFile>& records) {
  if (!records) return nullptr;
  return {{"file", records->path},
          {"sha256", records->sha256},
          {"bytes", records->bytes},
          {"samples", records->samples}};
}

Json request_json(const DecisionRequest& request) {
  Json workload = Json::array();
  for (const std::int32_t batch : request.batches) {
    workload.push_back({{"batch", batch}, {"weight", weight_of(request.workload, batch)}});
  }
  return {{"command", request.command.empty() ? Json(nullptr) : Json(request.command)},
          {"batches", request.batches},
          {"workload", std::move(workload)},
          {"budget_s", request.budget_s ? Json(*request.budget_s) : Json(nullptr)},
          {"seed", request.seed ? Json(*request.seed) : Json(nullptr)},
          {"records", records_json(request.records)}};
}

Json kernels_json(const std::vector<KernelResult>& kernels) {
  Json json = Json::array();
  for (const KernelResult& result : kernels) {
    json.push_back({{"kernel", result.kernel.name},
                    {"throughput", result.throughput},
                    {"is_chosen", result.is_chosen},
                    {"reason", result.reason}});
  }
  return json;
}

// Setting texts may hold a path with bytes that are not UTF-8: replaced, so that the JSON is valid.
std::string text_of(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace); }

}  // namespace

Json json_of(const Dip& dip) {
  return {{"setting", dip.setting},
          {"batch_before", dip.batch_before},
          {"batch", dip.batch},
          {"effect", dip.effect},
          {"introduced", dip.introduced},
          {"measured_again", dip.measured_again},
          {"out_of_time", dip.out_of_time},
          {"cause", dip.cause}};
}

Json json_of(const PhaseWatch& watch) {
  const bool has_clock = watch.clock_low_mhz > 0.0;
  return {{"rounds", watch.rounds},
          {"contaminated_rounds", watch.contaminated_rounds},
          {"counts_contaminated", watch.counts_contaminated},
          {"contamination", watch.contamination},
          {"clock_low_mhz", has_clock ? Json(watch.clock_low_mhz) : Json(nullptr)},
          {"clock_high_mhz", has_clock ? Json(watch.clock_high_mhz) : Json(nullptr)}};
}

std::string to_json(const Decision& decision) { return text_of(decision_json(decision)); }

std::string to_json(const Decision& decision, const DecisionRequest& request) {
  Json json = decision_json(decision);
  json["request"] = request_json(request);
  return text_of(json);
}

std::string to_json(const TuneRequest& request, const TuneResult& result) {
  Json json = decision_json(result.decision);
  json["request"] = request_json({.command = request.command,
                                  .batches = request.batches,
                                  .workload = request.workload,
                                  .budget_s = request.budget_us * 1e-6,
                                  .seed = request.seed,
                                  .records = std::nullopt});
  json["kernels"] = kernels_json(result.kernels);
  json["phases"] = {{"search", json_of(result.search_watch)}};
  if (!result.confirmed.empty()) json["phases"]["confirm"] = json_of(result.confirm_watch);
  return text_of(json);
}

}  // namespace wavefill
