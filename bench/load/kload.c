/* kload: load for brokers, from one thread, with exact send times.
 *
 * It knows nothing of Kafka but that a frame begins with its size and that answers come in
 * order. Frames to repeat come in a file, one after the other, made in Python (wire.py).
 *
 *   kload PORTS FRAMES CONNECTIONS ERROR_AT RECORDS_A_FRAME closed DEPTH SECONDS WARM_SECONDS
 *   kload PORTS FRAMES CONNECTIONS ERROR_AT RECORDS_A_FRAME open RATE SECONDS WARM_SECONDS
 *         [FETCHES OFFSET_AT FETCH_BYTES]
 *
 * PORTS   One, or several with commas between them: connections take them in turn.
 * closed  Each connection keeps DEPTH frames on their way. Latency, if DEPTH is 1: from send
 *         to answer.
 * open    RECORDS arrive at an even RATE, whatever the broker does, and fill frames in turn,
 *         a connection each. A frame goes out when its last record arrives. Latency: from
 *         the time a record was meant to arrive, so a stall counts for all that it held up
 *         (no coordinated omission). `late` says how far this program itself was behind.
 * FETCHES Fetch v4 requests, one for each connection's partition, which only this program
 *         writes, from offset 0: what comes is timed from the same intended times.
 *
 * Latencies go into a histogram with three significant digits (as HdrHistogram does it).
 * Result: one JSON object on stdout. Any error code that is not 0 ends it.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SUB 1024 /* buckets an octave: three digits */
#define BUCKETS (SUB * 56)
#define ANSWER_BYTES 65536
#define EVENTS 256
#define GIVE_UP_NS 60000000000ULL /* after the last send, for answers still missing */

struct histogram { uint64_t count[BUCKETS], total, max; };

struct connection {
    int fd, is_fetch, waits_to_write;
    uint64_t due, sent, answered; /* frames */
    uint32_t written;             /* of the frame that is on its way */
    uint64_t sent_at;             /* closed */
    uint8_t *in;
    uint32_t in_size, in_have;
    uint8_t *fetch;
    uint64_t offset; /* the next one to fetch */
};

static uint8_t *frames;
static uint32_t *frame_at, *frame_size, frame_count;
static struct connection *connections;
static uint32_t producers, error_at, batch, offset_at;
static struct histogram acknowledged, end_to_end, late;
static uint64_t began, measured_from, gap_ns_num, gap_ns_den, measured, total;
static int poller, is_open, depth;

static void die(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fputs("kload: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    exit(1);
}

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000ULL + (uint64_t)t.tv_nsec;
}

static uint64_t be(const uint8_t *at, int bytes) {
    uint64_t value = 0;
    while (bytes--) value = value << 8 | *at++;
    return value;
}

/* ---- histogram ---- */

static void note(struct histogram *h, uint64_t ns) {
    uint32_t shift = ns < 2 * SUB ? 0 : 63 - (uint32_t)__builtin_clzll(ns) - 10;
    h->count[shift * SUB + (ns >> shift)]++;
    h->total++;
    if (ns > h->max) h->max = ns;
}

static double percentile_ms(const struct histogram *h, double percent) {
    uint64_t wanted = (uint64_t)((double)h->total * percent / 100 + 0.9999999), seen = 0;
    for (uint32_t i = 0; i < BUCKETS; i++)
        if (h->count[i] && (seen += h->count[i]) >= wanted) {
            uint32_t shift = i < 2 * SUB ? 0 : i / SUB - 1;
            return (double)(((uint64_t)(i - shift * SUB) + 1) << shift) / 1e6;
        }
    return 0;
}

static void print(const char *name, const struct histogram *h) {
    static const double at[] = {50, 75, 90, 95, 99, 99.5, 99.9, 99.95, 99.99};
    printf(", \"%s\": {", name);
    for (uint32_t i = 0; i < sizeof at / sizeof *at; i++)
        printf("\"p%g\": %.4f, ", at[i], percentile_ms(h, at[i]));
    printf("\"max\": %.4f, \"count\": %llu}", (double)h->max / 1e6, (unsigned long long)h->total);
}

