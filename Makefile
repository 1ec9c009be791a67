# Every target sets up what it needs. Only python3.11+ must be there; what else a target
# could use (Java and Maven, Go, Node, Docker) it names when it has to leave a part out.
PYTHON ?= python3
# A Python that was asked for (`make test PYTHON=python3.13`) has an environment of its own.
ifneq ($(PYTHON),python3)
VERSION  := -$(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])')
endif
VENV   ?= .venv$(VERSION)
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check --quiet install -c constraints.txt
COMPILED := $(CURDIR)/.compiled$(VERSION)
WORLD  := $(CURDIR)/.compiled-world$(VERSION)
LISTEN ?= 127.0.0.1:9092
DATA   ?= ./data
SEED   ?= 1
TARGET ?= kafkapy
ROUNDS ?= 100
# Of a simulated cluster; without, `make sim` runs a single node.
NODES  ?=
N      ?= 100

.PHONY: help run test unit unit-compiled check format compat compat-cluster differ bench bench-quick \
        bench-publish soak sim sim-many scale crash chaos failover migration \
        containers oracle oracle-start oracle-stop docs parts clean

help:
	@echo "make run            serve on $(LISTEN) with data under $(DATA)"
	@echo "make test           unit tests, then real clients against kafkapy"
	@echo "make check          ruff, mypy --strict, import contracts, references, bandit, pip-audit"
	@echo "make compat         real clients against Apache Kafka and kafkapy; docs/COMPAT.md"
	@echo "make compat-cluster the same with three nodes each, then while these are restarted in turn"
	@echo "make bench          side by side with Apache Kafka (bench-quick: the short form)"
	@echo "make bench-publish  a whole run becomes the committed results, once a release"
	@echo "make soak MINUTES=n steady load for that long: is memory flat?"
	@echo "make sim SEED=n     one seeded run of a simulated node; of a cluster with NODES=5, as a log"
	@echo "make scale          30 simulated brokers with 100,000 partitions: what they cost (docs/SCALE.md)"
	@echo "make sim-many N=n   so many runs of a simulated cluster, from SEED on, on all cores"
	@echo "make crash ROUNDS=n kill -9 under transactions of real clients, judged by checkers"
	@echo "make migration      Apache Kafka's nodes become kafkapy's and theirs again, under load, judged"
	@echo "make upgrade        three nodes become newer ones under load; FROM=path of an older kafkapy"
	@echo "make chaos          three nodes in every kind of trouble under load; MINUTES=n SEED=n TARGET=apache"
	@echo "make failover       five clients while a node of theirs goes; TARGET=kafkapy|apache|both"
	@echo "make spark-batch    Spark reads from kafkapy; also spark-stream, spark-exactly-once, spark-lag,"
	@echo "                    spark-headers ... (spark_examples/README.md); BOOTSTRAP=host:port"
	@echo "make containers     the image and the compose files under a Docker engine, where one answers"
	@echo "make oracle-start   Apache Kafka on 127.0.0.1:19092 (oracle-stop ends it)"
	@echo "make TARGET PYTHON=python3.13   with that Python, in an environment of its own"
	@echo "make parts          what this machine can run, and what it cannot and why"

$(VENV)/.python:
	@$(PYTHON) -c 'import sys; sys.exit("kafkapy needs Python 3.11 or newer; this is " + sys.version.split()[0] + " (set PYTHON=...)" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.run: $(VENV)/.python pyproject.toml constraints.txt
	$(PIP) -e .
	@touch $@

$(VENV)/.dev: $(VENV)/.python pyproject.toml constraints.txt
	$(PIP) -e '.[dev]'
	@touch $@ $(VENV)/.run

run: $(VENV)/.run
	$(BIN)/kafkapy serve --listen $(LISTEN) --data $(DATA)

parts: $(VENV)/.python
	@$(BIN)/python scripts/parts

unit: $(VENV)/.dev
	$(BIN)/python -m pytest tests -n auto --dist loadfile

# The same tests, against kafkapy with its request paths compiled (docs/decisions/0006), but for
# those that look at nothing that is compiled, or run it in a process of its own.
INTERPRETED := http cli bench expressions upgrades test_references.py test_deploy.py
unit-compiled: $(COMPILED)/.made
	KAFKAPY_COMPILED=1 $(BIN)/pytest -o pythonpath="$(COMPILED) ." tests -n auto --dist loadfile \
	  $(addprefix --ignore=tests/,$(INTERPRETED))

