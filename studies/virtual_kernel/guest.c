/* What the virtual machine's hosts run; compiled on the host by guest.py, needs no library.
 *
 * guest offload INTERFACE
 *     segments leave singly: TSO off, GSO on, GRO off
 * guest send PORT CONTROL FILE [BYTES]
 *     accepts a connection on PORT and sends BYTES, or until the peer closes; TCP_INFO every 20 ms
 *     into FILE
 * guest receive ADDRESS PORT SECONDS [BYTES]
 *     connects, receives for SECONDS or until BYTES have arrived; prints a line of JSON
 * guest tap INTERFACE SECONDS FILE PORT..
 *     on the sender's interface: RTT of each ACK (Karn; the last segment that it acknowledges) into
 *     FILE, and at SIGTERM a line of JSON for each PORT; a connection counts for SECONDS from its SYN
 * guest netem INTERFACE KEY=VALUE..
 *     a netem qdisc with a seed, which tc sets from iproute2 6.6 on: seed, delay_ns, rate (b/s, of IP
 *     packets), loss, or p and r (gemodel)
 * guest draws ADDRESS COUNT
 *     numbered datagrams, one every 100 us
 * guest missing PORT SECONDS COUNT
 *     prints the numbers of those that did not arrive in SECONDS
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define SAMPLE_NS 20000000
#define BATCH 128 /* packets that the tap reads at once, and how often */
#define DRAIN_US 100000
#define NETEM_PRNG_SEED 14 /* TCA_NETEM_PRNG_SEED, in headers from 6.6 on */

static char buffer[1 << 18];

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* Waits for an event; false when `until` has come. */
static bool wait_for(int fd, short event, int64_t until) {
    int64_t left = until - now_ns();
    if (left <= 0) return false;
    struct pollfd p = {fd, event, 0};
    struct timespec t = {left / 1000000000, left % 1000000000};
    return ppoll(&p, 1, &t, NULL) > 0;
}

static void sleep_until(int64_t until) {
    struct timespec t = {until / 1000000000, until % 1000000000};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR);
}

/* ---- offload ---- */

static int offload(const char *name) {
    int s = socket(AF_INET, SOCK_DGRAM, 0);
    struct { uint32_t command, value; } set[] = {
        {ETHTOOL_STSO, 0}, {ETHTOOL_SGSO, 1}, {ETHTOOL_SGRO, 0}};
    for (int i = 0; i < 3; i++) {
        struct ethtool_value value = {set[i].command, set[i].value};
        struct ifreq request = {.ifr_data = (void *)&value};
        strncpy(request.ifr_name, name, IFNAMSIZ - 1);
        if (ioctl(s, SIOCETHTOOL, &request)) fail("SIOCETHTOOL");
    }
    return 0;
}

/* ---- send and receive ---- */

static void sample(FILE *file, int s, int64_t began) {
    struct tcp_info info;
    socklen_t size = sizeof info;
    memset(&info, 0, sizeof info);
    if (getsockopt(s, IPPROTO_TCP, TCP_INFO, &info, &size)) return;
    fprintf(file, "%.6f,%u,%u,%u,%u,%u,%u,%u,%llu,%llu\n", (now_ns() - began) / 1e9,
            info.tcpi_ca_state, info.tcpi_snd_cwnd, info.tcpi_snd_ssthresh, info.tcpi_rtt,
            info.tcpi_unacked, info.tcpi_total_retrans, info.tcpi_reordering,
            (unsigned long long)info.tcpi_pacing_rate, (unsigned long long)info.tcpi_delivery_rate);
}

