# One command, one gate. `make help` lists the targets; continuous integration calls only these.
#
# A fresh machine needs Rust (cargo), Python 3.11 or newer and a C compiler. Everything else is fetched into
# .venv and target/ by the target that needs it, once.

PYTHON ?= python3
CARGO  ?= cargo
VENV   ?= .venv
# Processes of pytest.
WORKERS ?= 2
BIN    := $(VENV)/bin
# crates/py has no tests of its own; with it selected, cargo resolves the same features as `make build`
# and compiles nothing twice.
RUST   := --workspace

# Oracle results and recorded links are not ours to ship. Tests that need them are skipped where they are absent.
SHARED ?= ../shared
ifneq ($(wildcard $(SHARED)/oracles),)
export ACKCLOCK_ORACLES ?= $(abspath $(SHARED)/oracles)
endif
ifneq ($(wildcard $(SHARED)/data),)
export ACKCLOCK_DATA ?= $(abspath $(SHARED)/data)
endif

RUST_SOURCES := Cargo.toml $(wildcard Cargo.lock) $(shell find crates \( -path crates/kernel-cc -o -path crates/quic-peer \) -prune -o \( -name '*.rs' -o -name Cargo.toml \) -print)

.DEFAULT_GOAL := help
.PHONY: help build lab demo loop test test-slow findings check digest format bench bench-runs sweep-estimates bench-peers accuracy analyze-accuracy host-accuracy host-findings bench-live soak measure-accuracy attack fuzz mutants kernel kernel-cc quic-peer ack-path limits congestion-control autorate reports conformance dialogues dialogues-record fit-accuracy fit-buckets fit-measure fit-foreign coverage advise-accuracy advise-recipes advise-regret advise-verify readings crude papers guides figures docs lock clean distclean virtual-kernel uml qdisc-counts host-processing nist-mac papers-today radio-mac rmcat quic-accuracy apps-accuracy apps-chromium hunt-accuracy hunt-ourselves reference

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' Makefile

build: $(VENV)/.built ## an optimised .venv/bin/ackclock

# Where the target cannot be added (no network, or a Rust without rustup), the page is not built.
WASM := wasm32-unknown-unknown
lab: build ## the lab page, static files, in target/lab and for `ackclock lab`
	@rustup target add $(WASM) >/dev/null 2>&1; if test -d "$$(rustc --print sysroot)/lib/rustlib/$(WASM)"; then \
	  mkdir -p target/lab-modules && for module in engine form capture; do \
	    $(CARGO) build --quiet --profile lab --target $(WASM) --package ackclock-web --no-default-features --features $$module && \
	    cp target/$(WASM)/lab/ackclock_web.wasm target/lab-modules/$$module.wasm || exit 1; \
	  done && $(BIN)/python tools/build_lab.py target/lab-modules target/lab python/ackclock/lab/static; \
	else echo "make lab: skipped, Rust's target $(WASM) cannot be added here"; fi

demo: build ## compare TCP variants on a packaged link, simulate a scenario, write a report: about a minute
	@PATH="$(abspath $(BIN)):$$PATH" sh tools/demo.sh

loop: build ## captures of a slow line -> fit -> advise -> verified with the kernel's TCP in the emulator: about a minute
	@PATH="$(abspath $(BIN)):$$PATH" sh tools/loop.sh

# The gate draws the same cases every time; test-slow draws new ones, and prints what fails.
# Tests of real traffic and real time run one after another, when nothing else runs.
test: build ## every test that takes seconds: cargo test, then pytest
	PROPTEST_RNG_SEED=1 $(CARGO) test --release $(RUST)
	$(BIN)/python -m pytest -m "not slow and not realtime" -n $(WORKERS) --dist worksteal
	$(BIN)/python -m pytest -m "not slow and realtime"

test-slow: build ## all tests, those that take minutes too, and property tests on cases never drawn before
	$(CARGO) test $(RUST) -- --include-ignored
	ACKCLOCK_FRESH=1 $(BIN)/python -m pytest

