// SPDX-License-Identifier: Apache-2.0
// For sources that include it by this name of Soufflé's.
#pragma once

#include "souffle/SouffleFunctor.h"
