# vnfbench. `make help` lists the targets.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

CACHE ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/vnfbench
TOOLS := $(CACHE)/tools
BIN := $(CURDIR)/bin
LAB := $(BIN)/lab

# renovate: datasource=go depName=sigs.k8s.io/controller-tools
CONTROLLER_GEN := $(TOOLS)/controller-gen-v0.23.0
# renovate: datasource=go depName=github.com/elastic/crd-ref-docs
CRD_REF_DOCS := $(TOOLS)/crd-ref-docs-v0.3.0
# renovate: datasource=go depName=sigs.k8s.io/kustomize/kustomize/v5
KUSTOMIZE := $(TOOLS)/kustomize-v5.8.2
# renovate: datasource=go depName=helm.sh/helm/v3
HELM := $(TOOLS)/helm-v3.22.0
# renovate: datasource=go depName=helm.sh/helm/v4
HELM_4 := $(TOOLS)/helm4-v4.3.2
HELM_UNITTEST := $(TOOLS)/helm-unittest-v1.1.2
# renovate: datasource=go depName=github.com/norwoodj/helm-docs
HELM_DOCS := $(TOOLS)/helm-docs-v1.14.2
# renovate: datasource=go depName=github.com/yannh/kubeconform
KUBECONFORM := $(TOOLS)/kubeconform-v0.8.0
KUBE_SCHEMAS := $(CACHE)/kube-schemas-1.37.0
# renovate: datasource=go depName=github.com/google/go-containerregistry
CRANE := $(TOOLS)/crane-v0.22.1
# renovate: datasource=go depName=github.com/anchore/syft
SYFT := $(TOOLS)/syft-v1.57.1
# renovate: datasource=go depName=github.com/sigstore/cosign/v3
COSIGN := $(TOOLS)/cosign-v3.1.3
# renovate: datasource=go depName=golang.org/x/vuln
GOVULNCHECK := $(TOOLS)/govulncheck-v1.9.0
# renovate: datasource=go depName=github.com/golangci/golangci-lint/v2
GOLANGCI_LINT := $(TOOLS)/golangci-lint-v2.15.0
TERRAFORM_DOCS := $(TOOLS)/terraform-docs-v0.20.0
# renovate: datasource=go depName=github.com/terraform-linters/tflint
TFLINT := $(TOOLS)/tflint-v0.64.0
TOFU := $(TOOLS)/tofu-v1.12.6
MATCHBOX := $(TOOLS)/matchbox-v0.11.0
MATCHBOX_PROVIDER := $(TOOLS)/terraform-provider-matchbox-v0.5.4
PROXMOX_PROVIDER := $(TOOLS)/terraform-provider-proxmox-v0.111.1
# renovate: datasource=go depName=github.com/rhysd/actionlint
ACTIONLINT := $(TOOLS)/actionlint-v1.7.12

# Binaries are static, so that their images need nothing else, and free of
# paths, so that equal sources give equal images.
GO_BUILD := CGO_ENABLED=0 go build -trimpath -buildvcs=false
GO_FILES := $(shell find operator -name '*.go' -o -name '*.o' -o -name 'go.*' -o -path '*/manifests/*.yaml' | sort)
LAB_FILES := $(shell find test/lab -type f | sort)

# What the image of the network function holds, SOURCE:DESTINATION; the guest's
# initial file system is made of the same list, so that pod and VM are equal.
VNF_IMAGE_FILES := $(BIN)/vnf:/usr/local/bin/vnf
# The neighbor's: stress-ng is from Debian's files next to it.
NEIGHBOR_IMAGE_FILES := $(BIN)/neighbor:/usr/local/bin/neighbor

# The images that every installation needs.
IMAGES := manager measurer vnf endpoint neighbor results
# Those that virtual machines boot from, for clusters with KubeVirt.
GUEST_IMAGES := vnf-guest neighbor-guest
# Where `make release` puts a release.
DIST ?= $(CURDIR)/dist
# The registry with its organization, such as ghcr.io/example, that images and charts are pushed to. No other line names either.
REGISTRY ?=
# Who logs in there, by `make login`.
USERNAME ?=
# The base of the images that `make test-containerfile` builds; a Debian that it makes when empty.
BASE ?=
# The key that signs what `make publish` pushes; without a key the CI system vouches for who signed.
COSIGN_KEY ?=

