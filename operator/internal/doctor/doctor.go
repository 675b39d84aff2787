// Package doctor says what a cluster lacks for benchmark runs, before anything is installed or run. What the cluster has answered
// goes in, findings come out: for each check a result, what was found, and what to do. A question without an answer is UNKNOWN, and
// never OK.
package doctor

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"

	"vnfbench.io/operator/api/v1alpha1"
)

// Answer is what the cluster has answered to a question, or why it has not.
type Answer[T any] struct {
	Value T
	Err   error
}

// Facts are the answers of a cluster.
type Facts struct {
	// Namespace is where runs are to be.
	Namespace string
	// Version is that of the API server, such as "v1.34.2".
	Version Answer[string]
	// Resources are those that the API server has of each version of a group in Groups, such as "k8s.cni.cncf.io/v1"; none of a
	// version that it does not know.
	Resources map[string]Answer[[]string]
	// NamespaceObject is nil if the namespace does not exist.
	NamespaceObject Answer[*corev1.Namespace]
	// PodAdmission is what the API server says of Pod in the namespace without making it; empty if it would make it.
	PodAdmission Answer[string]
	// DaemonSets are those of all namespaces, Operators the Deployments with the labels of package installed.
	DaemonSets Answer[[]appsv1.DaemonSet]
	Operators  Answer[[]appsv1.Deployment]
	// Pods are those of the namespace.
	Pods Answer[[]corev1.Pod]
	// Nodes are all of them, Kubelets what those have said of their settings, by the node's name.
	Nodes    Answer[[]corev1.Node]
	Kubelets map[string]Answer[Kubelet]
	// Testbeds are empty where the kind is not known.
	Testbeds       Answer[[]v1alpha1.Testbed]
	KubeVirts      Answer[[]kubevirtv1.KubeVirt]
	StorageClasses Answer[[]storagev1.StorageClass]
	// Rights are those of Rights, with answers.
	Rights []Right
}

// Kubelet is what the kubelet of a node says of its settings.
type Kubelet struct {
	CPUManagerPolicy      string `json:"cpuManagerPolicy"`
	TopologyManagerPolicy string `json:"topologyManagerPolicy"`
	ReservedSystemCPUs    string `json:"reservedSystemCPUs"`
}

// Result of a check.
type Result string

// Results of checks. Runs cannot be measured where one is Fail.
const (
	OK      Result = "OK"
	Warning Result = "WARNING"
	Fail    Result = "FAIL"
	Unknown Result = "UNKNOWN"
)

// Finding is the result of one check.
type Finding struct {
	Check  string `json:"check"`
	Result Result `json:"result"`
	// Found is what the result follows from, Remedy what to do; it is empty where nothing is to be done.
	Found  string `json:"found"`
	Remedy string `json:"remedy,omitempty"`
}

// checks are in the order in which a cluster is set up.
var checks = []struct {
	name    string
	examine func(Facts) Finding
}{
	{"api-server", apiServer},
	{"admission-policies", admissionPolicies},
	{"rights-run", rightsOf(ToRun)},
	{"rights-read", rightsOf(ToRead)},
	{"rights-install", rightsOf(ToInstall)},
	{"kinds", kinds},
	{"operator", operators},
	{"images", images},
	{"multus", multus},
	{"cni-plugins", cniPlugins},
	{"pod-security", podSecurity},
	{"nodes", nodes},
	{"kernel", kernels},
	{"bpf", bpf},
	{"cpu-manager", cpuManagers},
	{"platform", platforms},
	{"huge-pages", hugePages},
	{"device-plugins", devicePlugins},
	{"kubevirt", kubeVirt},
	{"storage-class", storageClass},
	{"testbeds", testbeds},
}

// documentation follows the name of a page. Who has the plugin or the chart alone has no folder of this repository.
const documentation = " of the vnfbench documentation"

// Examine returns one finding for each check.
func Examine(facts Facts) []Finding {
	out := make([]Finding, 0, len(checks))
	for _, check := range checks {
		finding := check.examine(facts)
		finding.Check = check.name
		out = append(out, finding)
	}
	return out
}

// Failed reports whether a finding is FAIL.
func Failed(findings []Finding) bool {
	for _, f := range findings {
		if f.Result == Fail {
			return true
		}
	}
	return false
}

func fine(format string, arguments ...any) Finding {
	return Finding{Result: OK, Found: fmt.Sprintf(format, arguments...)}
}

// found returns a finding with a remedy.
func found(result Result, remedy, format string, arguments ...any) Finding {
	return Finding{Result: result, Found: fmt.Sprintf(format, arguments...), Remedy: remedy}
}

// unanswered returns the finding of a question that was not answered. The right is that which the question needs.
func unanswered(err error, right string) Finding {
	return found(Unknown, fmt.Sprintf("run this command as a user who may %s", right), "no answer: %v", err)
}

// has reports whether the API server has a resource of a version of a group. It is an error where that is not known.
func (f Facts) has(version, resource string) (bool, error) {
	answer, asked := f.Resources[version]
	if !asked {
		return false, fmt.Errorf("the API server was not asked for %s", version)
	}
	if answer.Err != nil {
		return false, answer.Err
	}
	for _, name := range answer.Value {
		if name == resource {
			return true, nil
		}
	}
	return false, nil
}

// installed reports whether the API server has the project's kinds. Where that is not known, it has not.
func (f Facts) installed() bool {
	has, err := f.has(v1alpha1.GroupVersion.String(), "benchmarkruns")
	return has && err == nil
}

// plural returns a number with its noun.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if strings.HasSuffix(noun, "s") {
		return fmt.Sprintf("%d %ses", n, noun)
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