findings: build ## reported defects: id, result and tests of each (SLOW=1: slow tests, too)
	$(BIN)/python tools/findings.py $(if $(SLOW),--slow)

check: build ## formatting, lints, types, the engine's stubs, words and linked symbols
	$(CARGO) fmt --all --check
	$(CARGO) fmt --manifest-path crates/kernel-cc/Cargo.toml --check
	$(CARGO) fmt --manifest-path crates/quic-peer/Cargo.toml --check
	PYO3_PYTHON="$(abspath $(BIN)/python)" $(CARGO) clippy --release --workspace --all-targets -- -D warnings
	@CARGO="$(CARGO)" sh tools/kernel-cc.sh target/kernel-cc
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest ackclock._native --mypy-config-file pyproject.toml --ignore-disjoint-bases --allowlist tools/stubtest-allowlist.txt
	$(BIN)/python tools/document_types.py --check
	$(BIN)/python tools/retired_words.py
	$(BIN)/python tools/symbols.py README.md CONTRIBUTING.md docs/*.md docs/*/*.md docs/*/*/*.md

# Of another commit: python3 tools/size.py COMMIT. Each json.loads by name: --list
size: ## lines of Python, untyped mappings, json.loads, floors of imports at HEAD; net lines since BASE=COMMIT
	@$(PYTHON) tools/size.py $(if $(BASE),--base $(BASE))

# Some jobs only: make digest BASE=COMMIT ONLY='link/*'. Worktrees may share a store: DIGESTS=DIR.
digest: build ## compare tables, captures and JSON of all examples, links, papers with those of commit BASE
	@test -n "$(BASE)" || { echo "make digest requires BASE=COMMIT" >&2; exit 2; }
	$(BIN)/python tools/digest.py $(BASE) --workers $(WORKERS) $(if $(ONLY),--only '$(ONLY)') $(if $(DIGESTS),--store '$(DIGESTS)')

format: $(VENV)/.locked ## put Rust and Python sources in form
	$(CARGO) fmt --all
	$(CARGO) fmt --manifest-path crates/kernel-cc/Cargo.toml
	$(CARGO) fmt --manifest-path crates/quic-peer/Cargo.toml
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

bench: build ## packets per CPU second, instructions, memory, ratio to ns-2 where it is installed; README's commands; then bench-runs
	$(CARGO) build --quiet --release --workspace --bin ackclock-bench --bin ackclock-traffic
	@status=0; \
	$(PYTHON) -m benches.bench --binary target/release/ackclock-bench --command $(BIN)/ackclock || status=1; \
	$(BIN)/python -m benches.commands || status=1; \
	$(BIN)/python -m benches.runs --binary target/release/ackclock-bench || status=1; exit $$status

bench-runs: build ## many runs: CPU of a run in a sweep over the native run's, wall time, files, `compare`, Dask, memory: six minutes
	$(CARGO) build --quiet --release --workspace --bin ackclock-bench
	$(BIN)/python -m benches.runs --binary target/release/ackclock-bench

sweep-estimates: build ## `sweep --estimate` beside what eleven kinds of sweep take, into docs/evidence/sweep-estimates.md: five minutes on a quiet machine
	$(BIN)/python -m studies.sweeps.estimates docs/evidence/sweep-estimates.md

bench-peers: ## our 802.16 and 802.11b beside ns-3's, where it is installed
	$(CARGO) build --quiet --release --workspace --bin ackclock-bench
	$(PYTHON) -m benches.peers.ns3_speed --binary target/release/ackclock-bench

# One part to the terminal: .venv/bin/python -m studies.oracles.page stored|aqm|closed-forms
accuracy: build ## our figures beside those of ns-2, the papers, ns-3 and closed forms, into docs/evidence/accuracy.md; a part whose oracle is missing stays as it is, with a line
	@$(CARGO) build --quiet --release --workspace --bin ackclock-bench
	$(PYTHON) tools/tour.py docs/evidence/accuracy.md

