"""The process: its loop, its disk, its memory, its collector; and HTTP itself."""

import os
import resource
import threading
import time
from collections import Counter

from kafkapy.http.metrics.families import COUNTER, GAUGE, HISTOGRAM, Family, Page
from kafkapy.http.site import Site
from kafkapy.http.watching.certificates import certificates
from kafkapy.server.disk.real_disk import RealDisk

LOOP = Family(
    "kafkapy_loop_delay_seconds", HISTOGRAM,
    "For how long something that is ready waits until the node's loop comes to it.", (),
    "kafka.network:type=RequestMetrics,name=RequestQueueTimeMs,request=*",
)  # fmt: skip
TURNS = Family(
    "kafkapy_turn_seconds", HISTOGRAM,
    "How long turns took: all requests that were there together, written and answered."
    " What comes meanwhile waits for its end.", (),
    "kafka.network:type=RequestMetrics,name=RequestQueueTimeMs,request=*",
)  # fmt: skip
TURN_ENDS = Family(
    "kafkapy_turn_ending_seconds_total", COUNTER,
    "Of that, the one write of what was appended, and sending the answers.", (),
    "kafka.network:type=RequestMetrics,name=ResponseSendTimeMs,request=*",
)  # fmt: skip
TURN_SOCKETS = Family(
    "kafkapy_turn_sockets_total", COUNTER, "Sockets that were ready, of all turns."
)
FLUSHES = Family(
    "kafka_log_flush_seconds", HISTOGRAM, "How long flushes of files took.", (),
    "kafka.log:type=LogFlushStats,name=LogFlushRateAndTimeMs",
)  # fmt: skip
MISSES = Family(
    "kafkapy_page_cache_misses_total", COUNTER,
    "How often a reader had to wait for records that were not in the page cache.",
)  # fmt: skip
MEMORY = Family(
    "process_resident_memory_bytes", GAUGE, "Memory of the process.", (), "java.lang:type=Memory"
)
CPU = Family("process_cpu_seconds_total", COUNTER, "Processor time of the process.", (),
             "java.lang:type=OperatingSystem:ProcessCpuTime")  # fmt: skip
DESCRIPTORS = Family(
    "process_open_fds", GAUGE, "Open file descriptors.", (),
    "java.lang:type=OperatingSystem:OpenFileDescriptorCount",
)  # fmt: skip
MOST_DESCRIPTORS = Family(
    "process_max_fds", GAUGE, "How many there may be.", (),
    "java.lang:type=OperatingSystem:MaxFileDescriptorCount",
)  # fmt: skip
THREADS = Family("kafkapy_threads", GAUGE, "Threads of Python's.", (), "java.lang:type=Threading")
COLLECTIONS = Family(
    "kafkapy_gc_pause_seconds", HISTOGRAM, "How long Python's collector held everything up.",
    ("generation",), "java.lang:type=GarbageCollector,name=*",
)  # fmt: skip
HTTP = Family(
    "kafkapy_http_answers_total", COUNTER,
    "What was answered over HTTP; `other` stands for all methods that no page has.",
    ("method", "status"),
)  # fmt: skip
CERTIFICATES = Family(
    "kafka_certificate_expires_timestamp_seconds", GAUGE, "When a listener's certificate ends.",
    ("listener",),
)  # fmt: skip
ALERTS = Family(
    "kafkapy_alerts", GAUGE, "Alerts by this node's own rules.", ("rule", "severity", "state")
)
FAMILIES = (
    CERTIFICATES, ALERTS, LOOP, TURNS, TURN_ENDS, TURN_SOCKETS, FLUSHES,
    MISSES, MEMORY, CPU, DESCRIPTORS, MOST_DESCRIPTORS, THREADS, COLLECTIONS, HTTP,
)  # fmt: skip


def collect(site: Site, page: Page) -> None:
    probe = site.probe
    page.observe(LOOP, probe.delays)
    turns = site.shell.reactor.counts
    if turns is not None:
        page.observe(TURNS, turns.seconds)
        page.add(TURN_ENDS, turns.ending_seconds)
        page.add(TURN_SOCKETS, turns.sockets)
    disk = site.link.node.disk
    if isinstance(disk, RealDisk):
        page.observe(FLUSHES, disk.flush_seconds)
        page.add(MISSES, disk.cache_misses)
    page.add(MEMORY, resident_bytes())
    page.add(CPU, time.process_time())
    page.add(DESCRIPTORS, _descriptors())
    page.add(MOST_DESCRIPTORS, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
    page.add(THREADS, threading.active_count())
    for generation, pauses in sorted(probe.pauses.items()):
        page.observe(COLLECTIONS, pauses, generation)
    for listener, ends in certificates(site).items():
        page.add(CERTIFICATES, ends, listener)
    alerts = Counter((one.rule.name, one.rule.severity, one.state) for one in site.judge.alerts)
    for told, count in sorted(alerts.items()):
        page.add(ALERTS, count, *told)
    for (method, status), count in sorted(site.answered.items()):
        page.add(HTTP, count, method, status)


def resident_bytes() -> int:
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:  # not Linux: the most there has been
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _descriptors() -> int:
    try:
        return len(os.listdir("/proc/self/fd"))
    except OSError:
        return -1
