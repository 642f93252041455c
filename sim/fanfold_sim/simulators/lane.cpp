// Streams words through a Verilated lane, one a cycle; called from Python once for a block of any length.

#include <cstdint>

#include "Vlane.h"
#include "Vlane___024root.h"
#include "verilated.h"

// What Vlane::eval does behind two locks a call, which would take as long as a lane does.
void Vlane___024root___eval(Vlane___024root* root);

namespace {

struct Lane {
    VerilatedContext context;
    Vlane top{&context};

    Lane() { top.eval(); }

    // Inputs that were set before the clock's edge are those that the registers see at it.
    void cycle() {
        top.clk = 0;
        Vlane___024root___eval(top.rootp);
        top.clk = 1;
        Vlane___024root___eval(top.rootp);
    }
};

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT void* lane_create() { return new Lane; }

EXPORT void lane_destroy(void* lane) { delete static_cast<Lane*>(lane); }

// The results of `words` words, in order. The operator, type and combine of word i are at i * step of theirs: 0 keeps
// the first for all.
EXPORT void lane_fold(void* lane, uint64_t latency, const uint8_t* operators, const uint8_t* types,
                      const uint8_t* combines, uint64_t step, const uint64_t* a, const uint64_t* b, uint64_t* o,
                      uint64_t words) {
    Lane& it = *static_cast<Lane*>(lane);
    // what is to be done comes a cycle before the operands
    for (uint64_t at = 0; at < words + latency + 1; ++at) {
        if (at < words) {
            it.top.operator_code = operators[at * step];
            it.top.type_code = types[at * step];
            it.top.combine = combines[at * step];
            it.top.half = at & 1;
        }
        if (at > 0 && at <= words) {
            it.top.a = a[at - 1];
            it.top.b = b[at - 1];
        }
        it.cycle();
        // after the edge the result stands whose operands entered `latency` edges ago, this one included
        if (at >= latency && at - latency < words) o[at - latency] = it.top.o;
    }
}
