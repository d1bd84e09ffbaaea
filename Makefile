# SPDX-License-Identifier: Apache-2.0
# The face of the project: one verb a line, the logic is in xtask/. More words for a verb go in ARGS.

X := @./xtask/x

.DEFAULT_GOAL := help
PREFIX ?= /usr/local

.PHONY: help demo run install deb image test test-release asan test-long soak conformance ci ci-full nightly affected bench churn lint fmt graph new-feature fuzz doc clean

help: ## List the verbs
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## Route real traffic between two Linux hosts (namespaces) through Ferrovia, and show what happened
	$(X) demo $(ARGS)

run: ## Run the daemon in the foreground with its CLI on this terminal (ARGS='cpu { … }'; '--release …': the build that ships)
	$(X) run $(ARGS)

install: ## Install programs, manual pages, completions for shells, systemd unit and the files for clients of the binary API (PREFIX=/usr/local)
	$(X) install "$(PREFIX)" $(ARGS)

deb: ## Make a package for Debian, target/ferrovia_VERSION_ARCH.deb, of what is built; needs no network (ARGS=--try: install it in a fresh root)
	$(X) deb $(ARGS)

image: ## Make an OCI image of the package, target/ferrovia_VERSION_ARCH.oci.tar, for Docker and Podman (ARGS=--try: start it)
	$(X) image $(ARGS)

test: ## Run every test: unit, property, namespaces, documentation (ARGS='-p ferrovia-wire', ARGS='-E test(ip4)')
	$(X) test $(ARGS)

test-release: ## Test the build that ships: optimised, no debug assertions; buffers, graph, IP, and hosts with its programs
	$(X) test-release $(ARGS)

asan: ## Run the tests of graph, drivers and buffers under AddressSanitizer (ARGS='multicast': by name)
	$(X) asan $(ARGS)

test-long: ## Run the tests that take minutes each, with their progress (ARGS='neighbours': by name)
	$(X) test-long $(ARGS)

soak: ## One hour of all kinds of traffic, changes, clients and restarts (ARGS='--seconds 120', --asan, '--seed 7')
	$(X) soak $(ARGS)

conformance: ## Run tests that VPP publishes and write the table of docs/conformance.md (ARGS='ip4,neighbor', -d DAEMON)
	$(X) conformance $(ARGS)

ci: ## Do what every landing needs: checks of text, clippy and the tests of what is affected (ARGS='--minutes 40': then steps of ci-full in turns)
	$(X) ci $(ARGS)

ci-full: ## Do all that CI does: all tests, what ships, AddressSanitizer, models, soak, bench and fuzz smoke; more than an hour
	$(X) ci-full $(ARGS)

nightly: ## Do what takes hours: long tests, an hour of soak, an hour of fuzz, all benches with their figures
	$(X) nightly $(ARGS)

affected: ## Say what has to be tested again since the last commit that passed, and why (ARGS='--since HEAD~3')
	$(X) affected $(ARGS)

bench: ## Measure clocks per packet in an optimised build (ARGS=--smoke: short, no numbers; lookup, failover, load, learn, host: other things)
	$(X) bench $(ARGS)

churn: ## Change routes at random for ten minutes, with readers, against a model, debug assertions on (ARGS=60: seconds)
	$(X) churn $(ARGS)

lint: ## Check format, clippy, layers, source rules, licences, the code blocks of docs/ and the API documentation
	$(X) lint $(ARGS)

fmt: ## Format all Rust code
	$(X) fmt $(ARGS)

graph: ## Draw the packet graph into docs/graph.dot and docs/graph.svg
	$(X) graph $(ARGS)

new-feature: ## Make a feature that compiles, with one node, one CLI command and one test (NAME=my-feature)
	$(X) new-feature "$(NAME)" $(ARGS)

fuzz: ## Fuzz every parser for a short time from the kept corpus (ARGS='--seconds 600 wire')
	$(X) fuzz $(ARGS)

doc: ## Build the API documentation into target/doc
	$(X) doc $(ARGS)

clean: ## Remove everything that was built
	$(X) clean $(ARGS)