/* ---- intended times (open): record n of all is meant to arrive at began + n * gap ---- */

static uint64_t arrival(uint64_t record) { return began + record * gap_ns_num / gap_ns_den; }

/* Record j of a connection's frame k among all records: frames are filled one after the other,
 * each connection's in turn, as a producer does that keeps to a partition for a batch. */
static uint64_t record_number(uint32_t connection, uint64_t k, uint64_t j) {
    return (k * producers + connection) * batch + j;
}

static uint64_t frame_due(uint32_t connection, uint64_t k) {
    return arrival(record_number(connection, k, batch - 1));
}

static void note_records(struct histogram *h, uint32_t c, uint64_t k, uint64_t from, uint64_t now) {
    for (uint64_t j = from; j < batch; j++) {
        uint64_t at = arrival(record_number(c, k, j));
        if (at >= measured_from) note(h, now > at ? now - at : 0);
    }
}

/* ---- connections ---- */

static void watch(struct connection *c, int writes) {
    struct epoll_event event = {EPOLLIN | (writes ? EPOLLOUT : 0), {.ptr = c}};
    if (epoll_ctl(poller, EPOLL_CTL_MOD, c->fd, &event)) die("epoll_ctl: %s", strerror(errno));
    c->waits_to_write = writes;
}

/* The port of the connection with this number: `list` is as on the command line. */
static uint16_t port_of(const char *list, uint32_t number) {
    uint32_t ports = 1;
    for (const char *at = list; *at; at++) ports += *at == ',';
    for (number %= ports; number--;) list = strchr(list, ',') + 1;
    return (uint16_t)atoi(list);
}

static void connect_to(struct connection *c, uint16_t port, uint32_t in_size) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int on = 1;
    c->fd = socket(AF_INET, SOCK_STREAM, 0);
    if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&to, sizeof to))
        die("connect: %s", strerror(errno));
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    fcntl(c->fd, F_SETFL, O_NONBLOCK);
    c->in_size = in_size;
    c->in = malloc(in_size);
    struct epoll_event event = {EPOLLIN, {.ptr = c}};
    if (!c->in || epoll_ctl(poller, EPOLL_CTL_ADD, c->fd, &event)) die("connection: no memory");
}

/* Frame k of a connection: with more frames than connections each has several in turn. */
static uint32_t frame_of(const struct connection *c, uint64_t k) {
    return (uint32_t)(((uint64_t)(c - connections) + k * producers) % frame_count);
}

static void send_due(struct connection *c) {
    while (c->sent < c->due) {
        uint32_t frame = frame_of(c, c->sent);
        ssize_t n = send(c->fd, frames + frame_at[frame] + c->written,
                         frame_size[frame] - c->written, MSG_NOSIGNAL);
        if (n < 0 && errno != EAGAIN) die("send: %s", strerror(errno));
        if (n < 0) {
            if (!c->waits_to_write) watch(c, 1);
            return;
        }
        c->written += (uint32_t)n;
        if (c->written == frame_size[frame]) {
            c->written = 0;
            c->sent++;
        }
    }
    if (c->waits_to_write) watch(c, 0);
}

static void send_fetch(struct connection *c) {
    uint64_t offset = htobe64(c->offset);
    memcpy(c->fetch + offset_at, &offset, 8);
    uint32_t size = (uint32_t)be(c->fetch, 4) + 4;
    if (send(c->fd, c->fetch, size, MSG_NOSIGNAL) != (ssize_t)size) die("send of a fetch");
}

static void acknowledge(struct connection *c, const uint8_t *frame, uint64_t now) {
    uint64_t error = error_at ? be(frame + error_at, 2) : 0;
    if (error) die("error code %d in an answer", (int16_t)error);
    uint64_t k = c->answered++;
    total += batch;
    if (is_open) {
        if (frame_due((uint32_t)(c - connections), k) >= measured_from) measured += batch;
        note_records(&acknowledged, (uint32_t)(c - connections), k, 0, now);
        return;
    }
    if (now >= measured_from) {
        measured += batch;
        if (depth == 1) note(&acknowledged, now - c->sent_at);
    }
    c->sent_at = now;
    c->due++;
    send_due(c);
}

