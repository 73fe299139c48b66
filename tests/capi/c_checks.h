/* What the C translation unit offers to the GoogleTest program. */
#ifndef WAVEFILL_TESTS_CAPI_C_CHECKS_H
#define WAVEFILL_TESTS_CAPI_C_CHECKS_H

#include "wavefill/wavefill_c.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Each runs one group of checks; NULL, or the first that failed. */
const char* check_names_and_sizes(void);
const char* check_null_arguments(void);
const char* check_struct_sizes(void);
const char* check_bad_values(void);
const char* check_last_error(void);
const char* check_run_refusals(void);

/* `setting` is "measured=" and a profile of batches 2 and 4 for the CPU with one thread and shapes of 4 heads
 * and topk 256, whose entries are fixed=2. */
const char* check_profile_counters(const char* setting);

/* A whole decode as a C program does it: create, plan, allocate, run, destroy. `lengths` may be NULL. The
 * workspace of `args` is filled in here. Returns the first code that is not WF_OK. */
int decode_in_c(const char* setting, int32_t num_threads, const wf_shape* shape, const int32_t* lengths,
                size_t num_lengths, const wf_decode_args* args);

#ifdef __cplusplus
}
#endif

#endif
