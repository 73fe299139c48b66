// The whole public C++ interface.
#pragma once

#include "wavefill/decode_args.h"  // IWYU pragma: export
#include "wavefill/decoder.h"      // IWYU pragma: export
#include "wavefill/device.h"       // IWYU pragma: export
#include "wavefill/kv_format.h"    // IWYU pragma: export
#include "wavefill/plan.h"         // IWYU pragma: export
#include "wavefill/profile.h"      // IWYU pragma: export
#include "wavefill/shape.h"        // IWYU pragma: export
#include "wavefill/status.h"       // IWYU pragma: export
#include "wavefill/version.h"      // IWYU pragma: export
