/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NARRATORIA_NARRATORIA_H
#define NARRATORIA_NARRATORIA_H
/* The whole contract. Begin with engine.h and session.h. */
#include "narratoria/base.h"
#include "narratoria/engine.h"
#include "narratoria/event.h"
#include "narratoria/narrator.h"
#include "narratoria/result.h"
#include "narratoria/session.h"
#include "narratoria/status.h"
#include "narratoria/validate.h"
#endif