NAMESPACE ?= vnfbench-system
# Which study `make study` measures, a folder of config/studies; AGAIN=1 measures again what was measured.
STUDY ?=
SIZE ?=
AGAIN ?=
# Where `make demo` measures: in the lab, or in the cluster of kubectl's current context (current). Then the nodes get the images from REGISTRY, or by LOAD,
# a command that takes an image archive; kind, k3d and minikube need neither. MULTUS is a manifest of Multus, and KUBECTL the command kubectl.
CLUSTER ?= lab
LOAD ?=
MULTUS ?=
KUBECTL ?= kubectl
# The scripts get them as they are, with quotes.
export CLUSTER LOAD REGISTRY MULTUS KUBECTL
# KUBEVIRT=1 gives the lab virtual machines: make lab-up KUBEVIRT=1.
KUBEVIRT ?=
# NODES=2 gives the lab a second node: make lab-up NODES=2; 1 removes it, and without it the lab keeps the nodes that it has.
NODES ?=
# The older version of `make e2e-upgrade`: a tag or commit; the last one that matters when empty.
REV ?=
# How long `make fuzz` runs each target, and a pattern for their names.
FUZZTIME ?= 1m
FUZZ ?=
# How many manifests `make fuzz-manifests` makes, and the seed of it and of `make campaign`: a random one when empty.
MANIFESTS ?= 20000
SEED ?=
# How many faults `make campaign` makes, a pattern for their names, and how much faster than time `make soak` is.
FAULTS ?= 100
FAULT ?=
SPEED ?= 100
# How many seconds `make e2e-soak` measures.
SOAK ?= 3600
# What `make e2e-regression` measures: receiveRate when empty, or throughput.
MEASURE ?=
# Which tests of test/e2e `make e2e-kubevirt` runs.
KUBEVIRT_TESTS ?= KubeVirt
# Which tests of test/e2e `make e2e-nodes` runs: a pattern for their names.
NODES_TESTS ?= ^TestNodes
# HARDWARE=1 gives the lab an emulated machine whose network cards have virtual functions: make lab-up HARDWARE=1.
HARDWARE ?=
# Which tests of test/e2e `make e2e-hardware` runs: a pattern for their names. TestHardwareVirtualMachine needs KubeVirt, which takes long to build.
HARDWARE_TESTS ?= Hardware
# With which older commit `make bench-driver` compares the XDP driver: none when empty.
OLD ?=
# Not empty: `make bench-driver` times all frames that the driver sends as fast as possible, and not a part of them, as drivers before ADR 0069 do.
TIME_ALL ?=
# How many devices of each class `make bench-search` draws.
SEEDS ?= 40
# How many devices of each class `make bench-statistics` draws, and how many repeats a run has.
DEVICES ?= 1000
REPEATS ?= 5
# How many pairs of groups of each class `make bench-statistics` compares.
GROUPS ?= 200
# How many series of each kind `make bench-regression` judges, and how many the other methods.
SERIES ?= 1000
PEERS ?= 300
# How many whole suites of each kind `make bench-regression` judges.
SUITES ?= 20
# The noise that `make bench-regression` simulates, by the beginning of its name, such as "drift"; empty for all shapes.
SHAPE ?=
# How many documents `make bench-results` makes, one table column each.
DOCUMENTS ?= 100,1000,10000
# What `make bench-scale` measures: how many queued and finished runs, and how many cells that suites have together, one table column each. A cell has 100 points.
PARTS ?= runs,growth,soak,planning,judging,listing
RUNS ?= 10,100,1000
CELLS ?= 10,100,1000

##@ Start here
.PHONY: help demo demo-down demo-vm study test e2e e2e-kubevirt e2e-nodes e2e-hardware e2e-flux e2e-argocd e2e-upgrade e2e-suite-interrupted e2e-regression e2e-soak e2e-namespaced
help: ## List the targets.
	@awk 'BEGIN {FS = ":.*##"} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-zA-Z0-9_-]+:.*##/ {printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: ## Bring up the lab, install the operator, measure a router, show the result. CLUSTER=current: in the cluster of kubectl's current context.
	@HELM=$(HELM) test/scripts/demo.sh

demo-down: ## Remove what `make demo` made: the lab. CLUSTER=current: what it made in the cluster of kubectl's current context.
	@HELM=$(HELM) test/scripts/demo-down.sh

demo-vm: ## Bring up the lab with KubeVirt, measure a router as a pod and in two virtual machines, show them side by side.
	@test/scripts/demo-vm.sh

study: ## Measure the study STUDY of config/studies in the lab, and write its report into bin/; continues where it was interrupted. AGAIN=1: measure everything again. SIZE: another folder of the study than lab.
	@STUDY='$(STUDY)' AGAIN='$(AGAIN)' SIZE='$(SIZE)' test/scripts/study.sh

# The parts of `make test`, in their order.
TEST_PARTS := test-go test-lab-units test-argocd test-browser test-archive test-trex test-chart test-monitoring test-terraform docs-site test-docs-site verify
test: prerequisites ## Run every test that needs no cluster, also after one that failed, and print a table of the parts, their times and results.
	@MAKE='$(MAKE)' test/scripts/parts.sh $(TEST_PARTS)

e2e: prerequisites install ## Run the end-to-end tests in the lab, after the chart's own check (helm test).
	@KUBECONFIG=$$($(LAB) kubeconfig) $(HELM) test vnfbench --namespace $(NAMESPACE) --hide-notes
	@cd test/lab && VNFBENCH_LAB=$(LAB) go test -count=1 -timeout 30m -v ./e2e
	@cd test/e2e && KUBECONFIG=$$($(LAB) kubeconfig) LAB=$(LAB) PATH=$(BIN):$$PATH go test -count=1 -timeout 60m -v .

e2e-kubevirt: $(LAB) ## Run the tests that need virtual machines, in a lab with KubeVirt.
	@LAB=$(LAB) BIN=$(BIN) TESTS='$(KUBEVIRT_TESTS)' MAKE='$(MAKE)' test/scripts/e2e-extended.sh kubevirt

e2e-nodes: $(LAB) $(HELM) ## Run the tests that need two nodes, in a lab with a second one: placement, images, the loss of a node, an operator on each.
	@LAB=$(LAB) BIN=$(BIN) HELM=$(HELM) NAMESPACE=$(NAMESPACE) TESTS='$(NODES_TESTS)' MAKE='$(MAKE)' test/scripts/e2e-nodes.sh

e2e-hardware: $(LAB) ## Run the tests that need network cards with virtual functions, in a lab with an emulated machine, and with KubeVirt, unless HARDWARE_TESTS has no virtual machine. TREX_TARBALL and TREX_SHA256: with TRex too.
	@LAB=$(LAB) BIN=$(BIN) TESTS='$(HARDWARE_TESTS)' MAKE='$(MAKE)' TREX_TARBALL='$(TREX_TARBALL)' TREX_SHA256='$(TREX_SHA256)' test/scripts/e2e-extended.sh hardware

