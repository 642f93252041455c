// Runs a Verilated Fanfold: frames in, frames out, registers; called from Python a few times a packet, never a cycle.
//
// The widths are those of the model's ports, so this file is the same for every configuration. A cycle starts with the
// inputs set, settles, is looked at, and ends with the clock's rising edge. While nothing moves at the ports the whole
// state of the model is compared with the state one cycle before: once they are equal nothing can change any more
// without a new frame, and idle time is skipped exactly.

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "Vnic.h"
#include "Vnic___024root.h"
#include "Vnic__Syms.h"
#include "verilated.h"
#if VM_TRACE_FST
#include "verilated_fst_c.h"
using Trace = VerilatedFstC;
#elif VM_TRACE_VCD
#include "verilated_vcd_c.h"
using Trace = VerilatedVcdC;
#endif

static_assert(std::endian::native == std::endian::little, "ports are copied byte by byte, lowest byte first");

// An assertion in the hardware failed: Verilator calls this (VL_USER_STOP), and Python gets to see it.
void vl_stop(const char* filename, int line, const char*) {
    std::fflush(stdout);  // Verilator has printed what failed
    throw std::runtime_error("an assertion failed in the hardware (its message is above): " + std::string(filename) +
                             ":" + std::to_string(line));
}

namespace {

constexpr uint64_t kResetCycles = 4;
constexpr uint64_t kIdleCheck = 16;       // cycles without movement before the state is compared, and between tries
constexpr uint64_t kRegisterLimit = 1000; // cycles that a register access may take
constexpr uint64_t kCyclePs = 1000;       // waveforms show one cycle a nanosecond

struct Frame {
    std::vector<uint8_t> bytes;
    uint64_t cycle;
    uint32_t queue;
    bool bad;
};

// The signals of one AXI4-Stream port, as places in the model.
struct Signals {
    void *data, *keep, *queue;
    size_t data_bytes, keep_bytes, queue_bytes;
    CData *last, *user, *valid, *ready;
};

template <typename Data, typename Keep, typename Queue>
Signals signals(Data& data, Keep& keep, Queue& queue, CData& last, CData& user, CData& valid, CData& ready) {
    return {&data, &keep, &queue, sizeof(Data), sizeof(Keep), sizeof(Queue), &last, &user, &valid, &ready};
}

// What Python reads of a frame that left, and of one that went in; the layouts are repeated there.
struct Departure {
    uint64_t first_cycle, last_cycle;
    uint32_t length, queue;
    uint8_t port, bad;
};
struct Acceptance {
    uint64_t first_cycle, last_cycle;
    uint8_t port;
};

// Feeds the frames of one input port, a beat a cycle.
class Source {
public:
    Source(uint8_t port, Signals signals) : port_(port), signals_(signals) {}

    void offer(Frame frame) { frames_.push_back(std::move(frame)); }
    bool empty() const { return frames_.empty(); }
    uint64_t next_cycle() const { return frames_.front().cycle; }

    void drive(uint64_t cycle) {
        const bool valid = !frames_.empty() && (at_ > 0 || frames_.front().cycle <= cycle);
        *signals_.valid = valid;
        if (!valid || shown_) return;
        const Frame& frame = frames_.front();
        const size_t left = frame.bytes.size() - at_;
        const size_t count = std::min(left, signals_.data_bytes);
        if (count < signals_.data_bytes) std::memset(signals_.data, 0, signals_.data_bytes);
        std::memcpy(signals_.data, frame.bytes.data() + at_, count);
        const uint64_t keep = count < 64 ? (uint64_t{1} << count) - 1 : ~uint64_t{0};
        std::memcpy(signals_.keep, &keep, signals_.keep_bytes);
        std::memcpy(signals_.queue, &frame.queue, signals_.queue_bytes);
        *signals_.last = count == left;
        *signals_.user = count == left && frame.bad;
        shown_ = true;
    }

    // After the cycle has settled: whether a beat moved.
    bool collect(uint64_t cycle, std::vector<Acceptance>& accepted) {
        if (!*signals_.valid || !*signals_.ready) return false;
        shown_ = false;
        if (at_ == 0) first_cycle_ = cycle;
        at_ += signals_.data_bytes;
        if (at_ >= frames_.front().bytes.size()) {
            accepted.push_back({first_cycle_, cycle, port_});
            frames_.pop_front();
            at_ = 0;
        }
        return true;
    }

private:
    uint8_t port_;
    Signals signals_;
    std::deque<Frame> frames_;
    size_t at_ = 0;             // bytes of the first frame that are in
    bool shown_ = false;        // the beat at the port is that of at_
    uint64_t first_cycle_ = 0;
};

// Collects the frames of one output port; hesitates where it is told to.
class Sink {
public:
    Sink(uint8_t port, Signals signals) : port_(port), signals_(signals) { *signals_.ready = 1; }

