package config

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// origin is a place that names a version: the first group of the pattern, in each match.
type origin struct{ file, pattern string }

// column numbers in docs/reference/support.md.
const (
	columnNeeds = iota + 1
	columnLab
	columnTerraform
	columnLibraries
)

// origins are the places that must name what a cell of the matrix says.
var origins = map[string]map[int][]origin{
	"Kubernetes": {
		columnNeeds: {
			{"charts/vnfbench/Chart.yaml", `kubeVersion: ">=([0-9]+\.[0-9]+)\.0`},
			{"docs/how-to/install.md", `Kubernetes ([0-9]+\.[0-9]+) or newer`},
		},
		columnLab: {
			{"test/lab/kube/go.mod", `k8s\.io/kubernetes v([0-9.]+)`},
			{"test/lab/README.md", `cluster is Kubernetes ([0-9.]+[0-9])`},
		},
		columnTerraform: {
			{"terraform/clusters/lab-proxmox/variables.tf", `variable "kubernetes_version" \{[^}]*default\s*= "([^"]+)"`},
			{"terraform/clusters/lab-metal/variables.tf", `variable "kubernetes_version" \{[^}]*default\s*= "([^"]+)"`},
			{"terraform/versions.md", `\| Kubernetes \| ([^ ]+) \|`},
			{"terraform/examples/*/main.tf", `kubernetes_version\s*= "([^"]+)"`},
		},
		columnLibraries: {
			{"operator/go.mod", `k8s\.io/(?:api|apimachinery|client-go) v([0-9.]+)`},
			{"test/e2e/go.mod", `k8s\.io/(?:api|apimachinery|client-go) v([0-9.]+)`},
		},
	},
	"KubeVirt": {
		columnNeeds: {{"docs/how-to/virtual-machines.md", `KubeVirt ([0-9.]+) or newer`}},
		columnLab: {
			{"test/lab/kubevirt/go.mod", `kubevirt\.io/kubevirt v([0-9.]+)`},
			{"test/lab/README.md", `\[KubeVirt ([0-9.]+)\]`},
		},
		columnTerraform: {
			{"terraform/modules/addons/versions.tf", `kubevirt\s+= "v([^"]+)"`},
			{"terraform/versions.md", `/kubevirt/releases/download/v([0-9.]+)/`},
			{"terraform/README.md", `/kubevirt/releases/download/v([0-9.]+)/`},
			{"docs/tutorials/first-lab-*.md", `/kubevirt/releases/download/v([0-9.]+)/`},
		},
	},
	"Multus": {
		columnLab: {
			{"test/lab/kube/go.mod", `multus-cni\.v4 v([0-9.]+)`},
			{"test/lab/README.md", `Multus ([0-9]+\.[0-9]+\.[0-9]+)`},
		},
		columnTerraform: {
			{"terraform/modules/addons/versions.tf", `multus\s+= "v([^"]+)"`},
			{"terraform/versions.md", `/multus-cni/v([0-9.]+)/`},
			{"terraform/README.md", `/multus-cni/v([0-9.]+)/`},
			{"docs/tutorials/first-lab-*.md", `/multus-cni/v([0-9.]+)/`},
		},
	},
	"Flux's kustomize-controller": {
		columnNeeds: {{"docs/how-to/gitops.md", `kustomize-controller ([0-9.]+[0-9]) or newer`}},
		columnLab: {
			{"test/lab/flux/controllers/go.mod", `fluxcd/kustomize-controller v([0-9.]+)`},
			{"test/lab/README.md", `kustomize-controller ([0-9.]+[0-9])`},
		},
		columnLibraries: {{"test/config/go.mod", `kustomize-controller/api v([0-9.]+)`}},
	},
	"Argo CD": {
		columnNeeds: {{"docs/how-to/gitops.md", `for Argo CD ([0-9.]+[0-9]) or newer`}},
		columnLab: {
			{"test/argocd/go.mod", `argo-cd/v3 v([0-9.]+)`},
			{"test/lab/README.md", `\[Argo CD\]\(https[^)]*\) ([0-9.]+[0-9])`},
		},
		columnLibraries: {{"test/argocd/go.mod", `argo-cd/v3 v([0-9.]+)`}},
	},
	"CNI plugins": {
		columnLab: {
			{"test/lab/kube/go.mod", `containernetworking/plugins v([0-9.]+)`},
			{"test/lab/README.md", `CNI plugins ([0-9.]+) with`},
		},
		columnTerraform: {
			{"docs/tutorials/first-lab-*.md", `cni-plugins(?:-linux-amd64-|:)v([0-9]+\.[0-9]+\.[0-9]+)`},
			{"terraform/clusters/*/example.tfvars", `cni-plugins:v([0-9.]+)`},
		},
	},
	"SR-IOV network device plugin": {columnLab: {{"test/lab/sriov/go.mod", `sriov-network-device-plugin v0\.0\.0-[0-9]+-([0-9a-f]+)`}}},
	"sriov-cni": {columnLab: {
		{"test/lab/sriov/go.mod", `intel/sriov-cni v([0-9.]+)`},
		{"test/lab/README.md", `sriov-cni ([0-9]+\.[0-9]+\.[0-9]+)`},
	}},
	"SR-IOV network operator": {columnTerraform: {
		{"terraform/modules/addons/versions.tf", `sriov\s+= "([^"]+)"`},
		{"terraform/versions.md", `SR-IOV network operator \| ([0-9.]+) \|`},
	}},
	"kube-prometheus-stack": {columnTerraform: {
		{"terraform/modules/addons/versions.tf", `kube_prometheus_stack\s+= "([^"]+)"`},
		{"terraform/versions.md", `kube-prometheus-stack \| ([0-9.]+) \|`},
	}},
	"Talos": {
		columnNeeds: {{"terraform/modules/*/variables.tf", `at least v([0-9]+\.[0-9]+)\.0`}},
		columnTerraform: {
			{"terraform/clusters/*/variables.tf", `variable "talos_version" \{[^}]*default\s*= "v([^"]+)"`},
			{"terraform/versions.md", `\| Talos \| v([^ ]+) \|`},
			{"terraform/examples/*/main.tf", `talos_version\s*= "v([^"]+)"`},
		},
		columnLibraries: {{"test/terraform/go.mod", `siderolabs/talos/pkg/machinery v([0-9.]+)`}},
	},
	"TRex": {
		columnLab:       {{"docs/reference/tried.md", `\| TRex ([0-9.]+), `}},
		columnNeeds:     {{"docs/how-to/trex.md", `TREX_TARBALL=v([0-9.]+)\.tar\.gz`}},
		columnTerraform: {{"terraform/modules/testbed/variables.tf", `trex:v([0-9.]+[0-9])`}},
	},
	"Linux": {columnNeeds: {{"docs/how-to/install.md", `Linux kernel ([0-9.]+) or newer`}}, columnLab: {{"docs/how-to/install.md", `tried on ([0-9]+\.[0-9]+)\)`}}},
}

