// ns-3's 802.16 and 802.11b under the work that `ackclock-bench wimax-6` and `wlan-6` have: six stations behind a base station or an access
// point, saturating datagrams of 1000 bytes to each. Prints one line of JSON: datagrams delivered, bytes, and seconds simulated.
//
//     ns3_media wimax|wifi STATIONS SECONDS BITS_PER_SECOND

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/ipcs-classifier-record.h"
#include "ns3/mobility-helper.h"
#include "ns3/network-module.h"
#include "ns3/service-flow.h"
#include "ns3/ss-net-device.h"
#include "ns3/ssid.h"
#include "ns3/wifi-helper.h"
#include "ns3/wimax-helper.h"
#include "ns3/yans-wifi-helper.h"

#include <cstdio>
#include <cstdlib>
#include <string>

using namespace ns3;

namespace
{

const uint16_t PORT = 9;
/// Stations have joined by then; both programs are asked for what comes after the start, and start-up is small beside it.
const double BEGIN_S = 2.0;

/// Everybody within a few metres of the middle, where nothing is lost to distance.
void Place(const NodeContainer& nodes)
{
    MobilityHelper mobility;
    mobility.SetMobilityModel("ns3::ConstantPositionMobilityModel");
    mobility.SetPositionAllocator("ns3::GridPositionAllocator", "DeltaX", DoubleValue(1.0), "DeltaY", DoubleValue(1.0), "GridWidth",
                                  UintegerValue(3));
    mobility.Install(nodes);
}

/// The channel and frame of `wimax-nist`; all stations at 64-QAM 3/4, best effort.
NetDeviceContainer Wimax(const NodeContainer& stations, Ptr<Node> base)
{
    Config::SetDefault("ns3::WimaxPhy::Bandwidth", UintegerValue(7000000));
    Config::SetDefault("ns3::WimaxPhy::FrameDuration", TimeValue(MilliSeconds(5)));
    WimaxHelper helper;
    auto devices = helper.Install(stations, WimaxHelper::DEVICE_TYPE_SUBSCRIBER_STATION, WimaxHelper::SIMPLE_PHY_TYPE_OFDM,
                                  WimaxHelper::SCHED_TYPE_SIMPLE);
    devices.Add(
        helper.Install(base, WimaxHelper::DEVICE_TYPE_BASE_STATION, WimaxHelper::SIMPLE_PHY_TYPE_OFDM, WimaxHelper::SCHED_TYPE_SIMPLE));
    return devices;
}

/// A best-effort service flow down to each station.
void OpenServiceFlows(const NetDeviceContainer& devices, const Ipv4InterfaceContainer& addresses, uint32_t stations)
{
    for (uint32_t i = 0; i < stations; ++i)
    {
        auto station = DynamicCast<SubscriberStationNetDevice>(devices.Get(i));
        station->SetModulationType(WimaxPhy::MODULATION_TYPE_QAM64_34);
        IpcsClassifierRecord all(Ipv4Address("0.0.0.0"), Ipv4Mask("0.0.0.0"), addresses.GetAddress(i), Ipv4Mask("255.255.255.255"), 0, 65000,
                                 PORT, PORT, 17, 1);
        WimaxHelper helper;
        station->AddServiceFlow(helper.CreateServiceFlow(ServiceFlow::SF_DIRECTION_DOWN, ServiceFlow::SF_TYPE_BE, all));
    }
}

/// 802.11b at 11 Mb/s, control frames at 1 Mb/s, no RTS.
NetDeviceContainer Wifi(const NodeContainer& stations, Ptr<Node> base)
{
    YansWifiPhyHelper phy;
    phy.SetChannel(YansWifiChannelHelper::Default().Create());
    WifiHelper wifi;
    wifi.SetStandard(WIFI_STANDARD_80211b);
    wifi.SetRemoteStationManager("ns3::ConstantRateWifiManager", "DataMode", StringValue("DsssRate11Mbps"), "ControlMode",
                                 StringValue("DsssRate1Mbps"));
    WifiMacHelper mac;
    Ssid ssid("peer");
    mac.SetType("ns3::StaWifiMac", "Ssid", SsidValue(ssid), "QosSupported", BooleanValue(false));
    auto devices = wifi.Install(phy, mac, stations);
    mac.SetType("ns3::ApWifiMac", "Ssid", SsidValue(ssid), "QosSupported", BooleanValue(false));
    devices.Add(wifi.Install(phy, mac, base));
    return devices;
}

/// A source at the base station and a sink at each station.
ApplicationContainer Traffic(const NodeContainer& stations, Ptr<Node> base, const Ipv4InterfaceContainer& addresses, double bps)
{
    ApplicationContainer sinks;
    for (uint32_t i = 0; i < stations.GetN(); ++i)
    {
        InetSocketAddress to(addresses.GetAddress(i), PORT);
        OnOffHelper source("ns3::UdpSocketFactory", to);
        source.SetConstantRate(DataRate(static_cast<uint64_t>(bps)), 972);
        source.Install(base).Start(Seconds(BEGIN_S));
        sinks.Add(PacketSinkHelper("ns3::UdpSocketFactory", to).Install(stations.Get(i)));
    }
    return sinks;
}

} // namespace

int main(int argc, char** argv)
{
    const std::string kind = argc == 5 ? argv[1] : "";
    if (kind != "wimax" && kind != "wifi")
    {
        std::fprintf(stderr, "usage: ns3_media wimax|wifi STATIONS SECONDS BITS_PER_SECOND\n");
        return 2;
    }
    const auto count = static_cast<uint32_t>(std::atoi(argv[2]));
    const double seconds = std::atof(argv[3]);
    NodeContainer stations;
    NodeContainer base;
    stations.Create(count);
    base.Create(1);
    Place(NodeContainer(stations, base));
    auto devices = kind == "wimax" ? Wimax(stations, base.Get(0)) : Wifi(stations, base.Get(0));
    InternetStackHelper().Install(NodeContainer(stations, base));
    Ipv4AddressHelper range("10.0.0.0", "255.255.255.0");
    auto addresses = range.Assign(devices);
    if (kind == "wimax")
    {
        OpenServiceFlows(devices, addresses, count);
    }
    auto sinks = Traffic(stations, base.Get(0), addresses, std::atof(argv[4]));
    Simulator::Stop(Seconds(BEGIN_S + seconds));
    Simulator::Run();
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < sinks.GetN(); ++i)
    {
        bytes += DynamicCast<PacketSink>(sinks.Get(i))->GetTotalRx();
    }
    std::printf("{\"data_packets\": %llu, \"bytes\": %llu, \"seconds\": %g}\n", static_cast<unsigned long long>(bytes / 972),
                static_cast<unsigned long long>(bytes), seconds);
    Simulator::Destroy();
    return 0;
}
