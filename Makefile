# Everything a developer runs, by name. `make` alone prints this help. The scripts are in .ci/; CI runs the same ones.
.DEFAULT_GOAL := help
SHELL := bash

FUZZTIME ?= 30s
COUNT    ?= 6

# where RUNS IT ONLY IF THE FOLDER IS THERE; else says that nothing was run.
where = @if [ -d $(1) ]; then $(2); else echo "make $@: there is no $(1)/ yet; nothing was run"; fi
# status 75 of a script means that it had nothing to check, and has said so.
soft = rc=0; $(1) || rc=$$?; [ $$rc -eq 75 ] || exit $$rc

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' Makefile
	@echo "  variables: FUZZTIME=$(FUZZTIME) COUNT=$(COUNT) (runs of a benchmark)"

.PHONY: check
check: ## before every commit: format, vet, tests (no race detector)
	@.ci/fmt
	go vet ./...
	go test ./...

.PHONY: test
test: ## all tests with the race detector, as CI runs them
	go test -race ./...

.PHONY: lint
lint: ## golangci-lint as pinned in tools/, vet also for darwin and windows
	@.ci/vet darwin windows
	@.ci/lint

.PHONY: fuzz
fuzz: ## every fuzz target for FUZZTIME
	@$(call soft,.ci/fuzz $(FUZZTIME))

.PHONY: sim
sim: ## the seeded simulation of crashes, faults and shutdowns
	$(call where,internal/sim,go test -race -count=1 ./internal/sim/...)

.PHONY: bench
bench: ## benchmarks of bench/, COUNT times, summed up by benchstat
	@tools=$$(.ci/tools) && go -C bench test -run '^$$' -bench . -benchmem -count $(COUNT) ./... | tee /dev/stderr | "$$tools/benchstat" -

.PHONY: e2e
e2e: ## the dashboard in a real browser
	$(call where,dashboard/e2e,go test -count=1 ./dashboard/e2e/...)

.PHONY: interop
interop: ## foreign judges: real clients on localaws, other servers under snssqs
	@.ci/interop

.PHONY: kafka
kafka: ## the Kafka backend on a real broker
	$(call where,kafka/broker,go test -count=1 ./kafka/broker/...)

.PHONY: ci
ci: ## what every change must pass: .ci/run
	@.ci/run

.PHONY: ci-full
ci-full: ## ci, and what takes longer: fuzzing, benchmarks
	@.ci/run --full