# One part to the terminal: make analyze-accuracy PART=verdicts. With grids of a new seed: FRESH=1
analyze-accuracy: build ## the analyzer's causes, losses, buffers and verdicts against the simulator's truth, into docs/evidence/analyze-accuracy.md: five minutes on two cores
	POLARS_MAX_THREADS=1 $(BIN)/python -m studies.analyzer.page $(if $(PART),--only $(PART),docs/evidence/analyze-accuracy.md) $(if $(FRESH),--fresh)

# Of captures that exist: .venv/bin/python -m studies.analyzer.host_accuracy FOLDER
# Debian: apt-get install iperf3 tcpdump iproute2 ethtool. tshark and tcptrace stand beside where installed.
host-accuracy: build ## the analyzer beside the kernel's counters, on 12 new captures of this machine with offloads on and on the shared ones: four minutes
	$(BIN)/python -m studies.analyzer.host_captures runs/host-captures
	$(BIN)/python -m studies.analyzer.host_accuracy runs/host-captures $(addprefix $(ACKCLOCK_ORACLES)/,$(if $(ACKCLOCK_ORACLES),captures-host captures))

# In parts: make host-findings KEPT=runs/host-findings.jsonl MINUTES=20. Another draw: SEED=2
host-findings: build ## each finding of `analyze` where it is true and in the nearest case where it is not, by the kernel's sockets and simulated, into docs/evidence/host-findings.md: 45 minutes
	$(BIN)/python -m studies.findings.page $(if $(SEED),--seed $(SEED)) $(if $(KEPT),--kept $(KEPT)) $(if $(MINUTES),--minutes $(MINUTES)) docs/evidence/host-findings.md

bench-live: build ## what is older than the emulator of its accuracy, bounds and speed, into docs/evidence/emulator-measured.md: 15 minutes
	$(CARGO) build --quiet --release --workspace --bin ackclock-traffic
	$(BIN)/python -m studies.emulator.page docs/evidence/emulator-measured.md --kept runs/bound.jsonl $(if $(AGAIN),--again)

# The late hosts in parts of at most an hour: make measure-accuracy KEPT=runs/late-hosts.jsonl MINUTES=40, again until all are done.
measure-accuracy: build ## `measure` over emulated links into docs/evidence/measure-accuracy.md (five minutes on a quiet machine), its queue inference over drawn links into docs/evidence/measure-queues.md (two), over idle and busy hosts into docs/evidence/measure-late-hosts.md (an hour)
	$(BIN)/python -m studies.measurement.page docs/evidence/measure-accuracy.md
	$(BIN)/python -m studies.measurement.queues_page docs/evidence/measure-queues.md
	$(BIN)/python -m studies.measurement.late_hosts $(if $(KEPT),--kept $(KEPT)) $(if $(MINUTES),--minutes $(MINUTES)) docs/evidence/measure-late-hosts.md

attack: ## load a far end on loopback beyond its limits, with and without the token: a minute
	ACKCLOCK_ATTACK=1 $(CARGO) test --release --package ackclock-measure attack -- --ignored --nocapture --test-threads=1

# In the profile of test-slow: overflows and debug assertions are findings. The same inputs again: SEED=N FIRST=N
fuzz: build ## mutated captures and packetdrill scripts, link files and scenarios, then damaged run folders, MINUTES=5 each, with the inputs that fail in runs/fuzz
	$(CARGO) run --quiet --package ackclock-fuzz -- run $(or $(MINUTES),5) runs/fuzz $(if $(SEED),--seed $(SEED)) \
	  $(if $(FIRST),--first $(FIRST)) crates/trace/tests/corpus tests/packetdrill examples $(ACKCLOCK_ORACLES)
	$(BIN)/python -m studies.input_files.fuzz $(or $(MINUTES),5) runs/fuzz $(if $(SEED),--seed $(SEED)) $(if $(FIRST),--first $(FIRST))
	$(BIN)/python -m studies.run_folders.fuzz $(or $(MINUTES),5) runs/fuzz $(if $(SEED),--seed $(SEED)) $(if $(FIRST),--first $(FIRST))

