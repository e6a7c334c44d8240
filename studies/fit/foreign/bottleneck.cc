// A download by ns-3's own TCP over `sender - router - receiver`, with pcap at both ends.
//
// Compiled by ns3.py.

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

using namespace ns3;

int main(int argc, char* argv[])
{
    std::string variant = "TcpCubic", rate = "8Mbps", delay = "20ms", queue = "droptail", folder = ".";
    uint32_t packets = 60, run = 1;
    double seconds = 20.0;
    CommandLine command;
    command.AddValue("variant", "TcpCubic or TcpBbr", variant);
    command.AddValue("rate", "of the bottleneck", rate);
    command.AddValue("delay", "of the bottleneck, one way", delay);
    command.AddValue("queue", "droptail, fq-codel or pie", queue);
    command.AddValue("packets", "limit of the droptail queue", packets);
    command.AddValue("seconds", "of the download", seconds);
    command.AddValue("run", "number of the substream", run);
    command.AddValue("folder", "for sender.pcap and receiver.pcap", folder);
    command.Parse(argc, argv);

    RngSeedManager::SetRun(run);
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue("ns3::" + variant));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1448));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(4 << 20));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(6 << 20));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(2));

    NodeContainer nodes;
    nodes.Create(3);
    InternetStackHelper().Install(nodes);
    PointToPointHelper fast, slow;
    fast.SetDeviceAttribute("DataRate", StringValue("1Gbps"));
    fast.SetChannelAttribute("Delay", StringValue("1ms"));
    slow.SetDeviceAttribute("DataRate", StringValue(rate));
    slow.SetChannelAttribute("Delay", StringValue(delay));
    // The queue disc holds the packets, not the device.
    slow.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("1p"));
    NetDeviceContainer server_side = fast.Install(nodes.Get(0), nodes.Get(1));
    NetDeviceContainer client_side = slow.Install(nodes.Get(1), nodes.Get(2));
    TrafficControlHelper control;
    if (queue == "fq-codel")
        control.SetRootQueueDisc("ns3::FqCoDelQueueDisc");
    else if (queue == "pie")
        control.SetRootQueueDisc("ns3::PieQueueDisc", "MaxSize", StringValue("1000p"));
    else
        control.SetRootQueueDisc("ns3::FifoQueueDisc", "MaxSize", StringValue(std::to_string(packets) + "p"));
    control.Install(client_side.Get(0));
    Ipv4AddressHelper addresses;
    addresses.SetBase("10.1.1.0", "255.255.255.0");
    addresses.Assign(server_side);
    addresses.SetBase("10.1.2.0", "255.255.255.0");
    Ipv4InterfaceContainer clients = addresses.Assign(client_side);
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    // The sender opens the connection: for a fit the data goes up.
    BulkSendHelper bulk("ns3::TcpSocketFactory", InetSocketAddress(clients.GetAddress(1), 5001));
    ApplicationContainer senders = bulk.Install(nodes.Get(0));
    Ptr<UniformRandomVariable> jitter = CreateObject<UniformRandomVariable>();
    senders.Start(Seconds(0.1 + jitter->GetValue(0.0, 0.05)));
    senders.Stop(Seconds(seconds));
    PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), 5001));
    sink.Install(nodes.Get(2)).Start(Seconds(0.0));
    fast.EnablePcap(folder + "/sender.pcap", server_side.Get(0), false, true);
    slow.EnablePcap(folder + "/receiver.pcap", client_side.Get(1), false, true);
    Simulator::Stop(Seconds(seconds + 0.5));
    Simulator::Run();
    Simulator::Destroy();
    return 0;
}