/* What a Fetch v4 answer of one partition brought. */
static void fetched(struct connection *c, const uint8_t *frame, uint32_t size, uint64_t now) {
    uint32_t producer = (uint32_t)(c - connections) - producers;
    uint32_t at = 16 + 2 + (uint32_t)be(frame + 16, 2) + 4 + 4;
    uint64_t error = be(frame + at, 2);
    if (error) die("error code %d in an answer to a fetch", (int16_t)error);
    at += 2 + 8 + 8;
    int32_t aborted = (int32_t)be(frame + at, 4);
    at += 4 + (aborted > 0 ? (uint32_t)aborted * 16 : 0) + 4;
    while (at + 61 <= size && at + 12 + be(frame + at + 8, 4) <= size) {
        uint64_t next = be(frame + at, 8) + be(frame + at + 23, 4) + 1;
        while (c->offset < next) {
            uint64_t k = c->offset / batch, j = c->offset % batch;
            uint64_t intended = arrival(record_number(producer, k, j));
            if (intended >= measured_from) note(&end_to_end, now > intended ? now - intended : 0);
            c->offset++;
        }
        at += 12 + (uint32_t)be(frame + at + 8, 4);
    }
    send_fetch(c);
}

static void receive(struct connection *c) {
    ssize_t n = recv(c->fd, c->in + c->in_have, c->in_size - c->in_have, 0);
    if (n < 0 && errno == EAGAIN) return;
    if (n < 0) die("recv: %s", strerror(errno));
    if (n == 0) die("the broker closed a connection");
    c->in_have += (uint32_t)n;
    uint32_t at = 0;
    uint64_t now = now_ns();
    while (c->in_have - at >= 4) {
        uint32_t size = (uint32_t)be(c->in + at, 4) + 4;
        if (size > c->in_size) die("an answer of %u bytes", size);
        if (c->in_have - at < size) break;
        if (c->is_fetch) fetched(c, c->in + at, size, now);
        else acknowledge(c, c->in + at, now);
        at += size;
    }
    memmove(c->in, c->in + at, c->in_have - at);
    c->in_have -= at;
}

static void poll_until(uint64_t until) {
    struct epoll_event events[EVENTS];
    uint64_t now = now_ns(), wait = until > now ? until - now : 0;
    struct timespec timeout = {(time_t)(wait / 1000000000ULL), (long)(wait % 1000000000ULL)};
    int count = epoll_pwait2(poller, events, EVENTS, &timeout, NULL);
    if (count < 0 && errno != EINTR) die("epoll: %s", strerror(errno));
    for (int i = 0; i < count; i++) {
        struct connection *c = events[i].data.ptr;
        if (events[i].events & EPOLLOUT) send_due(c);
        if (events[i].events & ~(uint32_t)EPOLLOUT) receive(c);
    }
}

/* ---- the two kinds of load ---- */

static uint64_t run_closed(uint64_t ends) {
    began = now_ns();
    for (uint32_t i = 0; i < producers; i++) {
        connections[i].due = (uint64_t)depth;
        connections[i].sent_at = now_ns();
        send_due(&connections[i]);
    }
    while (now_ns() < ends) poll_until(ends);
    return now_ns();
}

static int all_answered(uint64_t frame, int fetches) {
    for (uint32_t i = 0; i < producers; i++) {
        uint64_t due = frame / producers + (i < frame % producers);
        if (connections[i].answered < due) return 0;
        if (fetches && connections[producers + i].offset < due * batch) return 0;
    }
    return 1;
}