    // From now on not ready in `of_256` of 256 cycles, by chance.
    void hesitate(int of_256, uint64_t seed) {
        of_256_ = of_256;
        chance_ = seed * 2654435769u + 88172645463325252u;
        *signals_.ready = of_256 == 0;
    }

    // Before the cycle settles: whether it is ready in it.
    void choose() {
        if (!of_256_) return;
        chance_ ^= chance_ << 13;
        chance_ ^= chance_ >> 7;
        chance_ ^= chance_ << 17;
        *signals_.ready = int(chance_ >> 32 & 255) >= of_256_;
    }

    // After the cycle has settled: whether a beat is offered.
    bool collect(uint64_t cycle, std::vector<Departure>& departures, std::vector<uint8_t>& bytes) {
        if (stalled_ && !offers_the_same()) throw std::runtime_error("an assertion failed: a stalled offer changed");
        stalled_ = *signals_.valid && !*signals_.ready;
        if (!*signals_.valid) return false;
        if (stalled_) {
            keep_offer();
            return true;
        }
        if (frame_.empty()) first_cycle_ = cycle;
        uint64_t keep = 0;
        std::memcpy(&keep, signals_.keep, signals_.keep_bytes);
        const auto* data = static_cast<const uint8_t*>(signals_.data);
        frame_.insert(frame_.end(), data, data + std::popcount(keep));
        if (*signals_.last) {
            uint32_t queue = 0;
            std::memcpy(&queue, signals_.queue, signals_.queue_bytes);
            departures.push_back({first_cycle_, cycle, uint32_t(frame_.size()), queue, port_, *signals_.user});
            bytes.insert(bytes.end(), frame_.begin(), frame_.end());
            frame_.clear();
        }
        return true;
    }

private:
    // All that a stalled offer must not change, one behind the other.
    template <typename Do>
    void each_signal(Do work) {
        work(signals_.data, signals_.data_bytes);
        work(signals_.keep, signals_.keep_bytes);
        work(signals_.queue, signals_.queue_bytes);
        work(signals_.last, size_t{1});
        work(signals_.user, size_t{1});
    }

    void keep_offer() {
        offer_.clear();
        each_signal([&](const void* from, size_t count) {
            const auto* bytes = static_cast<const uint8_t*>(from);
            offer_.insert(offer_.end(), bytes, bytes + count);
        });
    }

    bool offers_the_same() {
        bool same = *signals_.valid;
        size_t at = 0;
        each_signal([&](const void* now, size_t count) {
            same &= std::memcmp(offer_.data() + at, now, count) == 0;
            at += count;
        });
        return same;
    }

    int of_256_ = 0;
    uint64_t chance_ = 1;
    bool stalled_ = false;        // the cycle before, with `offer_`
    std::vector<uint8_t> offer_;

    uint8_t port_;
    Signals signals_;
    std::vector<uint8_t> frame_;
    uint64_t first_cycle_ = 0;
};

class Nic {
public:
    explicit Nic(const char* waves)
        : top_(&context_),
          host_in_(0, signals(top_.s_axis_host_tdata, top_.s_axis_host_tkeep, top_.s_axis_host_tid,
                              top_.s_axis_host_tlast, top_.s_axis_host_tuser, top_.s_axis_host_tvalid,
                              top_.s_axis_host_tready)),
          net_in_(1, signals(top_.s_axis_net_tdata, top_.s_axis_net_tkeep, top_.s_axis_net_tdest,
                             top_.s_axis_net_tlast, top_.s_axis_net_tuser, top_.s_axis_net_tvalid,
                             top_.s_axis_net_tready)),
          host_out_(0, signals(top_.m_axis_host_tdata, top_.m_axis_host_tkeep, top_.m_axis_host_tdest,
                               top_.m_axis_host_tlast, top_.m_axis_host_tuser, top_.m_axis_host_tvalid,
                               top_.m_axis_host_tready)),
          net_out_(1, signals(top_.m_axis_net_tdata, top_.m_axis_net_tkeep, top_.m_axis_net_tid,
                              top_.m_axis_net_tlast, top_.m_axis_net_tuser, top_.m_axis_net_tvalid,
                              top_.m_axis_net_tready)) {
#if VM_TRACE
        if (waves && *waves) {
            context_.traceEverOn(true);
            trace_ = std::make_unique<Trace>();
            top_.trace(trace_.get(), 99);
            trace_->set_time_unit("1ps");
            trace_->set_time_resolution("1ps");
            trace_->open(waves);
        }
#endif
        top_.rst = 1;
        for (uint64_t n = 0; n < kResetCycles; ++n) {
            settle();
            edge();
        }
        top_.rst = 0;
        shown_cycle_ = 0;
        showing_ = true;
    }

