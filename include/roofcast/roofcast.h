/* roofcast.h: all of libroofcast. */
#ifndef ROOFCAST_H
#define ROOFCAST_H

#include <roofcast/bench.h>
#include <roofcast/cost.h>
#include <roofcast/data.h>
#include <roofcast/engine.h>
#include <roofcast/error.h>
#include <roofcast/library.h>
#include <roofcast/machine.h>
#include <roofcast/model.h>
#include <roofcast/predict.h>
#include <roofcast/serving.h>

#endif
