// Streams frames through a Verilated ingress under stalls, and keeps what comes out; called from Python once for many.

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "Vingress.h"
#include "verilated.h"

// An assertion in the hardware failed: Verilator calls this (VL_USER_STOP), and Python gets to see it.
void vl_stop(const char* filename, int line, const char*) {
    std::fflush(stdout);  // Verilator has printed what failed
    throw std::runtime_error("an assertion failed in the hardware (its message is above): " + std::string(filename) +
                             ":" + std::to_string(line));
}

namespace {

constexpr int BEAT_BYTES = sizeof(std::declval<Vingress&>().i_data);
constexpr int HEAD_BYTES = sizeof(std::declval<Vingress&>().head_bits);
// after so many cycles without movement nothing can come any more
constexpr int QUIET = 200;

struct Frames {
    std::vector<uint8_t> bytes;
    std::vector<uint32_t> lengths;
    std::vector<uint8_t> bad;
    std::vector<uint16_t> queues;
};

// xorshift: a stall must only be unlike the other ends' stalls
struct Chance {
    uint64_t state;

    bool operator()(int of_256) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        return static_cast<int>(state >> 32 & 255) < of_256;
    }
};

// One output's ready, and the rule that a stalled offer stands still.
template <int BYTES>
struct Sink {
    const char* name;
    bool offered = false;  // in the cycle before, and not taken
    uint8_t before[BYTES] = {};

    bool ready(Chance& chance, int idle, bool after_valid) { return after_valid ? offered : !chance(idle); }

    bool takes(bool valid, bool ready, const void* payload) {
        if (offered && (!valid || std::memcmp(before, payload, BYTES) != 0))
            throw std::runtime_error(std::string(name) + ": an offer changed while it was stalled");
        offered = valid && !ready;
        if (valid) std::memcpy(before, payload, BYTES);
        return valid && ready;
    }
};

struct Ingress {
    VerilatedContext context;
    Vingress top{&context};
    Frames regular, payload;
    std::vector<uint8_t> heads;
    uint64_t events[4] = {};
    uint32_t regular_at = 0, payload_at = 0;
    Sink<BEAT_BYTES> regular_sink{"regular"}, payload_sink{"payload"};
    Sink<HEAD_BYTES> head_sink{"head"};

    Ingress() {
        top.rst = 1;
        for (int cycle = 0; cycle < 3; ++cycle) edge();
        top.rst = 0;
    }

    void edge() {
        top.clk = 0;
        top.eval();
        top.clk = 1;
        top.eval();
    }

    // All frames through, and until nothing moves any more; the cycles up to the last movement.
    int64_t run(const uint8_t* bytes, const uint32_t* lengths, const uint8_t* bad, const uint16_t* queues,
                uint64_t count, int source_idle, int sink_idle, bool after_valid, uint64_t seed) {
        regular = payload = {};
        heads.clear();
        std::memset(events, 0, sizeof events);
        Chance chance{seed * 2654435769u + 88172645463325252u};
        uint64_t number = 0;
        uint32_t at = 0;
        int64_t cycles = 0;
        bool offering = false;
        for (int quiet = 0; quiet < QUIET; ++cycles) {
            if (!offering && number < count && !chance(source_idle)) {
                const uint32_t here = lengths[number] - at < BEAT_BYTES ? lengths[number] - at : BEAT_BYTES;
                uint8_t beat[BEAT_BYTES];
                for (int byte = 0; byte < BEAT_BYTES; ++byte) beat[byte] = 0x5A ^ byte;  // rubbish behind the last one
                std::memcpy(beat, bytes + at, here);
                std::memcpy(&top.i_data, beat, BEAT_BYTES);
                top.i_count = here;
                top.i_last = at + here == lengths[number];
                top.i_bad = top.i_last ? bad[number] : number & 1;
                top.i_queue = queues[number];
                offering = true;
            }
            top.i_valid = offering;
            top.regular_ready = regular_sink.ready(chance, sink_idle, after_valid);
            top.head_ready = head_sink.ready(chance, sink_idle, after_valid);
            top.payload_ready = payload_sink.ready(chance, sink_idle, after_valid);
            top.clk = 0;
            top.eval();
            const bool moved = look();
            if (offering && top.i_ready) {
                offering = false;
                at += top.i_count;
                if (top.i_last) {
                    bytes += at;
                    at = 0;
                    ++number;
                }
            }
            quiet = moved || offering || number < count ? 0 : quiet + 1;
            if (cycles > 100000 + static_cast<int64_t>(count) * 20000) throw std::runtime_error("the ingress hangs");
            top.clk = 1;
            top.eval();
        }
        return cycles - QUIET;
    }