static int send_data(const char *port, const char *control, const char *path, int64_t bytes) {
    FILE *file = fopen(path, "w");
    if (!file) fail(path);
    fprintf(file, "at_s,ca_state,cwnd,ssthresh,srtt_us,unacked,total_retrans,reordering,pacing_rate,delivery_rate\n");
    struct sockaddr_in6 address = {.sin6_family = AF_INET6, .sin6_port = htons(atoi(port))};
    int listener = socket(AF_INET6, SOCK_STREAM, 0);
    if (setsockopt(listener, IPPROTO_TCP, TCP_CONGESTION, control, strlen(control))) fail(control);
    if (bind(listener, (void *)&address, sizeof address) || listen(listener, 1)) fail("listen");
    int s = accept(listener, NULL, NULL);
    if (s < 0) fail("accept");
    fcntl(s, F_SETFL, O_NONBLOCK);
    int64_t began = now_ns(), due = began, left = bytes;
    for (;;) {
        if (now_ns() >= due) {
            sample(file, s, began);
            due += SAMPLE_NS;
        }
        if (left == 0) { /* all written: until the peer closes */
            struct pollfd p = {s, POLLRDHUP, 0};
            if (ppoll(&p, 1, &(struct timespec){0, SAMPLE_NS}, NULL) > 0) break;
            continue;
        }
        if (!wait_for(s, POLLOUT, due)) continue;
        size_t size = left > 0 && left < (int64_t)sizeof buffer ? (size_t)left : sizeof buffer;
        ssize_t sent = send(s, buffer, size, MSG_NOSIGNAL);
        if (sent < 0 && errno != EAGAIN) break;
        if (sent > 0 && left > 0) left -= sent;
    }
    sample(file, s, began);
    return fclose(file);
}

static volatile sig_atomic_t ended;
static void end(int signal) {
    (void)signal;
    ended = 1;
}

/* `end` is called on the signal and interrupts system calls. */
static void end_on(int signal) {
    struct sigaction action = {.sa_handler = end};
    sigaction(signal, &action, NULL);
}

static int receive(const char *host, const char *port, double seconds, int64_t bytes) {
    struct sockaddr_in6 address = {.sin6_family = AF_INET6, .sin6_port = htons(atoi(port))};
    if (inet_pton(AF_INET6, host, &address.sin6_addr) != 1) fail(host);
    end_on(SIGALRM);
    int64_t began = now_ns(), received = 0;
    struct itimerval timer = {.it_value = {(time_t)seconds, (suseconds_t)((seconds - (time_t)seconds) * 1e6)}};
    setitimer(ITIMER_REAL, &timer, NULL);
    int s = socket(AF_INET6, SOCK_STREAM, 0);
    if (connect(s, (void *)&address, sizeof address)) fail("connect");
    while (!ended && (bytes == 0 || received < bytes)) { /* one system call for each arrival */
        ssize_t size = recv(s, buffer, sizeof buffer, 0);
        if (size <= 0) break;
        received += size;
    }
    printf("{\"port\": %s, \"bytes\": %lld, \"seconds\": %.9f}\n", port, (long long)received,
           bytes > 0 ? (now_ns() - began) / 1e9 : seconds);
    return 0;
}

/* ---- tap ---- */

struct segment {
    uint64_t end;
    int64_t sent;
    bool again, sacked;
};

struct flow {
    uint16_t port;
    bool open;
    uint32_t first; /* sequence number of the first byte */
    int64_t syn, until;
    uint64_t una, high;
    struct segment *ring; /* by start, from `head` on; never wraps */
    size_t head, count, size;
    uint64_t segments, retransmitted, acks, marked;
    double *rtt;
    size_t samples, room;
};

static void push(struct flow *f, uint64_t end, int64_t at) {
    if (f->head + f->count == f->size) {
        memmove(f->ring, f->ring + f->head, f->count * sizeof *f->ring);
        f->head = 0;
        if (f->count * 2 >= f->size) {
            f->size = f->size ? 2 * f->size : 4096;
            f->ring = realloc(f->ring, f->size * sizeof *f->ring);
        }
    }
    f->ring[f->head + f->count++] = (struct segment){end, at, false, false};
}

static void data_sent(struct flow *f, uint64_t from, uint32_t length, int64_t at) {
    f->segments++;
    if (from >= f->high) {
        push(f, from + length, at);
        f->high = from + length;
        return;
    }
    f->retransmitted++;
    for (size_t i = 0; i < f->count; i++) {
        struct segment *s = &f->ring[f->head + i];
        if (s->end > from + length) break;
        if (s->end > from) s->again = true;
    }
}