E2E_GITOPS = LAB=$(LAB) BIN=$(BIN) HELM=$(HELM) KUSTOMIZE=$(KUSTOMIZE) IMAGES='$(IMAGES)' MAKE='$(MAKE)' test/scripts/e2e-gitops.sh
e2e-flux: $(LAB) $(KUSTOMIZE) ## Let Flux, built from its Go modules, follow a repository with config/gitops in the lab; replaces an operator that is installed there.
	@$(E2E_GITOPS) flux

e2e-argocd: $(LAB) $(HELM) $(KUSTOMIZE) ## Let Argo CD's controller, built from its Go module, follow a repository with config/gitops in the lab; replaces an operator that is installed there.
	@$(E2E_GITOPS) argocd

e2e-upgrade: $(LAB) $(HELM) ## Install an older version (REV, a commit) in the lab, upgrade it in the middle of a run, remove it; deletes every run there.
	@LAB=$(LAB) BIN=$(BIN) HELM=$(HELM) REV='$(REV)' MAKE='$(MAKE)' test/scripts/e2e-upgrade.sh

e2e-suite-interrupted: prerequisites install ## Measure 36 times with a suite in the lab, kill the operator, the node's daemons and the node meanwhile; print a table of what happened.
	@$(LONG_E2E) go test -count=1 -timeout 95m -v -run '^TestSuiteIsInterrupted$$' .

e2e-regression: prerequisites install ## Make 30 executions of a suite in the lab, the last 10 about 5 % slower, and see what is found; MEASURE=throughput: by a search instead of the receive rate.
	@$(LONG_E2E) MEASURE='$(MEASURE)' go test -count=1 -timeout 85m -v -run '^TestRegressionInTheLab$$' .

e2e-soak: prerequisites install ## Measure for SOAK (3600) seconds in the lab; print memory of the manager and the measurer every minute, and the figures.
	@$(LONG_E2E) SOAK='$(SOAK)' go test -count=1 -timeout 26h -v -run '^TestSoakInTheLab$$' .

e2e-namespaced: prerequisites install ## Install the operator in the lab for some namespaces alone, delete one and take one out of the list while runs measure, and install it for all again.
	@helm=$$(mktemp -d) && trap 'rm -rf "$$helm"' EXIT && ln -s $(HELM) "$$helm/helm" && \
	  export PATH="$$helm:$$PATH" && $(LONG_E2E) go test -count=1 -timeout 60m -v -run '^TestNamespacedMode$$' .

# What a test of test/e2e needs that is not in make e2e, because it takes long.
LONG_E2E = cd test/e2e && KUBECONFIG=$$($(LAB) kubeconfig) LAB=$(LAB) PATH=$(BIN):$$PATH VNFBENCH_E2E_LONG=1

##@ Lab
.PHONY: lab-up lab-down lab-status lab-shell lab-kubeconfig
lab-up: $(LAB) ## Start the cluster of one node (again), building what is not in the cache. NODES=2: with a second node. KUBEVIRT=1: with virtual machines. HARDWARE=1: with a machine that has virtual functions.
	@$(LAB) up $(if $(filter 1,$(KUBEVIRT)),--kubevirt) $(if $(NODES),--nodes $(NODES)) $(if $(filter 1,$(HARDWARE)),--hardware)

lab-down: $(LAB) ## Stop the cluster and remove all of it but the cache.
	@$(LAB) down

lab-status: $(LAB) ## Say whether the cluster runs.
	@$(LAB) status

lab-shell: $(LAB) ## Open a shell in the node.
	@$(LAB) shell

lab-kubeconfig: $(LAB) ## Print the path of the lab's kubeconfig.
	@$(LAB) kubeconfig

$(LAB): $(LAB_FILES)
	@test/scripts/prerequisites.sh go
	@mkdir -p $(BIN)
	cd test/lab && $(GO_BUILD) -o $@ .

##@ Build
.PHONY: build images guest-image trex-image push push-guest push-trex release release-notes login publish install uninstall plugin
build: $(BIN)/manager $(BIN)/measurer $(BIN)/vnf $(BIN)/endpoint $(BIN)/neighbor $(BIN)/results $(BIN)/kubectl-vnfbench ## Build the project's binaries into bin/.

plugin: $(BIN)/kubectl-vnfbench $(BIN)/kubectl_complete-vnfbench ## Build the kubectl plugin and its completion into bin/.

$(BIN)/kubectl_complete-vnfbench: operator/cmd/kubectl-vnfbench/kubectl_complete-vnfbench
	@mkdir -p $(BIN)
	install -m 0755 $< $@

$(BIN)/manager $(BIN)/measurer $(BIN)/vnf $(BIN)/endpoint $(BIN)/neighbor $(BIN)/results $(BIN)/kubectl-vnfbench: $(BIN)/%: $(GO_FILES)
	@test/scripts/prerequisites.sh go
	@mkdir -p $(BIN)
	cd operator && $(GO_BUILD) -ldflags '-s -w' -o $@ ./cmd/$*

