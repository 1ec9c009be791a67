/* limit: what this machine could do. It takes the frames that a broker takes from the same
 * sockets, writes the same records to a file and answers. It checks nothing, keeps nothing in
 * order for later, and could not be read from: no broker can be faster in C, on one core, with
 * the same system calls.
 *
 *   limit PORT FILE [FOLLOWER_PORT...]
 *
 * FOLLOWER  Another limit. What is written here is sent there too, and no answer leaves before
 *           each follower has written it: three replicas, acks=all.
 *
 * A turn is as kafkapy's: read from every socket that is ready, one write for all, then the answers.
 * Known are ApiVersions, Metadata v1 (topics called NAME-pCOUNT have COUNT partitions, all here)
 * and Produce v9 of one partition.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define EVENTS 256
#define FOLLOWERS 8
#define FIRST_BUFFER 65536
#define READ_AT_ONCE (1 << 20)
#define PRODUCE 0
#define METADATA 3
#define API_VERSIONS 18
#define UNSUPPORTED_VERSION 35

struct bytes { uint8_t *at; size_t have, room; };

struct connection {
    int fd;
    int follower; /* its number, or -1: a client's */
    int waits_to_write;
    struct bytes in, out;
    size_t taken; /* of `in`, by the frames of this turn */
};

/* An answer that waits until every follower has what it is for. */
struct answer { struct connection *to; uint32_t size; uint8_t wire[320]; };

static int poller, listener, file, follower_count;
static uint16_t port;
static struct connection *followers[FOLLOWERS];
static uint64_t followed[FOLLOWERS], first_answer, next_answer, next_offset;
static struct answer *answers; /* a ring */
static uint64_t answers_room;
static struct iovec *records, *whole; /* of this turn */
static size_t record_count, iov_room;

static void die(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fputs("limit: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    exit(1);
}

static void *grown(void *at, size_t size) {
    if (!(at = realloc(at, size))) die("no memory");
    return at;
}

/* ---- numbers and strings of the protocol ---- */

static uint64_t be(const uint8_t *at, int bytes) {
    uint64_t value = 0;
    while (bytes--) value = value << 8 | *at++;
    return value;
}

static uint8_t *put(uint8_t *at, uint64_t value, int bytes) {
    for (int i = bytes; i--;) *at++ = (uint8_t)(value >> (8 * i));
    return at;
}

static uint8_t *put_bytes(uint8_t *at, const void *from, size_t size) {
    memcpy(at, from, size);
    return at + size;
}

static uint64_t varint(const uint8_t **at) {
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
        uint8_t byte = *(*at)++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) return value;
    }
}

/* ---- connections ---- */

static struct connection *watch(int fd, int follower) {
    struct connection *c = calloc(1, sizeof *c);
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (follower < 0) fcntl(fd, F_SETFL, O_NONBLOCK);
    c->fd = fd;
    c->follower = follower;
    c->in.at = grown(NULL, c->in.room = FIRST_BUFFER);
    struct epoll_event event = {EPOLLIN, {.ptr = c}};
    if (epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event)) die("epoll_ctl: %s", strerror(errno));
    return c;
}

/* What waits in the ring for a client that has gone is dropped when its turn comes. */
static void forget(struct connection *c) {
    if (c->follower >= 0) die("a follower has gone");
    epoll_ctl(poller, EPOLL_CTL_DEL, c->fd, NULL);
    close(c->fd);
    c->fd = -1;
}

static void queue(struct connection *c, const uint8_t *wire, size_t size) {
    if (c->out.have + size > c->out.room)
        c->out.at = grown(c->out.at, c->out.room = 2 * (c->out.have + size));
    memcpy(c->out.at + c->out.have, wire, size);
    c->out.have += size;
}

static void flush(struct connection *c) {
    if (c->fd < 0 || !c->out.have) return;
    ssize_t n = send(c->fd, c->out.at, c->out.have, MSG_NOSIGNAL);
    if (n < 0 && errno != EAGAIN) return;
    if (n > 0) memmove(c->out.at, c->out.at + n, c->out.have -= (size_t)n);
    if (!c->out.have != !c->waits_to_write) {
        struct epoll_event event = {EPOLLIN | (c->out.have ? EPOLLOUT : 0), {.ptr = c}};
        epoll_ctl(poller, EPOLL_CTL_MOD, c->fd, &event);
        c->waits_to_write = c->out.have != 0;
    }
}

/* ---- requests: `at` is behind the header ---- */

static void answer_api_versions(struct connection *c, uint32_t id, uint16_t version) {
    static const uint16_t served[][3] = {{PRODUCE, 9, 9}, {METADATA, 1, 1}, {API_VERSIONS, 0, 0}};
    uint8_t wire[64], *end = put(wire + 4, id, 4);
    end = put(end, version ? UNSUPPORTED_VERSION : 0, 2);
    end = put(end, sizeof served / sizeof *served, 4);
    for (size_t i = 0; i < sizeof served / sizeof *served; i++)
        for (int j = 0; j < 3; j++) end = put(end, served[i][j], 2);
    put(wire, (uint64_t)(end - wire) - 4, 4);
    queue(c, wire, (size_t)(end - wire));
}

