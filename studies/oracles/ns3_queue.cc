// A queue discipline of ns-3 before a link of a fixed rate, with packet arrivals from a file.
//
//     ns3_queue TYPE BITS_PER_SECOND RUN [ATTRIBUTE=VALUE]... < ARRIVALS > EVENTS
//
// ARRIVALS has a line per packet: time in ns, flow, IP bytes, ECN field (0 to 3). EVENTS has a line
// per event: time in ns, kind (departed, marked, early, full), the packet's line from 0. `departed`
// is the end of the transmission; `full` is a drop for want of room. No device, no stack and no TCP
// is involved: the link asks the queue discipline for a packet when its last transmission ends.

#include "ns3/core-module.h"
#include "ns3/network-module.h"
#include "ns3/traffic-control-module.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

using namespace ns3;

namespace
{

const uint8_t CE = 3;

void Log(const char* kind, uint64_t packet)
{
    std::printf("%lld %s %llu\n", static_cast<long long>(Simulator::Now().GetNanoSeconds()), kind,
                static_cast<unsigned long long>(packet));
}

/// A line of ARRIVALS.
struct Arrival
{
    int64_t ns;
    uint32_t flow;
    uint32_t bytes;
    uint8_t ecn;
};

/// A packet in the queue discipline, without headers: its size is the IP length.
class ReplayedPacket : public QueueDiscItem
{
  public:
    ReplayedPacket(uint64_t number, const Arrival& arrival)
        : QueueDiscItem(Create<Packet>(arrival.bytes), Address(), 0x0800),
          m_number(number),
          m_flow(arrival.flow),
          m_ecn(arrival.ecn)
    {
    }

    void AddHeader() override
    {
    }

    bool Mark() override
    {
        if (m_ecn == 0)
        {
            return false;
        }
        if (m_ecn != CE)
        {
            m_ecn = CE;
            Log("marked", m_number);
        }
        return true;
    }

    /// A queue per flow: no two flows collide.
    uint32_t Hash(uint32_t) const override
    {
        return m_flow;
    }

    uint64_t Number() const
    {
        return m_number;
    }

  private:
    uint64_t m_number;
    uint32_t m_flow;
    uint8_t m_ecn;
};

void OnDrop(Ptr<const QueueDiscItem> item, const char* reason)
{
    const bool full = std::strstr(reason, "verlimit") || std::strstr(reason, "Forced drop") || std::strstr(reason, "Queue disc limit");
    Log(full ? "full" : "early", DynamicCast<const ReplayedPacket>(item)->Number());
}

class Link
{
  public:
    Link(Ptr<QueueDisc> queue, double bps)
        : m_queue(queue),
          m_bps(bps)
    {
    }

    /// Reads the next arrival and schedules it.
    void ReadNext()
    {
        long long ns;
        unsigned flow;
        unsigned bytes;
        unsigned ecn;
        if (std::scanf("%lld %u %u %u", &ns, &flow, &bytes, &ecn) == 4)
        {
            m_next = {ns, flow, bytes, static_cast<uint8_t>(ecn)};
            Simulator::Schedule(NanoSeconds(ns) - Simulator::Now(), &Link::Arrive, this);
        }
        else
        {
            m_ended = true;
            StopIfDone();
        }
    }

  private:
    void Arrive()
    {
        m_queue->Enqueue(Create<ReplayedPacket>(m_count++, m_next));
        if (!m_busy)
        {
            Send();
        }
        ReadNext();
    }

    void Send()
    {
        auto item = m_queue->Dequeue();
        m_busy = static_cast<bool>(item);
        if (item)
        {
            const double seconds = item->GetSize() * 8.0 / m_bps;
            Simulator::Schedule(Seconds(seconds), &Link::Depart, this, DynamicCast<ReplayedPacket>(item)->Number());
        }
    }

    void Depart(uint64_t number)
    {
        Log("departed", number);
        Send();
        StopIfDone();
    }

    /// The timer of a PIE queue never ends.
    void StopIfDone()
    {
        if (m_ended && !m_busy)
        {
            Simulator::Stop();
        }
    }

    Ptr<QueueDisc> m_queue;
    double m_bps;
    Arrival m_next{};
    uint64_t m_count = 0;
    bool m_busy = false;
    bool m_ended = false;
};

} // namespace

int main(int argc, char** argv)
{
    if (argc < 4)
    {
        std::fprintf(stderr, "usage: ns3_queue TYPE BITS_PER_SECOND RUN [ATTRIBUTE=VALUE]...\n");
        return 2;
    }
    RngSeedManager::SetRun(std::strtoull(argv[3], nullptr, 10));
    ObjectFactory factory(std::string("ns3::") + argv[1]);
    for (int i = 4; i < argc; ++i)
    {
        const std::string word(argv[i]);
        const auto equals = word.find('=');
        factory.Set(word.substr(0, equals), StringValue(word.substr(equals + 1)));
    }
    auto queue = factory.Create<QueueDisc>();
    if (auto fair = DynamicCast<FqCoDelQueueDisc>(queue))
    {
        // Not an attribute.
        fair->SetQuantum(1514);
    }
    queue->Initialize();
    queue->TraceConnectWithoutContext("DropBeforeEnqueue", MakeCallback(&OnDrop));
    queue->TraceConnectWithoutContext("DropAfterDequeue", MakeCallback(&OnDrop));
    Link link(queue, std::atof(argv[2]));
    link.ReadNext();
    Simulator::Run();
    queue->Dispose();
    Simulator::Destroy();
    return 0;
}
