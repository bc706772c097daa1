// SPDX-License-Identifier: GPL-2.0
/*
 * The tracepoints' code, generated from trace.h.
 */
#define CREATE_TRACE_POINTS
#include "trace.h"