static void answer_metadata(struct connection *c, uint32_t id, const uint8_t *at) {
    uint32_t topics = (uint32_t)be(at, 4);
    at += 4;
    if (topics == UINT32_MAX) topics = 0;
    uint8_t *wire = grown(NULL, 128 + topics * 300), *end = put(wire + 4, id, 4);
    size_t room = 128 + topics * 300;
    end = put(end, 1, 4); /* brokers */
    end = put(end, 0, 4);
    end = put_bytes(put(end, 9, 2), "127.0.0.1", 9);
    end = put(end, port, 4);
    end = put(end, 0xffff, 2); /* no rack */
    end = put(end, 0, 4);      /* the controller */
    end = put(end, topics, 4);
    while (topics--) {
        size_t size = (size_t)be(at, 2);
        char name[256] = "";
        memcpy(name, at + 2, size < 255 ? size : 255);
        at += 2 + size;
        char *count = strrchr(name, 'p');
        uint32_t partitions = count && atoi(count + 1) > 0 ? (uint32_t)atoi(count + 1) : 1;
        size_t used = (size_t)(end - wire);
        wire = grown(wire, room += partitions * 26);
        end = put_bytes(put(put(wire + used, 0, 2), size, 2), name, size);
        *end++ = 0; /* not internal */
        end = put(end, partitions, 4);
        for (uint32_t i = 0; i < partitions; i++) {
            end = put(put(put(end, 0, 2), i, 4), 0, 4);
            end = put(put(end, 1, 4), 0, 4); /* replicas, and those in sync */
            end = put(put(end, 1, 4), 0, 4);
        }
    }
    put(wire, (uint64_t)(end - wire) - 4, 4);
    queue(c, wire, (size_t)(end - wire));
    free(wire);
}

static void take_produce(struct connection *c, uint32_t id, const uint8_t *frame, size_t size,
                         const uint8_t *at) {
    at++;                            /* the header's tags */
    uint64_t length = varint(&at);   /* transactional id */
    at += (length ? length - 1 : 0) + 2 + 4;
    varint(&at);                     /* one topic */
    uint64_t name_size = varint(&at) - 1;
    const uint8_t *name = at;
    at += name_size;
    varint(&at);                     /* one partition */
    uint32_t partition = (uint32_t)be(at, 4);
    at += 4;
    length = varint(&at) - 1;
    if (record_count == iov_room) {
        iov_room = iov_room ? 2 * iov_room : 1024;
        records = grown(records, iov_room * sizeof *records);
        whole = grown(whole, iov_room * sizeof *whole);
    }
    records[record_count] = (struct iovec){(void *)(uintptr_t)at, length};
    whole[record_count++] = (struct iovec){(void *)(uintptr_t)frame, size};
    if (next_answer - first_answer == answers_room) {
        struct answer *larger = grown(NULL, (answers_room ? 2 * answers_room : 1024) * sizeof *larger);
        for (uint64_t i = first_answer; i < next_answer; i++)
            larger[i % (2 * answers_room)] = answers[i % answers_room];
        free(answers);
        answers = larger;
        answers_room = answers_room ? 2 * answers_room : 1024;
    }
    struct answer *a = &answers[next_answer++ % answers_room];
    uint8_t *end = put(a->wire + 4, id, 4);
    *end++ = 0;
    *end++ = 2; /* a topic */
    *end++ = (uint8_t)(name_size + 1);
    end = put_bytes(end, name, name_size);
    *end++ = 2; /* a partition */
    end = put(put(end, partition, 4), 0, 2);
    end = put(put(put(end, next_offset, 8), UINT64_MAX, 8), 0, 8);
    *end++ = 1; /* no errors of records, no message, no tags; twice */
    end = put(end, 0, 3);
    end = put(end, 0, 4);
    *end++ = 0;
    next_offset += be(at + 57, 4);
    put(a->wire, (uint64_t)(end - a->wire) - 4, 4);
    a->to = c;
    a->size = (uint32_t)(end - a->wire);
}

static void take(struct connection *c, const uint8_t *frame, size_t size) {
    if (c->follower >= 0) {
        followed[c->follower]++;
        return;
    }
    uint16_t api = (uint16_t)be(frame + 4, 2), version = (uint16_t)be(frame + 6, 2);
    uint32_t id = (uint32_t)be(frame + 8, 4);
    uint16_t client = (uint16_t)be(frame + 12, 2);
    const uint8_t *at = frame + 14 + (client == 0xffff ? 0 : client);
    if (api == API_VERSIONS) answer_api_versions(c, id, version);
    else if (api == METADATA && version == 1) answer_metadata(c, id, at);
    else if (api == PRODUCE && version == 9) take_produce(c, id, frame, size, at);
    else die("API %d v%d is not served", api, version);
}