# In parts: make mutants SETS=recovery PART=1/8 MINUTES=60, again until all are done. One place: MATCH=REGEX
mutants: build ## mutants of classify, join, recovery, queue and cc (SETS), in a copy of the tree; survivors have a reason in tools/mutants-survivors.txt
	@CARGO="$(CARGO)" $(BIN)/python tools/mutants.py $(SETS) --part $(or $(PART),1/1) \
	  --minutes $(or $(MINUTES),60) --kept $(or $(KEPT),runs/mutants.jsonl) $(if $(MATCH),--match '$(MATCH)')

soak: build ## 25 emulations at once for 40 minutes (SOAK=SECONDS), with their memory and descriptors each minute
	$(BIN)/python -m studies.emulator.soak $(or $(SOAK),2400)

host-processing: build ## from a packet's arrival to this kernel's ACK, on an idle machine, as root, into docs/evidence/host-processing.md: two minutes
	$(BIN)/python -m studies.hosts.processing_time docs/evidence/host-processing.md

# In parts: make kernel KERNEL="--only wide --minutes 4". Transfers by the present emulator are kept in runs/kernel.jsonl
kernel: build ## the running Linux's TCP over emulated links beside the simulator's, into docs/evidence/kernel-vs-simulator.md: ten minutes and more
	$(BIN)/python -m studies.kernel.page --kept runs/kernel.jsonl $(KERNEL) docs/evidence/kernel-vs-simulator.md
	$(BIN)/python -m studies.kernel.page --kernel-cc --kept runs/kernel.jsonl $(KERNEL) docs/evidence/kernel-vs-simulator.md
	$(BIN)/python -m studies.kernel.page --conditions --kept runs/kernel.jsonl $(KERNEL) docs/evidence/kernel-vs-simulator.md

kernel-cc: build ## vegas, veno, westwood+, bic and biad for the running Linux (eBPF, needs clang, bpftool and BTF), into .venv/bin
	@CARGO="$(CARGO)" sh tools/kernel-cc.sh target/kernel-cc $(BIN)

# At most an hour at once: MINUTES=30; runs are kept in KEPT=runs/virtual-kernel.jsonl. After a change of the engine:
# make virtual-kernel VIRTUAL_KERNEL=--simulator
virtual-kernel: build ## Linux from Debian's source, in virtual time, beside the simulator, into studies/virtual_kernel and docs/evidence/virtual-kernel.md: an hour of CPU once
	$(BIN)/python -m studies.virtual_kernel.page --kept $(or $(KEPT),runs/virtual-kernel.jsonl) --minutes $(or $(MINUTES),60) \
	  $(VIRTUAL_KERNEL) docs/evidence/virtual-kernel.md

qdisc-counts: ## what Linux counts for packets and which a policer drops, in user-mode Linux, into studies/qdisc_counts: three minutes
	python3 -m studies.qdisc_counts.measure $(PART) || [ $$? = 77 ]

uml: ## a script as root in Debian's user-mode Linux, in real time: make uml RUN='tc qdisc add dev lo root cake; tc qdisc show'
	@RUN="$${RUN:-uname -a}"; python3 -m studies.virtual_kernel.uml "$$RUN" || [ $$? = 77 ]

# Needs recordings, which ACKCLOCK_DATA names.
autorate: build ## a shaper that follows its line beside fixed ones, on recorded lines, into docs/evidence/autorate.md: a minute
	$(BIN)/python -m studies.autorate.page docs/evidence/autorate.md

quic-peer: build ## noq with rustls over real sockets, for quic-accuracy, into .venv/bin
	$(CARGO) clippy --quiet --release --locked --manifest-path crates/quic-peer/Cargo.toml --target-dir target/quic-peer -- -D warnings
	$(CARGO) build --quiet --release --locked --manifest-path crates/quic-peer/Cargo.toml --target-dir target/quic-peer
	install -m 755 target/quic-peer/release/ackclock-quic-peer $(BIN)/ackclock-quic-peer