$(COMPILED)/.made: $(VENV)/.dev setup.py scripts/compile $(shell find kafkapy -name '*.py')
	$(BIN)/python scripts/compile $(COMPILED)
	@touch $@

test: $(VENV)/.dev
	@$(BIN)/python scripts/parts --prepare
	$(BIN)/python -m pytest tests -n auto --dist loadfile
	@if $(BIN)/python scripts/parts --has compiler; then \
	  $(MAKE) --no-print-directory unit-compiled; fi
	$(BIN)/python -m pytest compat_tests --show-capture=no --target kafkapy -n auto --dist loadgroup -m "not slow"
	@$(MAKE) --no-print-directory spark-test

check: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --cache-dir $(VENV)/.import_linter_cache
	$(BIN)/python scripts/references
	$(BIN)/bandit -q -c pyproject.toml -r kafkapy
	$(BIN)/python scripts/audit

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

compat: $(VENV)/.dev
	@$(BIN)/python scripts/parts --prepare
	@rm -rf .compat/results
	status=0; \
	  $(BIN)/python -m pytest compat_tests --show-capture=no --target both -n auto --dist loadgroup -m "not chaos and not migration" || status=$$?; \
	  $(MAKE) --no-print-directory spark-test TARGET=both || status=$$?; \
	  $(BIN)/python -m compat_tests.report --print; exit $$status

# Apache Kafka's tools and the protocol differ, on three nodes of each; then the same tests as above
# and Spark with three replicas of everything, then while the nodes are restarted in turn. Not run:
# what starts servers of its own, whatever the shared one is.
compat-cluster: $(VENV)/.dev
	@$(BIN)/python scripts/parts --prepare
	status=0; $(BIN)/python -m pytest compat_tests/cluster_tools compat_tests/differ/cluster || status=$$?; \
	  for how in "" --disturbed; do \
	  $(BIN)/python -m pytest $(CLUSTER_TESTS) --show-capture=no --target $(or $(SERVER),both) --nodes 3 $$how \
	    -n auto --dist loadgroup || status=$$?; \
	  $(MAKE) --no-print-directory spark-test TARGET=$(or $(SERVER),both) SPARK_ON="--nodes 3 $$how" || status=$$?; done; \
	  $(BIN)/python -m compat_tests.report --print; exit $$status