    ~Nic() {
        top_.final();
#if VM_TRACE
        if (trace_) {
            dump(0);
            trace_->close();
        }
#endif
    }

    void offer(int port, Frame frame) { (port ? net_in_ : host_in_).offer(std::move(frame)); }
    void hesitate(int port, int of_256, uint64_t seed) { (port ? net_out_ : host_out_).hesitate(of_256, seed); }
    uint64_t cycle() const { return cycle_; }
    bool quiet() const { return still_ && host_in_.empty() && net_in_.empty(); }

    void run(uint64_t until) {
        while (cycle_ < until) {
            if (still_) {
                uint64_t next = until;
                if (!host_in_.empty()) next = std::min(next, host_in_.next_cycle());
                if (!net_in_.empty()) next = std::min(next, net_in_.next_cycle());
                if (next > cycle_) {
                    shown_cycle_ += next - cycle_;
                    cycle_ = next;
                    continue;
                }
                still_ = false;
            }
            step();
            ++cycle_;
        }
    }

    uint32_t read(uint32_t address) {
        top_.s_axil_araddr = address;
        top_.s_axil_arvalid = 1;
        top_.s_axil_rready = 1;
        uint32_t value = 0;
        access([&] {
            if (top_.s_axil_arready) arrived_ = true;
            if (!top_.s_axil_rvalid) return false;
            if (top_.s_axil_rresp) throw std::runtime_error("no register at this address");
            value = top_.s_axil_rdata;
            return true;
        }, [&] { if (arrived_) top_.s_axil_arvalid = 0; });
        top_.s_axil_rready = 0;
        return value;
    }

    void write(uint32_t address, uint32_t value) {
        top_.s_axil_awaddr = address;
        top_.s_axil_wdata = value;
        top_.s_axil_wstrb = 15;
        top_.s_axil_awvalid = top_.s_axil_wvalid = top_.s_axil_bready = 1;
        bool data_arrived = false;
        access([&] {
            if (top_.s_axil_awready) arrived_ = true;
            if (top_.s_axil_wready) data_arrived = true;
            if (!top_.s_axil_bvalid) return false;
            if (top_.s_axil_bresp) throw std::runtime_error("no writable register at this address");
            return true;
        }, [&] {
            if (arrived_) top_.s_axil_awvalid = 0;
            if (data_arrived) top_.s_axil_wvalid = 0;
        });
        top_.s_axil_bready = 0;
    }

    std::vector<Departure> departures;
    std::vector<uint8_t> departed_bytes;
    std::vector<Acceptance> accepted;

private:
    void settle() {
#if VM_TRACE
        if (trace_) {
            top_.eval();
            dump(0);
        }
#endif
        top_.clk = 0;
        top_.eval();
    }

    void edge() {
#if VM_TRACE
        if (trace_) dump(kCyclePs / 2);
#endif
        top_.clk = 1;
        top_.eval();
        ++shown_cycle_;
    }

    void dump(uint64_t offset) {
#if VM_TRACE
        const uint64_t time = (shown_cycle_) * kCyclePs + offset;
        if (!showing_ || time < dumped_) return;
        trace_->dump(time);
        dumped_ = time + 1;
#endif
    }

    void step() {
        host_in_.drive(cycle_);
        net_in_.drive(cycle_);
        if (idle_ < kIdleCheck) {  // with nothing to take, the state is to stand still
            host_out_.choose();
            net_out_.choose();
        }
        settle();
        bool moved = host_in_.collect(cycle_, accepted);
        moved |= net_in_.collect(cycle_, accepted);
        moved |= host_out_.collect(cycle_, departures, departed_bytes);
        moved |= net_out_.collect(cycle_, departures, departed_bytes);
        edge();
        const bool offered = top_.s_axis_host_tvalid || top_.s_axis_net_tvalid;
        idle_ = moved || offered ? 0 : idle_ + 1;
        if (idle_ && idle_ % kIdleCheck == 0) remember();
        else if (idle_ % kIdleCheck == 1 && idle_ > kIdleCheck) still_ = unchanged();
    }