# With real sockets: make quic-peer before. In parts: make quic-accuracy KEPT=runs/quic.jsonl MINUTES=9, again until all are done.
quic-accuracy: build ## QUIC (noq 1.4) beside TCP with the same controls, and its ACKs over slow returns, into docs/evidence/quic-accuracy.md: ten minutes, KEPT=, MINUTES=
	$(BIN)/python -m studies.quic.page $(if $(KEPT),--kept $(KEPT)) $(if $(MINUTES),--minutes $(MINUTES)) docs/evidence/quic-accuracy.md

rmcat: build ## conferences in the cases of RFC 8867, into docs/evidence/rmcat.md: a minute
	$(BIN)/python -m studies.rmcat.page docs/evidence/rmcat.md

nist-mac: build ## WiMAX with NIST's rules of requests beside NIST's module for ns-2, into docs/evidence/nist-mac.md: five minutes
	$(BIN)/python -m studies.nist_mac.page docs/evidence/nist-mac.md

radio-mac: build ## packet radio beside its authors' MAC for ns-2, into docs/evidence/radio-mac.md: half a minute
	$(BIN)/python -m studies.radio_mac.page docs/evidence/radio-mac.md

# Rows of another seed: .venv/bin/python -m studies.limits.page --seed 7
limits: build ## how often the limit that a run reports is its limit, into docs/evidence/limits.md: a minute on two cores
	$(BIN)/python -m studies.limits.page docs/evidence/limits.md

# In parts: make congestion-control KEPT=runs/senders.jsonl MINUTES=9, again until all are done; SEED=N draws those of seeds N and N + 1.
# With captures of the running kernel: python -m studies.analyzer.kernel_senders FOLDER, then KERNEL=FOLDER.
congestion-control: build ## which congestion control a sender uses, as `analyze` states it, into docs/evidence/congestion-control.md: ten minutes
	$(BIN)/python -m studies.analyzer.congestion_control $(if $(SEED),--seed $(SEED)) $(if $(KEPT),--kept $(KEPT)) $(if $(MINUTES),--minutes $(MINUTES)) \
	  $(if $(KERNEL),--kernel $(KERNEL)) docs/evidence/congestion-control.md

reports: build ## public reports about links and TCP with a known answer, answered, into docs/evidence/reports.md: a minute
	$(BIN)/python -m studies.reports.page docs/evidence/reports.md

# ACKCLOCK_PACKETDRILL=FOLDER[:FOLDER] names the public suites; without it the page keeps its part on them.
conformance: build ## packetdrill scripts, ours and the public suites', against linux-6, into docs/evidence/conformance.md: seconds
	$(BIN)/python -m studies.conformance.page docs/evidence/conformance.md

# Another folder, to the terminal: make dialogues DIALOGUES=FOLDER. After a change of the engine: RENEW=1
# raises the floors that the gate holds, and lists in causes.toml exactly the scripts that fail.
dialogues: build ## dialogues recorded from a running kernel against linux-6, into docs/evidence/dialogues.md: seconds
	$(BIN)/python -m studies.dialogues.page $(if $(DIALOGUES),--list --folder $(DIALOGUES),docs/evidence/dialogues.md $(if $(RENEW),--renew))

# All categories without CATEGORY, KEPT scripts of each at most. PACKETDRILL=PATH plays each by that binary, too.
dialogues-record: build ## record dialogues with the running kernel for MINUTES=10 into OUT=runs/dialogues, SEEDS=1-20; needs namespaces
	$(if $(PACKETDRILL),PACKETDRILL='$(PACKETDRILL)') $(BIN)/python -m studies.dialogues.generator.command --out $(or $(OUT),runs/dialogues) \
	  --seeds $(or $(SEEDS),1-20) --minutes $(or $(MINUTES),10) $(if $(CATEGORY),--category $(CATEGORY)) $(if $(KEPT),--kept $(KEPT))