CLUSTER_TESTS := $(filter-out compat_tests/differ/ compat_tests/crashes/ compat_tests/chaos/ compat_tests/security/ compat_tests/cluster_tools/ compat_tests/upgrades/,$(wildcard compat_tests/*/))

docs: $(VENV)/.dev
	$(BIN)/python -m compat_tests.report

MINUTES ?= 60

$(VENV)/.bench: $(VENV)/.dev
	$(PIP) -e '.[dev,bench]'
	@touch $@

bench: $(VENV)/.bench
	$(BIN)/python -m bench

bench-quick: $(VENV)/.bench
	$(BIN)/python -m bench --quick

# The committed results are replaced when there is a release (bench/README.md).
bench-publish: $(VENV)/.bench
	$(BIN)/python -m bench --publish

soak: $(VENV)/.bench
	$(BIN)/python -m bench.soak --minutes $(MINUTES)

differ: $(VENV)/.dev
	$(BIN)/python -m pytest compat_tests/differ --target both

sim: $(VENV)/.dev
	$(BIN)/python -m kafkapy.sim --seed $(SEED) $(if $(NODES),--nodes $(NODES))

# Some minutes and 6 GB.
scale: $(VENV)/.dev
	$(BIN)/python -m kafkapy.sim.scale

$(WORLD)/.made: $(VENV)/.dev setup.py scripts/compile $(shell find kafkapy -name '*.py')
	$(BIN)/python scripts/compile --world $(WORLD)
	@touch $@

# With a C compiler nodes and network are compiled: a run takes a third less.
sim-many: $(VENV)/.dev
	@if $(BIN)/python scripts/parts --has compiler; then \
	  $(MAKE) --no-print-directory $(WORLD)/.made; fi
	PYTHONPATH=$(WORLD) $(BIN)/python -P -m kafkapy.sim --nodes $(or $(NODES),5) --jobs $(shell nproc) \
		--seeds $(SEED)-$(shell expr $(SEED) + $(N) - 1)

crash: $(VENV)/.dev
	$(BIN)/python -m compat_tests.crashes --rounds $(ROUNDS) --seed $(SEED)

# About five minutes: three clusters of three or six nodes, there and back.
migration: $(VENV)/.dev
	$(BIN)/python -m pytest compat_tests/test_migration.py

# About a minute. FROM is an older version's kafkapy, in an environment of its own; without it this
# one stands for an older one that knows fewer features.
.PHONY: upgrade
upgrade: $(VENV)/.dev
	@if [ -n "$(FROM)" ]; then $(BIN)/python -m compat_tests.upgrades.rolling --from $(FROM); \
	else $(BIN)/python -m pytest compat_tests/upgrades; fi

# Without MINUTES each kind of trouble once.
chaos: $(VENV)/.dev
	$(BIN)/python -m compat_tests.chaos --seed $(SEED) --target $(TARGET) \
		$(if $(filter command line environment,$(origin MINUTES)),--minutes $(MINUTES))

failover: $(VENV)/.dev
	$(BIN)/python -m pytest compat_tests/chaos -m chaos --target $(TARGET)

# Needs a Docker engine; says so where there is none. Builds the image, which takes minutes.
$(VENV)/.containers: $(VENV)/.dev
	$(PIP) -e '.[dev,containers]'
	@touch $@

containers: $(VENV)/.containers
	$(BIN)/python -m pytest container_tests --timeout 900

# The console in the system's Chromium (console_tests/README.md).
.PHONY: console-test
$(VENV)/.console: $(VENV)/.dev
	$(PIP) -e '.[dev,console]'
	@touch $@

console-test: $(VENV)/.console
	$(BIN)/python -m pytest console_tests --timeout 300

# Schemathesis has an environment of its own; it asks a node by its OpenAPI document.
.PHONY: rest-fuzz
$(VENV)-fuzz/.made: $(VENV)/.dev
	$(PYTHON) -m venv $(VENV)-fuzz
	$(VENV)-fuzz/bin/python -m pip --disable-pip-version-check --quiet install -c constraints.txt schemathesis
	@touch $@

rest-fuzz: $(VENV)-fuzz/.made
	$(BIN)/python scripts/rest-fuzz $(abspath $(VENV)-fuzz/bin/st) $(FUZZ)

# KEDA's scalers and others' exporters, built with Go (exporter_tests/README.md).
.PHONY: exporters
exporters: $(VENV)/.dev
	$(BIN)/python -m pytest exporter_tests --timeout 2000

oracle: $(VENV)/.python
	$(BIN)/python scripts/oracle fetch

oracle-start: oracle
	$(BIN)/python scripts/oracle start

oracle-stop: $(VENV)/.python
	$(BIN)/python scripts/oracle stop

# Spark: PySpark is 400 MB, so it is installed by the targets that need it alone.
SPARK_EXAMPLES := batch stream lag min-partitions max-offsets-per-trigger data-loss headers secured \
                  subscribe-pattern avro
spark-batch:                   MODULE := batch.ranges_to_parquet
spark-stream:                  MODULE := stream.clicks_per_minute
spark-lag:                     MODULE := lag.lag_and_throughput
spark-min-partitions:          MODULE := options.min_partitions
spark-max-offsets-per-trigger: MODULE := options.max_offsets_per_trigger
spark-data-loss:               MODULE := options.data_loss
spark-headers:                 MODULE := options.headers
spark-secured:                 MODULE := options.secured
spark-subscribe-pattern:       MODULE := options.subscribe_pattern
spark-avro:                    MODULE := options.avro_payloads
.PHONY: spark-test spark-exactly-once $(SPARK_EXAMPLES:%=spark-%)

$(VENV)/.spark: $(VENV)/.dev
	$(PIP) -e '.[dev,spark]'
	@touch $@

$(SPARK_EXAMPLES:%=spark-%): $(VENV)/.spark
	@$(BIN)/python -m spark_examples.$(MODULE) $(BOOTSTRAP:%=--bootstrap %)

spark-exactly-once: $(VENV)/.spark
	@$(BIN)/python -m spark_examples.exactly_once.prove --target $(TARGET) $(NODES:%=--nodes %)

spark-test: $(VENV)/.dev
	@if $(BIN)/python scripts/parts --has spark; then \
	  $(MAKE) --no-print-directory $(VENV)/.spark && \
	  $(BIN)/python -m pytest -p compat_tests.conftest spark_examples --show-capture=no --target $(TARGET) $(SPARK_ON); fi

clean:
	rm -rf $(VENV) $(COMPILED) $(WORLD) .compat build *.egg-info