/* ---- a turn ---- */

static void receive(struct connection *c) {
    if (c->in.room - c->in.have < READ_AT_ONCE / 4 && c->in.have > FIRST_BUFFER / 2)
        c->in.at = grown(c->in.at, c->in.room += READ_AT_ONCE);
    ssize_t n = recv(c->fd, c->in.at + c->in.have, c->in.room - c->in.have, MSG_DONTWAIT);
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0) {
        forget(c);
        return;
    }
    c->in.have += (size_t)n;
    while (c->in.have - c->taken >= 4) {
        size_t size = (size_t)be(c->in.at + c->taken, 4) + 4;
        if (c->in.have - c->taken < size) {
            /* Grown only while no frame of this turn points into it. */
            if (!c->taken && size > c->in.room) c->in.at = grown(c->in.at, c->in.room = size);
            break;
        }
        take(c, c->in.at + c->taken, size);
        c->taken += size;
    }
}

static void write_all(int fd, struct iovec *parts, size_t count) {
    while (count) {
        ssize_t n = writev(fd, parts, (int)(count < IOV_MAX ? count : IOV_MAX));
        if (n < 0) die("write: %s", strerror(errno));
        while (count && (size_t)n >= parts->iov_len) {
            n -= (ssize_t)parts->iov_len;
            parts++, count--;
        }
        if (n) {
            parts->iov_base = (uint8_t *)parts->iov_base + n;
            parts->iov_len -= (size_t)n;
        }
    }
}

static void settle(void) {
    if (!record_count) return;
    write_all(file, records, record_count);
    for (int i = 0; i < follower_count; i++) {
        struct iovec copy[record_count];
        memcpy(copy, whole, sizeof copy);
        write_all(followers[i]->fd, copy, record_count);
    }
    record_count = 0;
}

static void let_out(void) {
    uint64_t until = next_answer;
    for (int i = 0; i < follower_count; i++)
        if (followed[i] < until) until = followed[i];
    for (; first_answer < until; first_answer++) {
        struct answer *a = &answers[first_answer % answers_room];
        if (a->to->fd >= 0) queue(a->to, a->wire, a->size);
        if (first_answer + 1 == until || answers[(first_answer + 1) % answers_room].to != a->to)
            flush(a->to);
    }
}

static void turn(void) {
    struct epoll_event events[EVENTS];
    int count = epoll_wait(poller, events, EVENTS, -1);
    if (count < 0 && errno != EINTR) die("epoll: %s", strerror(errno));
    for (int i = 0; i < count; i++) {
        struct connection *c = events[i].data.ptr;
        if (c) {
            if (events[i].events & EPOLLOUT) flush(c);
            if (c->fd >= 0 && events[i].events & ~(uint32_t)EPOLLOUT) receive(c);
        } else {
            int fd = accept(listener, NULL, NULL);
            if (fd >= 0) watch(fd, -1);
        }
    }
    settle();
    for (int i = 0; i < count; i++) {
        struct connection *c = events[i].data.ptr;
        if (!c || !c->taken) continue;
        memmove(c->in.at, c->in.at + c->taken, c->in.have -= c->taken);
        c->taken = 0;
    }
    let_out();
    for (int i = 0; i < count; i++)
        if (events[i].data.ptr) flush(events[i].data.ptr);
}

/* ---- set-up ---- */

static struct sockaddr_in loopback(int number) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)number)};
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return at;
}

int main(int argc, char **argv) {
    if (argc < 3 || argc > 3 + FOLLOWERS) die("see the top of limit.c for its arguments");
    port = (uint16_t)atoi(argv[1]);
    file = open(argv[2], O_WRONLY | O_CREAT | O_APPEND, 0644);
    if (file < 0) die("%s: %s", argv[2], strerror(errno));
    poller = epoll_create1(0);
    for (; follower_count < argc - 3; follower_count++) {
        struct sockaddr_in at = loopback(atoi(argv[3 + follower_count]));
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(fd, (struct sockaddr *)&at, sizeof at)) die("no follower: %s", strerror(errno));
        followers[follower_count] = watch(fd, follower_count);
    }
    listener = socket(AF_INET, SOCK_STREAM, 0);
    int on = 1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    struct sockaddr_in here = loopback(port);
    struct epoll_event event = {EPOLLIN, {.ptr = NULL}};
    if (bind(listener, (struct sockaddr *)&here, sizeof here) || listen(listener, 1024) ||
        epoll_ctl(poller, EPOLL_CTL_ADD, listener, &event))
        die("port %d: %s", port, strerror(errno));
    for (;;) turn();
}