static void acknowledged(struct flow *f, FILE *file, uint64_t ack, const uint64_t (*sack)[2],
                         int blocks, int64_t at) {
    int64_t last = -1;
    bool again = false;
    f->acks++;
    while (f->count && f->ring[f->head].end <= ack) {
        struct segment *s = &f->ring[f->head++];
        f->count--;
        again |= s->again;
        if (!s->again && !s->sacked) last = s->sent;
    }
    if (ack > f->una) f->una = ack;
    for (int b = 0; b < blocks; b++)
        for (size_t i = 0; i < f->count; i++) {
            struct segment *s = &f->ring[f->head + i];
            if (s->end > sack[b][1]) break;
            if (s->end > sack[b][0]) s->sacked = true;
        }
    if (last < 0 || again) return;
    if (f->samples == f->room) {
        f->room = f->room ? 2 * f->room : 4096;
        f->rtt = realloc(f->rtt, f->room * sizeof *f->rtt);
    }
    f->rtt[f->samples++] = (at - last) / 1e6;
    fprintf(file, "%u,%.6f,%.6f\n", f->port, (at - f->syn) / 1e9, (at - last) / 1e6);
}

static void tapped(struct flow *flows, int count, FILE *file, double seconds, const uint8_t *p,
                   size_t size, int64_t at) {
    size_t header = size >= 40 && p[0] >> 4 == 4 ? (p[0] & 15) * 4 : 40;
    if (size < header + 20) return;
    bool v4 = p[0] >> 4 == 4;
    if ((v4 ? p[9] : p[6]) != IPPROTO_TCP) return;
    size_t total = v4 ? (size_t)(p[2] << 8 | p[3]) : 40 + (size_t)(p[4] << 8 | p[5]);
    const uint8_t *t = p + header;
    uint16_t from = t[0] << 8 | t[1], to = t[2] << 8 | t[3];
    uint32_t seq = (uint32_t)t[4] << 24 | t[5] << 16 | t[6] << 8 | t[7];
    uint32_t ack = (uint32_t)t[8] << 24 | t[9] << 16 | t[10] << 8 | t[11];
    size_t options = (t[12] >> 4) * 4u;
    uint32_t length = total - header - options;
    for (int i = 0; i < count; i++) {
        struct flow *f = &flows[i];
        if (to == f->port && t[13] & 2 && !f->syn) {
            f->syn = at;
            f->until = at + (int64_t)(seconds * 1e9);
        }
        if (from == f->port && t[13] & 2) {
            f->open = true;
            f->first = seq + 1;
        } else if (!f->open || at > f->until) {
            continue;
        } else if (from == f->port && length) {
            data_sent(f, f->high + (int32_t)(seq - (f->first + (uint32_t)f->high)), length, at);
        } else if (to == f->port && t[13] & 16) {
            uint64_t sack[4][2], una = f->una;
            int blocks = 0;
            for (size_t o = 20; o + 1 < options && t[o];) {
                if (t[o] == 1) {
                    o++;
                    continue;
                }
                if (t[o + 1] < 2) break;
                for (int b = 0; t[o] == 5 && b < (t[o + 1] - 2) / 8 && blocks < 4; b++, blocks++)
                    for (int edge = 0; edge < 2; edge++) {
                        const uint8_t *e = t + o + 2 + 8 * b + 4 * edge;
                        uint32_t value = (uint32_t)e[0] << 24 | e[1] << 16 | e[2] << 8 | e[3];
                        int64_t place = (int64_t)una + (int32_t)(value - (f->first + (uint32_t)una));
                        sack[blocks][edge] = place < 0 ? 0 : (uint64_t)place;
                    }
                o += t[o + 1];
            }
            if (t[13] & 64) f->marked++;
            acknowledged(f, file, una + (int32_t)(ack - (f->first + (uint32_t)una)), sack, blocks, at);
        }
    }
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quantile(const struct flow *f, double q) {
    return f->samples ? f->rtt[(size_t)(q * (f->samples - 1) + 0.5)] : 0;
}

static int tap(const char *name, double seconds, const char *path, char **ports, int count) {
    struct flow *flows = calloc(count, sizeof *flows);
    for (int i = 0; i < count; i++) flows[i].port = atoi(ports[i]);
    FILE *file = fopen(path, "w");
    if (!file) fail(path);
    int s = socket(AF_PACKET, SOCK_DGRAM, htons(ETH_P_ALL)), one = 1, room = 1 << 26;
    struct sockaddr_ll address = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL),
                                  .sll_ifindex = if_nametoindex(name)};
    if (setsockopt(s, SOL_SOCKET, SO_TIMESTAMPNS, &one, sizeof one)) fail("SO_TIMESTAMPNS");
    if (setsockopt(s, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room)) fail("SO_RCVBUFFORCE");
    if (bind(s, (void *)&address, sizeof address)) fail(name);
    end_on(SIGTERM);
    static uint8_t packets[BATCH][128], control[BATCH][128];
    static struct iovec parts[BATCH];
    static struct mmsghdr messages[BATCH];
    for (int got = BATCH; !ended || got == BATCH;) { /* a system call costs microseconds */
        if (got < BATCH) usleep(DRAIN_US);
        for (int i = 0; i < BATCH; i++) {
            parts[i] = (struct iovec){packets[i], sizeof packets[i]};
            messages[i].msg_hdr = (struct msghdr){.msg_iov = &parts[i], .msg_iovlen = 1,
                .msg_control = control[i], .msg_controllen = sizeof control[i]};
        }
        got = recvmmsg(s, messages, BATCH, MSG_DONTWAIT, NULL);
        for (int i = 0; i < got; i++) {
            struct cmsghdr *stamp = CMSG_FIRSTHDR(&messages[i].msg_hdr);
            struct timespec t;
            memcpy(&t, CMSG_DATA(stamp), sizeof t);
            tapped(flows, count, file, seconds, packets[i], messages[i].msg_len,
                   t.tv_sec * 1000000000LL + t.tv_nsec);
        }
    }
    struct tpacket_stats statistics;
    socklen_t length = sizeof statistics;
    getsockopt(s, SOL_PACKET, PACKET_STATISTICS, &statistics, &length);
    for (int i = 0; i < count; i++) {
        struct flow *f = &flows[i];
        double sum = 0;
        for (size_t k = 0; k < f->samples; k++) sum += f->rtt[k];
        qsort(f->rtt, f->samples, sizeof *f->rtt, by_value);
        printf("{\"port\": %u, \"segments\": %llu, \"retransmitted\": %llu, \"acks\": %llu, \"echoes\": %llu, "
               "\"missed\": %u, \"rtt_samples\": %zu, \"rtt_min_ms\": %.4f, \"rtt_mean_ms\": %.4f, \"rtt_p50_ms\": %.4f, "
               "\"rtt_p95_ms\": %.4f, \"rtt_max_ms\": %.4f}\n",
               f->port, (unsigned long long)f->segments, (unsigned long long)f->retransmitted, (unsigned long long)f->acks,
               (unsigned long long)f->marked, statistics.tp_drops, f->samples, quantile(f, 0),
               f->samples ? sum / f->samples : 0, quantile(f, 0.5), quantile(f, 0.95), quantile(f, 1));
    }
    return fclose(file);
}