images: $(LAB) build ## Build the image archives into bin/images.
	@test/scripts/prerequisites.sh iperf stress
	@mkdir -p $(BIN)/images
	@test/scripts/program-files.sh iperf3 > $(BIN)/iperf3.files
	@test/scripts/program-files.sh stress-ng > $(BIN)/stress-ng.files
	@tag=$$(test/scripts/image-tag.sh) && echo "image tag $$tag" && { \
	$(LAB) image --tag localhost/vnfbench/manager:$$tag --out $(BIN)/images/manager.tar --entrypoint '["/usr/local/bin/manager"]' --user 65532:65532 $(BIN)/manager:/usr/local/bin/manager && \
	$(LAB) image --tag localhost/vnfbench/measurer:$$tag --out $(BIN)/images/measurer.tar --entrypoint '["/usr/local/bin/measurer"]' --user 0:0 $(BIN)/measurer:/usr/local/bin/measurer && \
	$(LAB) image --tag localhost/vnfbench/vnf:$$tag --out $(BIN)/images/vnf.tar --entrypoint '["/usr/local/bin/vnf"]' --user 0:0 $(VNF_IMAGE_FILES) && \
	$(LAB) image --tag localhost/vnfbench/endpoint:$$tag --out $(BIN)/images/endpoint.tar --entrypoint '["/usr/local/bin/endpoint"]' --user 0:0 $(BIN)/endpoint:/usr/local/bin/endpoint $$(cat $(BIN)/iperf3.files) && \
	$(LAB) image --tag localhost/vnfbench/neighbor:$$tag --out $(BIN)/images/neighbor.tar --entrypoint '["/usr/local/bin/neighbor"]' --user 65532:65532 $(NEIGHBOR_IMAGE_FILES) $$(cat $(BIN)/stress-ng.files) && \
	$(LAB) image --tag localhost/vnfbench/results:$$tag --out $(BIN)/images/results.tar --entrypoint '["/usr/local/bin/results"]' --user 65532:65532 $(BIN)/results:/usr/local/bin/results; } >/dev/null && \
	$(LAB) images $(foreach name,$(IMAGES),$(BIN)/images/$(name).tar)

guest-image: images ## Build the archives of the reference guest and of the neighbor's, for KubeVirt, and their files into bin/guest and bin/neighbor-guest.
	@test/scripts/prerequisites.sh guest
	@PATH=$$PATH:/usr/sbin test/scripts/program-files.sh mke2fs > $(BIN)/mke2fs.files
	$(LAB) guest --tag localhost/vnfbench/vnf-guest:$$(test/scripts/image-tag.sh) --out $(BIN)/images/vnf-guest.tar --dir $(BIN)/guest $(VNF_IMAGE_FILES)
	@echo "lab guest --init neighbor ..." >&2; $(LAB) guest --init neighbor --tag localhost/vnfbench/neighbor-guest:$$(test/scripts/image-tag.sh) --out $(BIN)/images/neighbor-guest.tar --dir $(BIN)/neighbor-guest \
	  $(NEIGHBOR_IMAGE_FILES) $$(cat $(BIN)/stress-ng.files $(BIN)/mke2fs.files)

push: images $(CRANE) ## Push the images to REGISTRY/vnfbench, and print values of the chart that name them.
	@test -n "$(REGISTRY)" || { echo "REGISTRY is not set: make push REGISTRY=registry.example.com/lab" >&2; exit 1; }
	@CRANE=$(CRANE) test/scripts/push.sh $(REGISTRY) $(foreach name,$(IMAGES),$(BIN)/images/$(name).tar)

push-guest: guest-image $(CRANE) ## Push the reference guest and the neighbor's to REGISTRY/vnfbench, and print values of the chart that name them.
	@test -n "$(REGISTRY)" || { echo "REGISTRY is not set: make push-guest REGISTRY=registry.example.com/lab" >&2; exit 1; }
	@CRANE=$(CRANE) test/scripts/push.sh $(REGISTRY) $(foreach name,$(GUEST_IMAGES),$(BIN)/images/$(name).tar)

release: $(LAB) $(HELM) $(KUSTOMIZE) $(SYFT) ## Make a release, VERSION=x.y.z, into dist/: images, chart, manifests, plugin, bills of materials, checksums.
	@test/scripts/prerequisites.sh go release
	@LAB=$(LAB) HELM=$(HELM) KUSTOMIZE=$(KUSTOMIZE) SYFT=$(SYFT) DIST=$(DIST) test/scripts/release.sh '$(VERSION)'

release-notes: ## Print what CHANGELOG.md says of VERSION.
	@test/scripts/release-notes.sh '$(VERSION)'

login: $(CRANE) ## Log in to the registry of REGISTRY as USERNAME, with the password on the standard input.
	@$(CRANE) auth login '$(firstword $(subst /, ,$(REGISTRY)))' --username '$(USERNAME)' --password-stdin

publish: $(CRANE) $(HELM) $(COSIGN) ## Push the release of DIST to REGISTRY, VERSION=x.y.z, images and chart; sign each by its digest, attest its origin and its bill of materials.
	@test/scripts/prerequisites.sh go release
	@CRANE=$(CRANE) HELM=$(HELM) COSIGN=$(COSIGN) DIST='$(DIST)' COSIGN_KEY='$(COSIGN_KEY)' test/scripts/publish.sh '$(VERSION)' '$(REGISTRY)'

trex-image: $(LAB) $(BIN)/measurer ## Build the image with TRex into bin/images, of a release that you bring: TREX_TARBALL=v3.08.tar.gz TREX_SHA256=...
	@LAB=$(LAB) BIN=$(BIN) TREX_TARBALL='$(TREX_TARBALL)' TREX_SHA256='$(TREX_SHA256)' test/scripts/trex-image.sh

push-trex: $(CRANE) ## Push what `make trex-image` has built to REGISTRY/vnfbench.
	@test -n "$(REGISTRY)" || { echo "REGISTRY is not set: make push-trex REGISTRY=registry.example.com/lab" >&2; exit 1; }
	@test -e $(BIN)/images/trex.tar || { echo "there is no $(BIN)/images/trex.tar: run make trex-image first" >&2; exit 1; }
	@CRANE=$(CRANE) test/scripts/push.sh $(REGISTRY) $(BIN)/images/trex.tar >/dev/null