# Some kinds only: make pictures ONLY=compare,fit
.PHONY: pictures
pictures: build ## every kind of report in three widths and both colour schemes, into runs/pictures; fails on console messages and overflow
	$(BIN)/python -m studies.pictures.render runs/pictures $(if $(ONLY),--only $(ONLY))

ack-path: build ## ACK techniques on today's links, into docs/evidence/ack-path-runs.md: five minutes on two cores
	$(BIN)/python -m studies.ack_path.page docs/evidence/ack-path-runs.md

# In parts: .venv/bin/python -m studies.fit.page --part 1/2 --minutes 9 --kept runs/fit-accuracy.jsonl
# Other links: .venv/bin/python -m studies.fit.page --links 6 --seed 7
fit-accuracy: build ## `fit` beside links of known parameters and what it predicts of them, into docs/evidence/fit-accuracy.md: a quarter of an hour
	$(BIN)/python -m studies.fit.page $(if $(KEPT),--kept $(KEPT)) docs/evidence/fit-accuracy.md

fit-buckets: build ## `fit` to policers and shapers, and to links that look like one, into docs/evidence/fit-buckets.md: ten minutes
	$(BIN)/python -m studies.fit.buckets docs/evidence/fit-buckets.md

# A campaign is of one SEED=; several seeds with one KEPT= make one page. BEFORE=: kept fits of another version.
coverage: build ## intervals of `fit` beside the truth, by ten kinds of input, into docs/evidence/coverage.md: an hour, MINUTES=, KEPT=, SEED=, LINKS=6,12, INPUTS=
	$(BIN)/python -m studies.fit.coverage $(if $(SEED),--seed $(SEED)) $(if $(KEPT),--kept $(KEPT)) $(if $(MINUTES),--minutes $(MINUTES)) $(if $(BEFORE),--before $(BEFORE)) $(if $(LINKS),--only $(LINKS)) $(if $(INPUTS),--inputs "$(INPUTS)") docs/evidence/coverage.md

# Real time: repeat what a busy machine made invalid. Outcomes are kept: KEPT=runs/fit-measure.jsonl
fit-measure: build ## `fit` to folders of `measure` through the emulator, into docs/evidence/fit-measure.md: a quarter of an hour
	$(BIN)/python -m studies.fit.from_measure $(if $(KEPT),--kept $(KEPT)) docs/evidence/fit-measure.md

# Debian: apt-get install libns3-dev g++ iperf3 tcpdump iproute2 ethtool. Links whose program is absent are left out.
fit-foreign: build ## `fit` to links that this engine did not make (kernel, kernel in virtual time, ns-3, recordings), into docs/evidence/fit-foreign.md: half an hour
	$(BIN)/python -m studies.fit.foreign.page --kept runs/fit-foreign docs/evidence/fit-foreign.md

# In parts: make advise-accuracy KEPT=runs/advise.jsonl MINUTES=9, again until all are done.
advise-accuracy: build ## `advise` beside the full grid of its changes, for drawn situations, into docs/evidence/advise-accuracy.md: half an hour on one core
	$(BIN)/python -m studies.advise.page $(if $(KEPT),--kept $(KEPT)) $(if $(MINUTES),--minutes $(MINUTES)) docs/evidence/advise-accuracy.md

# In parts: KEPT and MINUTES, as above; SEED=N draws other situations.
advise-recipes: build ## 60 printed recipes, typed on models of the machines and simulated, into docs/evidence/advise-recipes.md: half an hour on one core
	$(BIN)/python -m studies.advise.recipes $(if $(SEED),--seed $(SEED)) $(if $(KEPT),--kept $(KEPT)) $(if $(MINUTES),--minutes $(MINUTES)) docs/evidence/advise-recipes.md