// TestSupportMatrix compares docs/reference/support.md with each place that names one of its
// versions. A cell without a place is text.
func TestSupportMatrix(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(top, "docs", "reference", "support.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string][]string{}
	for _, line := range strings.Split(string(page), "\n") {
		if cells := strings.Split(strings.Trim(line, "|"), " | "); strings.HasPrefix(line, "| ") && len(cells) == 5 {
			rows[strings.TrimSpace(cells[0])] = cells
		}
	}
	delete(rows, "what")
	if len(rows) != len(origins) {
		t.Errorf("the matrix has %d rows, and the test knows %d", len(rows), len(origins))
	}
	for name, columns := range origins {
		cells := rows[name]
		if cells == nil {
			t.Errorf("the matrix has no row %q", name)
			continue
		}
		for column, places := range columns {
			want := strings.TrimSpace(cells[column])
			for _, place := range places {
				for file, versions := range named(t, place) {
					for _, version := range versions {
						if version != want {
							t.Errorf("%s: %s has %s, and the matrix %s", name, file, version, want)
						}
					}
				}
			}
		}
	}
}

// named are the versions that a place names, by its files. A file of a pattern may have none,
// but not all of them.
func named(t *testing.T, place origin) map[string][]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(top, place.file))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string][]string{}
	pattern := regexp.MustCompile(place.pattern)
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range pattern.FindAllStringSubmatch(string(content), -1) {
			found[file] = append(found[file], match[1])
		}
	}
	if len(found) == 0 {
		t.Errorf("%s names no version by %s", place.file, place.pattern)
	}
	return found
}