install: lab-up images $(if $(filter 1,$(KUBEVIRT)),guest-image) $(HELM) ## Install the chart into the lab, with images built from this tree. KUBEVIRT=1: with the guests'.
	@$(LAB) load $(foreach name,$(IMAGES) $(if $(filter 1,$(KUBEVIRT)),$(GUEST_IMAGES)),$(BIN)/images/$(name).tar)
	@LAB=$(LAB) test/scripts/archive-volume.sh
	@# The kinds may be there without a release: `make e2e-argocd` leaves Argo CD's.
	@export KUBECONFIG=$$($(LAB) kubeconfig); tag=$$(test/scripts/image-tag.sh); \
	$(HELM) upgrade --install vnfbench charts/vnfbench --namespace $(NAMESPACE) --create-namespace --take-ownership \
	  --set-string image.tag=$$tag --set image.registry=localhost --set results.enabled=true --set results.archive.persistence.storageClass=- --wait --timeout 3m >/dev/null && \
	echo "vnfbench $$tag is installed in namespace $(NAMESPACE)"

uninstall: $(HELM) ## Remove the chart from the lab; CRDs and results stay.
	@KUBECONFIG=$$($(LAB) kubeconfig) $(HELM) uninstall vnfbench --namespace $(NAMESPACE) --wait

##@ Test
.PHONY: prerequisites test-go fuzz fuzz-manifests soak campaign scan test-lab-units test-argocd test-browser screenshots test-archive test-chart test-monitoring test-terraform test-terraform-addons tofu test-guest test-trex test-release test-containerfile test-arm64 lint lint-ci outdated bench-driver bench-search bench-statistics bench-regression bench-admission bench-scale bench-results trex-record
prerequisites: ## Check what the tests need, and install Debian packages that are missing.
	@test/scripts/prerequisites.sh go debian

test-go: $(LAB) ## Unit tests, kernel tests in network namespaces, controllers against a real API server.
	@assets=$$($(LAB) assets) && KUBEBUILDER_ASSETS=$$assets test/scripts/test-go.sh

fuzz: ## Fuzz everything that reads what comes from outside, FUZZTIME (1m) for each target; FUZZ=name: only those that match.
	@test/scripts/prerequisites.sh go
	@FUZZTIME='$(FUZZTIME)' FUZZ='$(FUZZ)' test/scripts/fuzz.sh

fuzz-manifests: $(LAB) ## Send MANIFESTS (20000) manifests that are made from the CRDs' schemas to a real API server, valid and invalid ones; SEED=n: those of an earlier test.
	@assets=$$($(LAB) assets) && cd operator && KUBEBUILDER_ASSETS=$$assets VNFBENCH_MANIFESTS='$(MANIFESTS)' VNFBENCH_SEED='$(SEED)' go test -count=1 -timeout 20m -v -run TestGeneratedManifests ./api/v1alpha1

test-lab-units: ## Unit tests of the lab, of the scripts of the demo in an existing cluster and of `make e2e-hardware`, of what runs the commands of the documentation, and of what the end-to-end tests work out.
	@cd test/lab && go vet ./... && go test -count=1 $$(go list ./... | grep -v /e2e)
	@cd test/lab/sriov && ../../scripts/again.sh go list -deps -test ./... >/dev/null && go vet ./... && go test -count=1 ./...
	@cd test/e2e && go test -count=1 ./guide ./matrix ./regression ./scripts

test-argocd: ## Ask Argo CD's own code about the health of runs and Testbeds, by the scripts of config/gitops.
	@cd test/argocd && ../scripts/again.sh go mod download && go test -count=1 ./...

test-archive: ## Store documents in a real S3 server on loopback, stop it, and give it wrong credentials.
	@cd test/archive && ../scripts/again.sh go mod download && go vet ./... && go test -count=1 ./...

test-browser: ## Open the pages of example results in headless Chromium, at the width of a desktop and of a phone.
	@test/scripts/prerequisites.sh go browser && test/scripts/browser.sh

screenshots: $(BIN)/kubectl-vnfbench ## Write the pictures in docs/images; with DOCUMENT=run.json.zst those of that run instead of a simulated one.
	@test/scripts/prerequisites.sh go browser && PLUGIN=$(BIN)/kubectl-vnfbench DOCUMENT='$(DOCUMENT)' SCREENSHOTS=$(CURDIR)/docs/images test/scripts/browser.sh

test-chart: $(HELM) $(HELM_4) $(HELM_UNITTEST) $(KUSTOMIZE) $(KUBECONFORM) $(BIN)/kubectl-vnfbench ## Lint, test and render the chart and the kustomize bases, compare both, and check them by Kubernetes' schemas.
	@test/scripts/kube-schemas.sh $(KUBE_SCHEMAS)
	@HELM=$(HELM) HELM_4=$(HELM_4) HELM_UNITTEST=$(HELM_UNITTEST) KUSTOMIZE=$(KUSTOMIZE) KUBECONFORM=$(KUBECONFORM) KUBE_SCHEMAS=$(KUBE_SCHEMAS) PLUGIN=$(BIN)/kubectl-vnfbench test/scripts/chart.sh

test-monitoring: $(HELM) ## Check alerts, dashboard and ServiceMonitor by the code of Prometheus, Grafana's schema and the Prometheus operator's types.
	@cd test/monitoring && ../scripts/again.sh go mod download && go vet ./... && HELM=$(HELM) go test -count=1 ./...