# In parts: make apps-accuracy KEPT=runs/apps.jsonl MINUTES=9, again until all are done.
apps-accuracy: build ## calls, pages and games of real programs over the kernel beside the simulator's, into docs/evidence/apps-accuracy.md: 35 minutes, real time, KEPT=, MINUTES=, JOBS=; needs namespaces
	$(BIN)/python -m studies.apps.page $(if $(KEPT),--kept $(KEPT)) $(if $(MINUTES),--minutes $(MINUTES)) $(if $(JOBS),--jobs $(JOBS)) docs/evidence/apps-accuracy.md

apps-chromium: build ## a page of 50 objects in headless Chromium over five links beside the workload of its HAR, into docs/evidence/apps-chromium.md: five minutes, real time, KEPT=; needs namespaces and Chromium
	$(BIN)/python -m studies.apps.chromium $(if $(KEPT),--kept $(KEPT)) docs/evidence/apps-chromium.md

# Two campaigns of 20 situations: SEED=51203, then SEED=51204 with the same KEPT; the page has both.
advise-regret: build ## first advices beside a grid that is not the advisor's, and what they do to others, into docs/evidence/advise-regret.md: an hour on one core
	$(BIN)/python -m studies.advise.regret $(if $(SEED),--seed $(SEED)) $(if $(KEPT),--kept $(KEPT)) $(if $(MINUTES),--minutes $(MINUTES)) docs/evidence/advise-regret.md

# In parts: KEPT and MINUTES, as above.
advise-verify: build ## twenty advices beside the gain of the running kernel's TCP over the emulated link, into docs/evidence/advise-verify.md: 25 minutes, real time; KEPT= is taken up
	$(BIN)/python -m studies.advise.verification $(if $(KEPT),--kept $(KEPT)) $(if $(MINUTES),--minutes $(MINUTES)) docs/evidence/advise-verify.md

figures: build ## the drawings of the concepts from runs of the engine, into docs/figures: seconds
	$(BIN)/python -m studies.concepts.figures docs/figures

reference: build ## the parts of docs that come from the program: keys, commands, findings, words
	PYTHONPATH=tools $(BIN)/python tools/reference.py

# The output that a page shows is compared; UPDATE=1 renews it. In a bare environment: WHEEL=dist/X.whl
guides: build ## run the commands of the guides in empty folders, with their times: minutes
	$(BIN)/python tools/guides.py $(if $(UPDATE),--update) $(if $(WHEEL),--wheel $(WHEEL)) $(GUIDES)

# -W: a warning is an error. -n: so is a reference without a target. No network is used.
docs: $(VENV)/.docs build ## the site, into target/site: half a minute
	$(BIN)/sphinx-build --builder html -E -W --keep-going -n --quiet -d target/site-doctrees docs target/site
	@if test -d target/lab; then rm -rf target/site/lab && cp -R target/lab target/site/lab; fi

.PHONY: wheel wheel-test cross audit
wheel: $(VENV)/.locked lab ## dist/: the wheel (profile dist, lowest manylinux tag that its symbols allow) and the sdist
	rm -rf dist
	$(BIN)/maturin build --quiet --locked --profile dist --out dist
	$(BIN)/maturin sdist --out dist >/dev/null
	@ls -l dist

wheel-test: $(VENV)/.locked ## install dist/*.whl in a bare environment without a compiler, run every command; build the sdist
	$(BIN)/python tools/try_wheel.py dist $(if $(NO_SDIST),--no-sdist)

# The simulator and the analyzer, and the Python module without live traffic. A target that rustup cannot add is skipped.
CROSS ?= x86_64-apple-darwin aarch64-apple-darwin x86_64-pc-windows-gnu x86_64-pc-windows-msvc
PURE  := core pcap sim trace diagnose fit packetdrill py

cross: ## compile what needs no Linux for macOS and Windows (cargo check; CROSS=TARGETS)
	@CARGO="$(CARGO)" sh tools/cross.sh "$(PURE)" $(CROSS)

audit: $(VENV)/.locked ## known vulnerabilities and licences of the dependencies, where the data can be had
	@CARGO="$(CARGO)" sh tools/audit.sh $(BIN)/python

