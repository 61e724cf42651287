# Everything that a person or a script runs here; `make help` lists it.
SHELL := /bin/bash
PREFIX ?= $(HOME)/.local
VERSION := $(shell cat VERSION)
COMMIT := $(shell git rev-parse --short HEAD 2>/dev/null || echo unknown)
PLUGINS := $(patsubst plugins/%/main.go,%,$(filter-out plugins/internal/%,$(wildcard plugins/*/main.go)))
TOOLS := $(CURDIR)/.tools
AGENT_BROWSER := $(TOOLS)/agent-browser
AGENT_BROWSER_VERSION := 0.41.2
FUZZTIME ?= 20s
SOAK ?= 10m
SEED ?= 0
# grpcnotrace leaves out web pages of gRPC, and with them a sixth of each program.
GOFLAGS_BUILD := -trimpath -tags grpcnotrace -ldflags "-s -w -X github.com/vant-run/vant/internal/release.version=$(VERSION) -X github.com/vant-run/vant/internal/release.commit=$(COMMIT)"

.PHONY: all help build lint check test test-deps fuzz generate generate-check bench-host bench-browser bench-peers soak demo install uninstall clean

all: build lint check ## build, lint and fast tests

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

build: ## bin/vant, bin/vantd, bin/plugins/
	@mkdir -p bin/plugins
	CGO_ENABLED=0 go build $(GOFLAGS_BUILD) -o bin/ ./cmd/vant ./cmd/vantd
	@for p in $(PLUGINS); do echo "go build -o bin/plugins/vant-plugin-$$p"; \
		CGO_ENABLED=0 go build $(GOFLAGS_BUILD) -o bin/plugins/vant-plugin-$$p ./plugins/$$p || exit 1; done

lint: $(TOOLS)/golangci-lint ## golangci-lint, for Linux and for macOS
	$(TOOLS)/golangci-lint run ./...
	GOOS=darwin go vet ./...

check: ## fast tests, without -race: all but those that run whole hosts, plugins and Chromium
	go test $$(go list ./... | grep -vE '/(cmd/vant|cmd/vantd|docs|host/internal/launch|sdk/plugintest|sdk/python|plugins/browser|plugins/browser/(browsertest|inject|chromium))$$')

test: test-deps build ## all tests, with the race detector; installs what they need
	@tools/test.sh

test-deps:
	@tools/test-deps.sh

fuzz: ## every fuzz target for FUZZTIME (20s)
	@tools/fuzz.sh $(FUZZTIME)

generate: $(TOOLS)/buf $(TOOLS)/protoc-gen-go $(TOOLS)/protoc-gen-go-grpc ## generated code from the protos
	cd proto && PATH="$(TOOLS):$$PATH" buf lint && PATH="$(TOOLS):$$PATH" buf generate

generate-check: generate ## fails when generated code is not what the protos say
	@git diff --exit-code -- proto || { echo "run make generate and commit the result"; exit 1; }

bench-host: build ## host benches: ours and the bare thing, interleaved
	go run ./tools/bench/host

bench-browser: build ## browser benches: our methods and the bare CDP calls, interleaved
	go run ./tools/bench/browser

bench-peers: build $(AGENT_BROWSER)/$(AGENT_BROWSER_VERSION) ## browser benches against agent-browser, which npm installs below .tools
	go run ./tools/bench/browser -peers

soak: ## 32 clients and faults for SOAK (10m) on a private host; SEED repeats one
	go run ./tools/soak -for $(SOAK) -seed $(SEED)

demo: ## set up (Chromium too), build, start a private host, fill a form in a browser, stop it
	@tools/demo.sh

install: build ## PREFIX (default ~/.local): bin/ and lib/vant/plugins/
	@tools/install.sh "$(PREFIX)"

uninstall: ## what install put there
	@tools/install.sh --remove "$(PREFIX)"

clean: ## build output
	rm -rf bin

$(TOOLS)/golangci-lint: tools/lint/go.mod
	cd tools/lint && go build -o $(TOOLS)/ tool

$(TOOLS)/buf $(TOOLS)/protoc-gen-go-grpc &: tools/protogen/go.mod
	cd tools/protogen && go build -o $(TOOLS)/ tool

$(TOOLS)/protoc-gen-go: go.mod
	go build -o $@ google.golang.org/protobuf/cmd/protoc-gen-go

# Without its install scripts: they would download a browser, and it gets ours.
$(AGENT_BROWSER)/$(AGENT_BROWSER_VERSION):
	npm install --prefix $(AGENT_BROWSER) --ignore-scripts --no-audit --no-fund agent-browser@$(AGENT_BROWSER_VERSION)
	chmod +x $(AGENT_BROWSER)/node_modules/agent-browser/bin/agent-browser-*
	touch $@