test-terraform: ## Test and lint the Terraform modules, with Terraform and with OpenTofu, and apply that of bare machines to a real Matchbox and a root to a fake of Proxmox' API; says which of them, or tflint, is not there to do it.
	@tflint=$(TFLINT); test/scripts/install-tool.sh $$tflint github.com/terraform-linters/tflint@$${tflint##*-} || { tflint=; echo 'test-terraform: NOT RUN with tflint, which could not be built: the reason is above'; }; \
	matchbox=$(MATCHBOX) provider=$(MATCHBOX_PROVIDER); $(MAKE) -s --no-print-directory $$matchbox $$provider || { matchbox= provider=; echo 'test-terraform: NOT RUN with Matchbox, which could not be built: the reason is above'; }; \
	pve=$(PROXMOX_PROVIDER); { $(MAKE) -s --no-print-directory $$pve && fakepve=$$(test/scripts/python-tools.sh fakepve test/proxmox/requirements.txt --only-binary :all: --require-hashes)/python; } || { pve= fakepve=; echo 'test-terraform: NOT RUN with the provider of Proxmox, which could not be built, or without fakepve: the reason is above'; }; \
	cd test/terraform && go vet ./... && ran= && tofu=$(TOFU) && if [ ! -x "$$tofu" ]; then tofu=tofu; fi && \
	for program in $${VNFBENCH_TERRAFORM:-terraform $$tofu}; do \
	  if ! command -v "$$program" >/dev/null; then echo "test-terraform: NOT RUN with $$program, which is not installed (make tofu builds OpenTofu)"; continue; fi; \
	  echo "test-terraform: with $$("$$program" version 2>/dev/null | grep -m 1 ' v')"; ran=1; \
	  VNFBENCH_TERRAFORM=$$program VNFBENCH_TFLINT=$$tflint VNFBENCH_MATCHBOX=$$matchbox VNFBENCH_MATCHBOX_PROVIDER=$$provider VNFBENCH_PROXMOX_PROVIDER=$$pve VNFBENCH_FAKEPVE=$$fakepve go test -count=1 -timeout 40m -v ./... || exit 1; \
	done; [ -n "$$ran" ] || go test -count=1 -v ./...

test-terraform-addons: $(LAB) ## Let Terraform install the operator into the lab, change it and remove it, by the module addons and by both roots, with the real providers of Helm and Kubernetes. KUBEVIRT=1: KubeVirt too.
	@LAB=$(LAB) BIN=$(BIN) IMAGES='$(IMAGES)' KUBEVIRT='$(KUBEVIRT)' MAKE='$(MAKE)' MATCHBOX=$(MATCHBOX) MATCHBOX_PROVIDER=$(MATCHBOX_PROVIDER) PROXMOX_PROVIDER=$(PROXMOX_PROVIDER) test/scripts/terraform-addons.sh

tofu: ## Build OpenTofu into the cache, for test-terraform; takes some minutes.
	@test/scripts/install-tofu.sh $(TOFU) $(subst tofu-,,$(notdir $(TOFU)))

test-guest: guest-image ## Boot the guests in QEMU: the reference guest from its kernel and its disk, forwarding packets; the neighbor's under each load.
	@test/scripts/prerequisites.sh go qemu
	cd test/lab && VNFBENCH_GUEST=$(BIN)/guest go test -count=1 -v -run TestCards ./internal/guest
	cd operator && VNFBENCH_GUEST=$(BIN)/guest VNFBENCH_NEIGHBOR_GUEST=$(BIN)/neighbor-guest go test -count=1 -p 1 -timeout 30m -v -run 'TestBoot|TestLabels' ./internal/guest/...

test-release: $(LAB) $(HELM) $(KUSTOMIZE) $(SYFT) $(CRANE) $(COSIGN) ## Make two releases and compare them; sign, verify and push one, to a registry on loopback.
	@test/scripts/prerequisites.sh go release
	@cd test/e2e && VNFBENCH_RELEASE_TEST=1 LAB=$(LAB) HELM=$(HELM) KUSTOMIZE=$(KUSTOMIZE) SYFT=$(SYFT) CRANE=$(CRANE) COSIGN=$(COSIGN) go test -count=1 -timeout 40m -v ./release

test-containerfile: $(LAB) ## Build each image by operator/images/Containerfile with buildah and by the scripts of a release, and compare every file. BASE=image: on that base, and not on a Debian that it makes.
	@test/scripts/prerequisites.sh go release containers
	@cd test/e2e && VNFBENCH_CONTAINERFILE_TEST=1 BASE='$(BASE)' LAB=$(LAB) go test -count=1 -timeout 60m -v -run '^TestContainerfile$$' ./release

test-arm64: ## Build everything for arm64 (GOARCH), and run the tests of packages without kernel, cluster and clock under emulation.
	@test/scripts/prerequisites.sh go bpf emulation
	@test/scripts/test-arm64.sh

test-trex: ## Run the TRex drivers, and what starts their server, with a real one, in network namespaces: make test-trex TREX=/path/_t-rex-64.
	@if [ -z "$(TREX)" ]; then echo "NOT RUN: TREX names no TRex server; run make test-trex TREX=/opt/trex/_t-rex-64 as root"; else \
	  test/scripts/prerequisites.sh go debian && cd operator && TREX=$(abspath $(TREX)) go test -count=1 -p 1 -timeout 20m -v -run Real ./internal/traffic/trex/... ./cmd/measurer; fi

soak: ## Measure runs of one hour and of eight with the manager, a real API server and simulated devices, SPEED (100) times as fast; print memory, writes and sizes.
	@$(MAKE) --no-print-directory bench-scale PARTS=soak

campaign: prerequisites install ## Strike runs in the lab with FAULTS (100) faults at random moments, chosen by SEED, of those that match FAULT; print a table of what happened.
	@cd test/e2e && FAULTS='$(FAULTS)' FAULT='$(FAULT)' SEED='$(SEED)' KUBECONFIG=$$($(LAB) kubeconfig) LAB=$(LAB) PATH=$(BIN):$$PATH go test -count=1 -timeout 12h -v -run '^TestCampaign$$' .

scan: ## Look for known vulnerabilities in the Go modules and the images; says NOT RUN where there is no database.
	@GOVULNCHECK=$(GOVULNCHECK) SYFT=$(SYFT) test/scripts/scan.sh

lint: $(GOLANGCI_LINT) ## Run the linters of .golangci.yml over every Go module.
	@for module in operator test/lab test/lab/sriov test/e2e test/config test/monitoring test/argocd test/browser test/archive test/terraform; do \
	  echo "$$module" && (cd $$module && $(GOLANGCI_LINT) run --allow-parallel-runners ./...); done

lint-ci: ## Check the files of GitHub Actions, GitLab CI and Renovate by actionlint, zizmor and JSON schemas; says NOT RUN where one cannot be had.
	@test/scripts/prerequisites.sh go python
	@ACTIONLINT=$(ACTIONLINT) test/scripts/lint-ci.sh

outdated: ## List the direct dependencies that have a newer version, and why each is held back (test/dependencies.txt).
	@test/scripts/prerequisites.sh go python release
	@test/scripts/outdated.sh

bench-driver: ## Compare the XDP driver with trafgen, iperf3 and testpmd, one core with two, and print its pacing errors; fails where a target is missed without a known reason; with OLD=commit compare only what it brings as fast as possible with the driver of that commit, with TIME_ALL=1 with all of its frames timed.
	@test/scripts/prerequisites.sh go debian bench
	@if [ -n "$(OLD)" ]; then test/scripts/bench-driver.sh '$(OLD)' -strict -rounds 10 $(if $(TIME_ALL),-time-all); else cd operator && go run ./hack/driverbench -strict $(if $(TIME_ALL),-time-all); fi

bench-search: ## Compare the search with the MLRsearch package on simulated devices.
	@test/scripts/prerequisites.sh go
	@test/scripts/bench-search.sh -seeds $(SEEDS)

bench-statistics: ## Print how often the 95 % interval of repeated runs holds the throughput of simulated devices, how often a baseline raises a false alarm and how often it finds a slower device, and the same of comparisons of GROUPS (200) pairs of groups of runs; fails outside of 93 to 97 % without a known reason, or with too many false alarms.
	@test/scripts/prerequisites.sh go
	@cd operator && go run ./hack/searchbench -statistics -seeds $(DEVICES) -repeats $(REPEATS)
	@cd operator && go run ./hack/searchbench -groups -seeds $(GROUPS)

bench-regression: ## Print how well regressions are found in SERIES (1000) simulated series of each kind, next to other methods in PEERS (300): false alarms, found within three runs, delay, extra runs; fails where a target is missed without a known reason.
	@test/scripts/prerequisites.sh go
	@cd operator && go run ./hack/regressionbench -series $(SERIES) -peers $(PEERS) -suites $(SUITES) -shape "$(SHAPE)"

bench-admission: $(LAB) ## Print how many milliseconds a real API server takes to admit the smallest and the largest object of each kind, a change, and to refuse one, with the admission policies and without.
	@assets=$$($(LAB) assets) && cd operator && KUBEBUILDER_ASSETS=$$assets go test -run '^$$' -bench Admission ./api/v1alpha1

bench-scale: $(LAB) $(BIN)/manager ## Print what PARTS (runs,growth,soak,planning,judging,listing) need against a real API server: RUNS (10,100,1000) queued and as many finished runs, and suites with CELLS (10,100,1000), each with 100 points; fails where a goal is missed.
	@assets=$$($(LAB) assets) && cd operator && KUBEBUILDER_ASSETS=$$assets go run ./hack/scalebench -parts $(PARTS) -runs $(RUNS) -cells $(CELLS) -speed $(SPEED) $(BIN)/manager

bench-results: ## Print how fast the results service answers with DOCUMENTS (100,1000,10000) documents, and how its index grows; fails where a query of the index takes longer than 50 ms.
	@test/scripts/prerequisites.sh go
	@cd operator && go run ./hack/resultsbench -documents $(DOCUMENTS)

trex-record: ## Record the exchanges of test/fixtures/trex again, with the TRex in directory TREX; see docs/concepts/trex-protocol.md.
	@test -n "$(TREX)" || { echo "TREX is not set: make trex-record TREX=/opt/trex, the directory of TRex v3.08 with its program _t-rex-64" >&2; exit 1; }
	@test/scripts/prerequisites.sh go
	@mkdir -p $(BIN)
	cd operator && go build -o $(BIN)/trexrecord ./hack/trexrecord
	$(BIN)/trexrecord -trex $(TREX) -from test/fixtures/trex -to $(BIN)/trex-recordings $(if $(ONLY),-only $(ONLY))

##@ Documentation
.PHONY: docs-site test-docs-site
docs-site: ## Build docs/ as a site into bin/docs-site; a page that is in no list and a link that leads nowhere fail.
	@test/scripts/prerequisites.sh python
	@test/scripts/docs-site.sh

test-docs-site: docs-site ## Open the site's pages in headless Chromium, at the width of a desktop and of a phone, and search in it.
	@test/scripts/prerequisites.sh go browser
	@cd test/browser && go vet -tags documentation . && DOCUMENTATION=$(BIN)/docs-site go test -count=1 -timeout 15m -parallel 4 -tags documentation -run '^TestDocumentation' .

##@ Generated files
.PHONY: generate verify
generate: $(CONTROLLER_GEN) $(CRD_REF_DOCS) $(TERRAFORM_DOCS) $(HELM_DOCS) ## Make CRDs, RBAC, deep copies, BPF objects and reference docs again.
	@test/scripts/prerequisites.sh go bpf
	cd operator && $(CONTROLLER_GEN) object paths=./api/...
	cd operator && $(CONTROLLER_GEN) crd paths=./api/... output:crd:dir=../config/crd/bases
	cd operator && $(CONTROLLER_GEN) rbac:roleName=vnfbench-manager paths=./internal/controller/... output:rbac:dir=../config/rbac
	cd operator && $(CONTROLLER_GEN) rbac:roleName=vnfbench-results paths=./cmd/results output:rbac:dir=../charts/vnfbench/files/rbac/results
	cd operator && go generate ./...
	cp config/crd/bases/*.yaml charts/vnfbench/files/crds/
	mkdir -p charts/vnfbench/files/admission && cp config/admission/*-*.yaml charts/vnfbench/files/admission/
	# Programs without a cluster have both, too.
	cp config/crd/bases/*.yaml operator/internal/manifests/crds/ && cp config/admission/*-*.yaml operator/internal/manifests/admission/
	cp config/rbac/role.yaml charts/vnfbench/files/rbac/role.yaml
	# What the chart's notes show, `helm test` tries.
	cp charts/vnfbench/files/first-run.yaml operator/internal/controller/installation/first-run.yaml
	$(HELM_DOCS) --chart-search-root charts/vnfbench --sort-values-order file --skip-version-footer --log-level warning
	cd operator && $(CRD_REF_DOCS) --source-path=api/v1alpha1 --config=../docs/reference/crd-ref-docs.yaml --max-depth=20 --renderer=markdown --output-path=../docs/reference/api.md
	# It links a type that is a map to a heading that is not there.
	sed -i -E 's/\[map\[string\]([A-Za-z]+)\]\(#map\[string\][a-z]+\)/object (keys:string, values:\1)/' docs/reference/api.md
	@TERRAFORM_DOCS=$(TERRAFORM_DOCS) test/scripts/terraform-docs.sh

verify: ## Fail when generated files, formatting, words or files of CI are not as they should be, or a scan finds a vulnerability.
	@test/scripts/verify.sh
	@$(MAKE) --no-print-directory lint-ci scan

$(TOOLS)/controller-gen-%: ; @test/scripts/install-tool.sh $@ sigs.k8s.io/controller-tools/cmd/controller-gen@$*
$(TOOLS)/crd-ref-docs-%: ; @test/scripts/install-tool.sh $@ github.com/elastic/crd-ref-docs@$*
$(TOOLS)/kustomize-%: ; @test/scripts/install-tool.sh $@ sigs.k8s.io/kustomize/kustomize/v5@$*
$(TOOLS)/helm4-%: ; @test/scripts/install-tool.sh $@ helm.sh/helm/v4/cmd/helm@$* operator
$(TOOLS)/helm-docs-%: ; @test/scripts/install-tool.sh $@ github.com/norwoodj/helm-docs/cmd/helm-docs@$*
$(TOOLS)/helm-%: ; @test/scripts/install-tool.sh $@ helm.sh/helm/v3/cmd/helm@$* operator
$(TOOLS)/kubeconform-%: ; @test/scripts/install-tool.sh $@ github.com/yannh/kubeconform/cmd/kubeconform@$*
$(TOOLS)/crane-%: ; @test/scripts/install-tool.sh $@ github.com/google/go-containerregistry/cmd/crane@$*
$(TOOLS)/syft-%: ; @test/scripts/install-tool.sh $@ github.com/anchore/syft/cmd/syft@$*
$(TOOLS)/cosign-%: ; @test/scripts/install-tool.sh $@ github.com/sigstore/cosign/v3/cmd/cosign@$*
$(TOOLS)/actionlint-%: ; @test/scripts/install-tool.sh $@ github.com/rhysd/actionlint/cmd/actionlint@$*
$(TOOLS)/govulncheck-%: ; @test/scripts/install-tool.sh $@ golang.org/x/vuln/cmd/govulncheck@$*
$(TOOLS)/tflint-%: ; @test/scripts/install-tool.sh $@ github.com/terraform-linters/tflint@$*
$(TOOLS)/golangci-lint-%: ; @test/scripts/install-tool.sh $@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$*
# The versions of these are pinned in separate modules, which the names here repeat.
$(HELM_UNITTEST): ; @echo "building $(@F) (once)" >&2; mkdir -p $(@D) && cd test/helm-unittest && ../scripts/again.sh go build -trimpath -o $@ github.com/helm-unittest/helm-unittest/cmd/helm-unittest
$(MATCHBOX): ; @echo "building $(@F) (once)" >&2; mkdir -p $(@D) && cd test/matchbox && ../scripts/again.sh go build -trimpath -o $@ github.com/poseidon/matchbox/cmd/matchbox
$(MATCHBOX_PROVIDER): ; @echo "building $(@F) (once)" >&2; mkdir -p $(@D) && cd test/matchbox && ../scripts/again.sh go build -trimpath -o $@ github.com/poseidon/terraform-provider-matchbox
$(PROXMOX_PROVIDER): ; @echo "building $(@F) (once)" >&2; mkdir -p $(@D) && cd test/proxmox && ../scripts/again.sh go build -trimpath -o $@ github.com/bpg/terraform-provider-proxmox
$(TERRAFORM_DOCS): ; @echo "building $(@F) (once)" >&2; mkdir -p $(@D) && cd test/terraform-docs && ../scripts/again.sh go build -trimpath -o $@ github.com/terraform-docs/terraform-docs