    // The model's state is one block of memory: every instance, and nothing on the heap.
    const uint8_t* state() const { return reinterpret_cast<const uint8_t*>(top_.rootp->vlSymsp); }
    void remember() { before_.assign(state(), state() + sizeof(Vnic__Syms)); }
    bool unchanged() const { return std::memcmp(before_.data(), state(), sizeof(Vnic__Syms)) == 0; }

    // Runs until `seen` is true in a settled cycle; `after` sets the signals of the next one. While nothing else moves
    // the cycles do not count: registers can be read without disturbing the time.
    template <typename Seen, typename After>
    void access(Seen seen, After after) {
        const bool counted = !still_;
        arrived_ = false;
        for (uint64_t n = 0; n < kRegisterLimit; ++n) {
            if (counted) {
                host_in_.drive(cycle_);
                net_in_.drive(cycle_);
            }
            settle();
            const bool done = seen();
            if (counted) {
                host_in_.collect(cycle_, accepted);
                net_in_.collect(cycle_, accepted);
                host_out_.collect(cycle_, departures, departed_bytes);
                net_out_.collect(cycle_, departures, departed_bytes);
            }
            edge();
            after();
            if (counted) ++cycle_;
            if (done) return counted ? void() : come_to_rest();
        }
        throw std::runtime_error("no answer from the registers");
    }

    // Uncounted cycles until the state stands still again after a register access.
    void come_to_rest() {
        for (uint64_t n = 0; n < kRegisterLimit; ++n) {
            remember();
            settle();
            edge();
            if (unchanged()) return;
        }
        still_ = false;
    }

    VerilatedContext context_;
    Vnic top_;
    Source host_in_, net_in_;
    Sink host_out_, net_out_;
    uint64_t cycle_ = 0;
    uint64_t idle_ = 0;    // cycles without movement at the ports
    bool still_ = false;   // the state cannot change without a new frame
    bool arrived_ = false; // the address of a register access was taken
    std::vector<uint8_t> before_;
    uint64_t shown_cycle_ = 0, dumped_ = 0;  // of the waveform: the next cycle, the next free time
    bool showing_ = false;                   // the reset is over
#if VM_TRACE
    std::unique_ptr<Trace> trace_;
#endif
};

std::string failure;  // what went wrong in the last call that returned -1

template <typename Work>
int64_t guarded(Work work) {
    try {
        return work();
    } catch (const std::exception& error) {
        failure = error.what();
        return -1;
    }
}

}  // namespace

#define API extern "C" __attribute__((visibility("default")))

API const char* fanfold_failure() { return failure.c_str(); }

API Nic* fanfold_create(const char* waves) {
    try {
        return new Nic(waves);
    } catch (const std::exception& error) {
        failure = error.what();
        return nullptr;
    }
}

API void fanfold_destroy(Nic* nic) { delete nic; }

API void fanfold_offer(Nic* nic, int port, const uint8_t* bytes, uint64_t length, uint32_t queue, int bad,
                       uint64_t cycle) {
    nic->offer(port, {std::vector<uint8_t>(bytes, bytes + length), cycle, queue, bad != 0});
}

// Runs to a cycle; returns how many frames have left and wait to be taken, or -1.
API int64_t fanfold_run(Nic* nic, uint64_t until) {
    return guarded([&] {
        nic->run(until);
        return int64_t(nic->departures.size());
    });
}

API uint64_t fanfold_departed_bytes(Nic* nic) { return nic->departed_bytes.size(); }

API void fanfold_take(Nic* nic, Departure* records, uint8_t* bytes) {
    std::memcpy(records, nic->departures.data(), nic->departures.size() * sizeof(Departure));
    std::memcpy(bytes, nic->departed_bytes.data(), nic->departed_bytes.size());
    nic->departures.clear();
    nic->departed_bytes.clear();
}

API uint64_t fanfold_accepted(Nic* nic) { return nic->accepted.size(); }

API void fanfold_take_accepted(Nic* nic, Acceptance* records) {
    std::memcpy(records, nic->accepted.data(), nic->accepted.size() * sizeof(Acceptance));
    nic->accepted.clear();
}

API void fanfold_hesitate(Nic* nic, int port, int of_256, uint64_t seed) { nic->hesitate(port, of_256, seed); }

API uint64_t fanfold_cycle(Nic* nic) { return nic->cycle(); }

API int fanfold_quiet(Nic* nic) { return nic->quiet(); }

API int64_t fanfold_read(Nic* nic, uint32_t address) {
    return guarded([&] { return int64_t(nic->read(address)); });
}

API int64_t fanfold_write(Nic* nic, uint32_t address, uint32_t value) {
    return guarded([&] {
        nic->write(address, value);
        return int64_t(0);
    });
}
