# Everything a developer runs, by name. `make` alone prints this help. The scripts are in .ci/; CI runs the same ones.
.DEFAULT_GOAL := help
SHELL := bash

FUZZTIME ?= 30s
COUNT    ?= 6
SEEDS    ?= 200
ROUNDS   ?= 5
# N, PKG, RUN, RACE, TAGS: of `make stress`.
N        ?= 20
PKG      ?= ./internal/...
RUN      ?=
RACE     ?= yes
TAGS     ?=
# LEDGER: where `make sim` keeps its count; empty: the user's cache folder. TRACE: where `make sim SEED=n` writes the trace.
LEDGER   ?=
TRACE    ?=

# status 75 of a script means that it had nothing to check, and has said so.
soft = rc=0; $(1) || rc=$$?; [ $$rc -eq 75 ] || exit $$rc

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' Makefile
	@echo "  variables: FUZZTIME=$(FUZZTIME) COUNT=$(COUNT) (runs of a benchmark) ROUNDS=$(ROUNDS) SEEDS=$(SEEDS) SEED= LEDGER= TRACE="

.PHONY: check
check: ## before every commit: format, vet, tests (no race detector)
	@.ci/fmt
	go vet ./...
	go test ./...

.PHONY: fmt
fmt: ## write every Go file as the formatters want it: gofumpt, one import order
	@.ci/fmt -w

.PHONY: test
test: ## all tests with the race detector, as the gate runs them
	@.ci/run --only race,books,acceptance

.PHONY: lint
lint: ## golangci-lint as pinned in tools/, vet also for darwin and windows
	@.ci/vet darwin windows
	@.ci/lint

.PHONY: fuzz
fuzz: ## every fuzz target for FUZZTIME
	@$(call soft,.ci/fuzz $(FUZZTIME))

.PHONY: stress
stress: ## the tests of PKG, N times beside four busy processes; RUN=regexp: these only
	@TAGS=$(TAGS) RUN='$(RUN)' RACE=$(RACE) .ci/stress $(N) $(PKG)

.PHONY: sim
sim: ## SEEDS more worlds of crashes, faults and shutdowns, counted by commit in LEDGER; SEED=n [ORDER=n]: that one again; [SEED=n] ORDERS=n: in other orders
ifdef ORDERS
	go test -count=1 -v -timeout 24h -run '^TestOrders$$' ./internal/sim -sim.orders $(ORDERS) $(addprefix -sim.replay=,$(SEED))
else ifdef SEED
	go test -count=1 -v -timeout 10m -run '^TestReplay$$' ./internal/sim -sim.replay $(SEED) $(addprefix -sim.order=,$(ORDER)) -sim.out '$(TRACE)'
else
	go test -count=1 -v -timeout 24h -run '^TestSeeds$$' ./internal/sim -sim.seeds $(SEEDS) -sim.ledger '$(LEDGER)'
endif

.PHONY: sim-mutants
sim-mutants: ## break the code in several places: the simulation must notice each within SEEDS worlds
	go test -count=1 -v -timeout 60m -run '^TestMutants' ./internal/sim -sim.mutants $(SEEDS)

.PHONY: bench
bench: ## benchmarks of bench/, COUNT times, summed up by benchstat
	@tools=$$(.ci/tools) && go -C bench test -run '^$$' -bench . -benchmem -count $(COUNT) ./... | tee /dev/stderr | "$$tools/benchstat" -

.PHONY: bench-kafka
bench-kafka: ## Kafka's speed beside other consumers, ROUNDS times in turn, on kfake and a real broker
	@ROUNDS=$(ROUNDS) .ci/bench-kafka

.PHONY: bench-sqs
bench-sqs: ## SQS beside other libraries, at round trips of 0 to 50 ms: writes docs/benchmarks.md
	go -C bench test -count=1 -v -timeout 60m -run '^TestReport$$' ./sqs -args -sqs.write ../../docs -sqs.rounds $(ROUNDS)

.PHONY: speed
speed: ## the time limits of localaws, and dispatch beside an earlier commit, as CI checks; run nothing else then
	@.ci/speed

.PHONY: e2e
e2e: ## a real browser: Chromium asks the embedded server as a foreign page would
	@.ci/browser

.PHONY: sbom
sbom: ## the bill of materials, dist/sbom.json; fails for a licence that is not allowed
	@.ci/licences

.PHONY: api
api: ## what has changed in the exported API since the last tag
	@.ci/api

.PHONY: figures
figures: ## how large types, folders and steps are: lowers their ceilings, writes docs/architecture.md
	@.ci/figures -write

.PHONY: interop
interop: ## foreign judges: real clients on localaws, other servers under snssqs
	@.ci/interop

.PHONY: exports
exports: ## the exports of declared channels, judged by the tools that read them
	@.ci/exports

.PHONY: dashboards
dashboards: ## the queries of the Grafana dashboard and the alert rules, on a real Prometheus
	@.ci/dashboards

.PHONY: kafka
kafka: ## the Kafka backend on a real broker, which is started and stopped
	@.ci/kafka

.PHONY: ci
ci: ## the gate, which every change must pass
	@.ci/run

.PHONY: ci-full
ci-full: ## everything: also real brokers, clients of others, large sizes, fuzzing, 1,000 worlds, mutants
	@.ci/run --full