static uint64_t run_open(uint64_t ends, int fetches) {
    uint64_t frame = 0; /* of all connections, in the order in which they are due */
    for (;;) {
        uint32_t c = (uint32_t)(frame % producers);
        uint64_t due = frame_due(c, frame / producers), now = now_ns();
        if (due >= ends) break;
        if (due > now) {
            poll_until(due);
            continue;
        }
        if (due >= measured_from) note(&late, now - due);
        connections[c].due++;
        send_due(&connections[c]);
        frame++;
    }
    while (!all_answered(frame, fetches)) {
        uint64_t now = now_ns();
        if (now > ends + GIVE_UP_NS) die("answers are missing a minute after the last request");
        poll_until(now + 1000000);
    }
    return now_ns();
}

/* ---- set-up ---- */

static uint8_t *read_file(const char *path, uint32_t *size) {
    struct stat stat;
    int fd = open(path, O_RDONLY);
    if (fd < 0 || fstat(fd, &stat)) die("%s: %s", path, strerror(errno));
    uint8_t *data = malloc((size_t)stat.st_size);
    for (off_t have = 0; have < stat.st_size;) {
        ssize_t n = data ? read(fd, data + have, (size_t)(stat.st_size - have)) : -1;
        if (n <= 0) die("%s: cannot be read", path);
        have += n;
    }
    close(fd);
    *size = (uint32_t)stat.st_size;
    return data;
}

static uint32_t cut(const uint8_t *data, uint32_t size, uint32_t **at, uint32_t **sizes) {
    uint32_t count = 0;
    *at = malloc(sizeof(uint32_t) * (size / 4 + 1));
    *sizes = malloc(sizeof(uint32_t) * (size / 4 + 1));
    for (uint32_t position = 0; position < size; position += (*sizes)[count++]) {
        (*at)[count] = position;
        (*sizes)[count] = (uint32_t)be(data + position, 4) + 4;
    }
    return count;
}

int main(int argc, char **argv) {
    if (argc != 10 && argc != 13) die("see the top of kload.c for its arguments");
    const char *ports = argv[1];
    int fetches = argc == 13;
    uint32_t size, fetch_bytes = fetches ? (uint32_t)atoi(argv[12]) : 0;
    frames = read_file(argv[2], &size);
    frame_count = cut(frames, size, &frame_at, &frame_size);
    producers = (uint32_t)atoi(argv[3]);
    error_at = (uint32_t)atoi(argv[4]);
    batch = (uint32_t)atoi(argv[5]);
    is_open = !strcmp(argv[6], "open");
    double seconds = atof(argv[8]), warm = atof(argv[9]);
    connections = calloc(producers * 2, sizeof *connections);
    poller = epoll_create1(0);
    prctl(PR_SET_TIMERSLACK, 1);
    for (uint32_t i = 0; i < producers; i++)
        connect_to(&connections[i], port_of(ports, i), ANSWER_BYTES);
    if (fetches) {
        uint32_t *at, *sizes, fetches_size;
        uint8_t *data = read_file(argv[10], &fetches_size);
        cut(data, fetches_size, &at, &sizes);
        offset_at = (uint32_t)atoi(argv[11]);
        for (uint32_t i = 0; i < producers; i++) {
            struct connection *c = &connections[producers + i];
            connect_to(c, port_of(ports, i), fetch_bytes + 65536);
            c->is_fetch = 1;
            c->fetch = data + at[i];
            send_fetch(c);
        }
    }
    began = now_ns() + 10000000;
    measured_from = began + (uint64_t)(warm * 1e9);
    uint64_t ends = measured_from + (uint64_t)(seconds * 1e9), ended;
    if (is_open) {
        gap_ns_num = 1000000000ULL;
        gap_ns_den = (uint64_t)atoll(argv[7]);
        ended = run_open(ends, fetches);
    } else {
        depth = atoi(argv[7]);
        ended = run_closed(ends);
    }
    printf("{\"records\": %llu, \"total\": %llu, \"seconds\": %.6f, \"total_seconds\": %.6f",
           (unsigned long long)measured, (unsigned long long)total,
           (double)(ended - measured_from) / 1e9, (double)(ended - began) / 1e9);
    print("ack", &acknowledged);
    if (is_open) print("late", &late);
    if (fetches) print("e2e", &end_to_end);
    puts("}");
    return 0;
}
