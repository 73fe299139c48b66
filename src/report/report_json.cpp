// The report as one JSON document: what the page embeds, and what scripts read.
#include <nlohmann/json.hpp>

#include "report/report.h"
#include "report/shown.h"
#include "tune/decision_json.h"

namespace wavefill::report {
namespace {

using Json = nlohmann::ordered_json;

// 0 stands for what is not known.
Json if_positive(double value) { return value > 0.0 ? Json(value) : Json(); }

Json json_of(const Estimate& estimate) {
  return {{"value", estimate.value}, {"low", estimate.low}, {"high", estimate.high}};
}

Json json_of(const Arm& arm) {
  return {{"setting", arm.setting},
          {"aliases", arm.aliases},
          {"num_splits", arm.num_splits},
          {"is_uniform", arm.is_uniform},
          {"num_ctas", arm.num_ctas},
          {"num_waves", arm.num_waves},
          {"wave_efficiency", arm.wave_efficiency},
          {"predicted_us", arm.predicted_us},
          {"fitted_us", if_positive(arm.fitted_us)},
          {"out_of_sample_us", if_positive(arm.out_of_sample_us)},
          {"verified", arm.verified},
          {"max_o_error", arm.max_o_error},
          {"max_lse_error", arm.max_lse_error},
          {"failure", arm.failure},
          {"us", json_of(arm.us)},
          {"tokens_per_s", json_of(arm.tokens_per_s)},
          {"effect", json_of(arm.effect)},
          {"verdict", arm.verdict},
          {"stopped_by", arm.stopped_by},
          {"samples_us", arm.samples_us}};
}

Json json_of(const Confirmation& confirmation) {
  return {{"setting", confirmation.setting},
          {"us", json_of(confirmation.us)},
          {"deployed_us", json_of(confirmation.deployed_us)},
          {"effect", json_of(confirmation.effect)},
          {"verdict", confirmation.verdict},
          {"samples_us", confirmation.samples_us},
          {"deployed_samples_us", confirmation.deployed_samples_us},
          {"rounds", confirmation.rounds},
          {"contaminated_rounds", confirmation.contaminated_rounds},
          {"contamination", confirmation.contamination},
          {"clock_mhz", if_positive(confirmation.clock_mhz)}};
}

Json json_of(const Batch& batch) {
  Json json = {{"batch", batch.batch},
               {"is_searched", batch.is_searched},
               {"weight", batch.weight},
               {"chosen", batch.chosen().setting},
               {"noise", batch.noise},
               {"a_a_effect", json_of(batch.a_a_effect)},
               {"a_a_samples_us", batch.a_a_samples_us},
               {"rounds", batch.rounds},
               {"contaminated_rounds", batch.contaminated_rounds},
               {"contamination", batch.contamination},
               {"clock_mhz", if_positive(batch.clock_mhz)},
               {"calls_per_sample", batch.calls_per_sample},
               {"cache_state", batch.cache_state},
               {"pruned_by", batch.pruned_by},
               {"confirmation", batch.is_confirmed ? json_of(batch.confirmation) : Json()}};
  json["arms"] = Json::array();
  for (const Arm& arm : batch.arms) json["arms"].push_back(json_of(arm));
  return json;
}

Json json_of(const DecodeShape& shape) {
  return {{"num_heads", shape.num_heads}, {"s_q", shape.s_q},   {"kv_format", to_string(shape.kv_format)},
          {"d_qk", shape.d_qk},           {"topk", shape.topk}, {"extra_topk", shape.extra_topk}};
}

Json json_of(const KernelRow& row) {
  Json json = {{"kernel", row.kernel},
               {"throughput", row.throughput},
               {"is_chosen", row.is_chosen},
               {"reason", row.reason},
               {"figures", Json::array()}};
  for (const KernelRow::Figure& figure : row.figures) {
    const bool has_time = figure.us > 0.0;
    json["figures"].push_back({{"batch", figure.batch},
                               {"setting", has_time ? Json(figure.setting) : Json()},
                               {"us", has_time ? Json(figure.us) : Json()}});
  }
  return json;
}

Json json_of(const RejectedSetting& rejected) {
  return {{"setting", rejected.setting},
          {"reason", rejected.reason},
          {"batch", rejected.batch == 0 ? Json() : Json(rejected.batch)},
          {"effect", rejected.effect},
          {"detail", rejected.detail}};
}

Json json_of(const PolicyRegret& regret) {
  return {{"setting", regret.setting},
          {"geometric_mean", regret.geometric_mean},
          {"worst", regret.worst},
          {"worst_batch", regret.worst_batch},
          {"num_batches", regret.num_batches},
          {"num_compared", regret.num_compared}};
}

Json json_of(const ModelPick& pick) {
  const auto if_known = [&](const Json& value) { return pick.is_known() ? value : Json(); };
  return {{"batch", pick.batch},
          {"setting", if_known(pick.setting)},
          {"predicted_us", if_known(pick.predicted_us)},
          {"us", pick.is_priced() ? Json(pick.us) : Json()},
          {"best_setting", if_known(pick.best_setting)},
          {"best_us", if_known(pick.best_us)},
          {"cost", pick.is_priced() ? Json(pick.cost) : Json()}};
}

template <typename T>
Json array_of(const std::vector<T>& items) {
  Json array = Json::array();
  for (const T& item : items) array.push_back(json_of(item));
  return array;
}

Json json_of(const ModelScore& score) {
  return {{"rms_relative_residual", score.rms_residual},
          {"max_relative_residual", score.max_residual},
          {"rank_correlation", score.rank_correlation},
          {"rank_within_batches", score.ranked_batches > 0 ? Json(score.rank_within_batches) : Json()},
          {"model_alone", array_of(score.picks)}};
}

Json json_of(const ModelFit& fit) {
  Json constants = Json::object();
  for (const auto& [name, us] : fit.constants_us) constants[name] = us;
  return {{"constants_us", std::move(constants)},
          {"in_sample", json_of(fit.in_sample)},
          {"out_of_sample", fit.has_out_of_sample ? json_of(fit.out_of_sample) : Json()}};
}

Json phases_of(const Report& report) {
  Json phases = {{"search", json_of(report.search_watch)}};
  phases["confirm"] = was_confirmed(report) ? json_of(report.confirm_watch) : Json();
  return phases;
}

}  // namespace

std::string to_json(const Report& report) {
  Json environment = Json::object();
  for (const auto& [name, value] : report.environment) environment[name] = value;
  const Json json = {{"schema", "wavefill.report.1"},
                     {"title", report.title},
                     {"run", report.run},
                     {"created", report.created},
                     {"library_version", report.library_version},
                     {"command", report.command},
                     {"device", report.device},
                     {"kernel", report.kernel},
                     {"kernels", array_of(report.kernels)},
                     {"slots", report.slots},
                     {"shape", json_of(report.shape)},
                     {"timing", report.timing},
                     {"seed", report.seed},
                     {"counts_contaminated", report.counts_contaminated},
                     {"deployed", report.deployed},
                     {"decision", report.decision},
                     {"keeps_deployed", report.keeps_deployed},
                     {"weighted_gain", report.weighted_gain},
                     {"summary", report.summary},
                     {"next", report.next.empty() ? Json() : Json(report.next)},
                     {"batches", array_of(report.batches)},
                     {"rejected", array_of(report.rejected)},
                     {"dips", array_of(report.dips)},
                     {"regrets", array_of(report.regrets)},
                     {"fit", report.fit.is_fitted ? json_of(report.fit) : Json()},
                     {"phases", phases_of(report)},
                     {"environment", std::move(environment)},
                     {"elapsed_s", report.elapsed_s},
                     {"budget_s", report.budget_s},
                     {"without_verdict", report.without_verdict},
                     {"enough_s", if_positive(report.enough_s)}};
  // Names come from drivers and files: bytes that are not UTF-8 become U+FFFD instead of an exception.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace wavefill::report