/* ---- netem ---- */

static void attribute(struct nlmsghdr *message, int type, const void *data, size_t size) {
    struct rtattr *a = (void *)((char *)message + NLMSG_ALIGN(message->nlmsg_len));
    a->rta_type = type;
    a->rta_len = RTA_LENGTH(size);
    memcpy(RTA_DATA(a), data, size);
    message->nlmsg_len = NLMSG_ALIGN(message->nlmsg_len) + RTA_ALIGN(a->rta_len);
}

static uint32_t probability(double p) { return p >= 1 ? UINT32_MAX : (uint32_t)(p * 4294967295.0 + 0.5); }

static int netem(const char *name, char **keys, int count) {
    double delay = 0, rate = 0, loss = 0, p = 0, r = 0;
    uint64_t seed = 1;
    for (int i = 0; i < count; i++) {
        char *value = strchr(keys[i], '=');
        if (!value) return 2;
        *value++ = 0;
        if (!strcmp(keys[i], "seed")) seed = strtoull(value, NULL, 10);
        else if (!strcmp(keys[i], "delay_ns")) delay = atof(value);
        else if (!strcmp(keys[i], "rate")) rate = atof(value);
        else if (!strcmp(keys[i], "loss")) loss = atof(value);
        else if (!strcmp(keys[i], "p")) p = atof(value);
        else if (!strcmp(keys[i], "r")) r = atof(value);
        else return 2;
    }
    static struct { struct nlmsghdr header; struct tcmsg tc; char room[1024]; } m;
    m.header = (struct nlmsghdr){NLMSG_LENGTH(sizeof m.tc), RTM_NEWQDISC,
        NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE, 1, 0};
    m.tc = (struct tcmsg){.tcm_family = AF_UNSPEC, .tcm_ifindex = if_nametoindex(name),
                          .tcm_handle = 1 << 16, .tcm_parent = TC_H_ROOT};
    attribute(&m.header, TCA_KIND, "netem", 6);
    struct rtattr *options = (void *)((char *)&m.header + m.header.nlmsg_len);
    struct tc_netem_qopt qopt = {.limit = 100000, .loss = probability(loss)};
    attribute(&m.header, TCA_OPTIONS, &qopt, sizeof qopt);
    int64_t latency = (int64_t)delay;
    attribute(&m.header, TCA_NETEM_LATENCY64, &latency, sizeof latency);
    attribute(&m.header, NETEM_PRNG_SEED, &seed, sizeof seed);
    if (rate > 0) {
        struct tc_netem_rate limit = {.rate = (uint32_t)(rate / 8), .packet_overhead = -14};
        attribute(&m.header, TCA_NETEM_RATE, &limit, sizeof limit);
    }
    if (p > 0) { /* bad after good with p, good after bad with r; a bad state loses all packets */
        struct rtattr *nested = (void *)((char *)&m.header + m.header.nlmsg_len);
        struct tc_netem_gemodel model = {probability(p), probability(r), 0, 0};
        attribute(&m.header, TCA_NETEM_LOSS, "", 0);
        attribute(&m.header, NETEM_LOSS_GE, &model, sizeof model);
        nested->rta_len = (char *)&m.header + m.header.nlmsg_len - (char *)nested;
    }
    options->rta_len = (char *)&m.header + m.header.nlmsg_len - (char *)options;
    int s = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
    if (send(s, &m, m.header.nlmsg_len, 0) < 0) fail("netlink");
    struct { struct nlmsghdr header; struct nlmsgerr error; char room[1024]; } answer;
    if (recv(s, &answer, sizeof answer, 0) < 0) fail("netlink");
    errno = -answer.error.error;
    if (errno) fail("netem");
    return 0;
}