    // Takes what is taken in this cycle.
    bool look() {
        events[0] += top.is_regular;
        events[1] += top.is_tagged;
        events[2] += top.is_damaged;
        events[3] += top.is_unmatched;
        bool moved = false;
        if (regular_sink.takes(top.regular_valid, top.regular_ready, &top.regular_data)) {
            const auto* beat = reinterpret_cast<const uint8_t*>(&top.regular_data);
            regular.bytes.insert(regular.bytes.end(), beat, beat + top.regular_count);
            regular_at += top.regular_count;
            if (!top.regular_last && top.regular_count != BEAT_BYTES)
                throw std::runtime_error("regular: a beat that is not full before the last");
            end(regular, regular_at, top.regular_last, top.regular_bad, top.regular_queue);
            moved = true;
        }
        if (head_sink.takes(top.head_valid, top.head_ready, &top.head_bits)) {
            const auto* head = reinterpret_cast<const uint8_t*>(&top.head_bits);
            heads.insert(heads.end(), head, head + HEAD_BYTES);
            moved = true;
        }
        if (payload_sink.takes(top.payload_valid, top.payload_ready, &top.payload_data)) {
            const auto* beat = reinterpret_cast<const uint8_t*>(&top.payload_data);
            payload.bytes.insert(payload.bytes.end(), beat, beat + BEAT_BYTES);
            payload_at += BEAT_BYTES;
            end(payload, payload_at, top.payload_last, top.payload_bad, 0);
            moved = true;
        }
        return moved;
    }

    static void end(Frames& frames, uint32_t& at, bool last, bool bad, uint16_t queue) {
        if (!last) return;
        frames.lengths.push_back(at);
        frames.bad.push_back(bad);
        frames.queues.push_back(queue);
        at = 0;
    }
};

std::string failure;  // what went wrong in the last call that returned -1

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT const char* ingress_failure() { return failure.c_str(); }

EXPORT Ingress* ingress_create() { return new Ingress; }

EXPORT void ingress_destroy(Ingress* it) { delete it; }

EXPORT int64_t ingress_run(Ingress* it, const uint8_t* bytes, const uint32_t* lengths, const uint8_t* bad,
                           const uint16_t* queues, uint64_t count, int source_idle, int sink_idle, int after_valid,
                           uint64_t seed) {
    try {
        return it->run(bytes, lengths, bad, queues, count, source_idle, sink_idle, after_valid, seed);
    } catch (const std::exception& error) {
        failure = error.what();
        return -1;
    }
}

// Regular frames and their bytes, heads, packets with payload and its bytes, then the events.
EXPORT void ingress_sizes(const Ingress* it, uint64_t* sizes) {
    sizes[0] = it->regular.lengths.size();
    sizes[1] = it->regular.bytes.size();
    sizes[2] = it->heads.size() / HEAD_BYTES;
    sizes[3] = it->payload.lengths.size();
    sizes[4] = it->payload.bytes.size();
    std::memcpy(sizes + 5, it->events, sizeof it->events);
}

EXPORT void ingress_take(const Ingress* it, uint8_t* bytes, uint32_t* lengths, uint8_t* bad, uint16_t* queues,
                         uint8_t* heads, uint8_t* payload, uint32_t* payload_lengths, uint8_t* payload_bad) {
    const auto copy = [](auto* to, const auto& from) {
        if (!from.empty()) std::memcpy(to, from.data(), from.size() * sizeof from[0]);
    };
    copy(bytes, it->regular.bytes);
    copy(lengths, it->regular.lengths);
    copy(bad, it->regular.bad);
    copy(queues, it->regular.queues);
    copy(heads, it->heads);
    copy(payload, it->payload.bytes);
    copy(payload_lengths, it->payload.lengths);
    copy(payload_bad, it->payload.bad);
}