# One paper, one seed: .venv/bin/python -m studies.papers.draw runs/papers --only wibro --quick
papers: build ## every figure of the five papers as SVG, with reports, into runs/papers: half an hour on two cores
	$(BIN)/python -m studies.papers.draw runs/papers

# In parts: make papers-today MINUTES=9, again until all are done.
papers-today: build ## what survives of the five papers on two links of today, into docs/evidence/papers-today.md: half an hour on two cores
	$(BIN)/python -m studies.papers.today $(if $(MINUTES),--minutes $(MINUTES)) docs/evidence/papers-today.md

# A part to the terminal: .venv/bin/python -m studies.papers.page --only asymmetry --seeds 3
readings: build ## other readings of the papers by their claims, into docs/evidence/readings.md: half an hour on two cores
	$(BIN)/python -m studies.papers.page docs/evidence/readings.md

crude: build ## the papers' holding claims in crude models of their links (crude.csv of each paper); MINUTES=10 ends with status 3, and the same command continues
	$(BIN)/python -m studies.papers.crude $(if $(MINUTES),--minutes $(MINUTES)) $(if $(KEPT),--kept $(KEPT))

# In parts: make hunt-accuracy KEPT=runs/hunt.jsonl MINUTES=9, again until all are done.
hunt-accuracy: build ## links on which controls are known to break, found by `hunt`, into docs/evidence/hunt.md: ten minutes, KEPT=, MINUTES=
	$(BIN)/python -m studies.hunt.page $(if $(KEPT),--kept $(KEPT)) $(if $(MINUTES),--minutes $(MINUTES)) docs/evidence/hunt.md

# Again after an interruption: it continues. One campaign alone: ONLY=kernel, slow_path, one_worker or truth.
hunt-ourselves: build ## cases in which ackclock differs from the kernel or from itself, found by `hunt`, into docs/evidence/hunt-ourselves.md: 80 minutes, KEPT=, MINUTES= each
	$(CARGO) build --release --quiet -p ackclock-sim --example both_paths --features slow-path
	$(BIN)/python -m studies.hunt.ourselves $(if $(KEPT),--kept $(KEPT)) $(if $(MINUTES),--minutes $(MINUTES)) \
	  $(if $(ONLY),--only $(ONLY)) docs/evidence/hunt-ourselves.md

lock: ## pin the newest versions that pyproject.toml allows (needs uv)
	uv pip compile pyproject.toml --universal --python-version 3.11 --extra plot --extra report --group dev \
	  --upgrade --generate-hashes --no-annotate --no-emit-index-url --no-emit-find-links \
	  --custom-compile-command "make lock" --output-file requirements.lock
	uv pip compile pyproject.toml --universal --python-version 3.11 --extra plot --group docs \
	  --constraint requirements.lock --generate-hashes --no-annotate --no-emit-index-url --no-emit-find-links \
	  --custom-compile-command "make lock" --output-file requirements-docs.lock

clean: ## remove what was built, but not .venv
	$(CARGO) clean
	rm -rf runs bench-out .mypy_cache .ruff_cache .pytest_cache .hypothesis $(VENV)/.built
	rm -f python/ackclock/_native*.so $(BIN)/ackclock-kernel-cc

distclean: clean ## remove .venv too
	rm -rf $(VENV)

$(VENV)/.locked: requirements.lock tools/bootstrap.py
	$(PYTHON) tools/bootstrap.py --venv $(VENV)
	@touch $@

$(VENV)/.docs: requirements-docs.lock $(VENV)/.locked
	$(PYTHON) tools/bootstrap.py --venv $(VENV) --lock requirements-docs.lock
	@touch $@

# Editable: changes of Python sources need no build.
$(VENV)/.built: $(VENV)/.locked pyproject.toml $(RUST_SOURCES)
	PIP_QUIET=1 VIRTUAL_ENV="$(abspath $(VENV))" $(BIN)/maturin develop --quiet
	@touch $@