/* ---- draws of netem ---- */

static int draws(const char *host, uint32_t count) {
    struct sockaddr_in6 address = {.sin6_family = AF_INET6, .sin6_port = htons(5001)};
    if (inet_pton(AF_INET6, host, &address.sin6_addr) != 1) fail(host);
    int s = socket(AF_INET6, SOCK_DGRAM, 0);
    int64_t due = now_ns();
    for (uint32_t number = 0; number < count; number++, due += 100000) {
        sleep_until(due);
        if (sendto(s, &number, sizeof number, 0, (void *)&address, sizeof address) < 0) fail("sendto");
    }
    return 0;
}

static int missing(const char *port, double seconds, uint32_t count) {
    struct sockaddr_in6 address = {.sin6_family = AF_INET6, .sin6_port = htons(atoi(port))};
    int s = socket(AF_INET6, SOCK_DGRAM, 0);
    if (bind(s, (void *)&address, sizeof address)) fail("bind");
    uint8_t *arrived = calloc(count, 1);
    int64_t until = now_ns() + (int64_t)(seconds * 1e9);
    while (wait_for(s, POLLIN, until)) {
        uint32_t number;
        if (recv(s, &number, sizeof number, 0) == sizeof number && number < count) arrived[number] = 1;
    }
    for (uint32_t number = 0; number < count; number++)
        if (!arrived[number]) printf("%u\n", number);
    return 0;
}

int main(int count, char **words) {
    const char *verb = count > 2 ? words[1] : "";
    if (!strcmp(verb, "offload")) return offload(words[2]);
    if (!strcmp(verb, "send") && count > 4)
        return send_data(words[2], words[3], words[4], count > 5 ? atoll(words[5]) : -1);
    if (!strcmp(verb, "receive") && count > 4)
        return receive(words[2], words[3], atof(words[4]), count > 5 ? atoll(words[5]) : 0);
    if (!strcmp(verb, "tap") && count > 5)
        return tap(words[2], atof(words[3]), words[4], words + 5, count - 5);
    if (!strcmp(verb, "netem")) return netem(words[2], words + 3, count - 3);
    if (!strcmp(verb, "draws") && count > 3) return draws(words[2], atoi(words[3]));
    if (!strcmp(verb, "missing") && count > 4)
        return missing(words[2], atof(words[3]), atoi(words[4]));
    fprintf(stderr, "guest: see the top of guest.c\n");
    return 2;
}
