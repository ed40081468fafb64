/* SPDX-License-Identifier: Apache-2.0 */
/* The corpus of plugins in C. */
#define _GNU_SOURCE
#include "plugin.h"

static void do_own(struct instance *instance) { (void)instance; }
