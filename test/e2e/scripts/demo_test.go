// Package scripts runs scripts of test/scripts with stubs for kubectl, Helm, the lab and the other programs: what they
// refuse, in which order they work, and what they remove.
package scripts

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// look is the command line of a look at an object, from its kind on.
func look(object string) string { return "kubectl get --ignore-not-found " + object }

const (
	labelOf   = " -o jsonpath={.metadata.labels"
	multusOf  = " -o jsonpath={.metadata.annotations.vnfbench"
	networks  = "crd network-attachment-definitions.k8s.cni.cncf.io"
	pending   = "secrets --namespace vnfbench-system --selector owner=helm,name=vnfbench,status"
	installed = "helm upgrade --install vnfbench charts/vnfbench --namespace vnfbench-system "
)

// empty is a cluster of kind with Multus, in which nothing of the project is.
func empty() answers {
	return answers{
		"kubectl config view --minify --flatten --raw": {Out: "the cluster's kubeconfig\n"},
		"kubectl config current-context":               {Out: "kind-lab"},
		"go env GOARCH":                                {Out: "amd64"},
		look("nodes"):                                  {Out: "amd64 amd64"},
		look(networks):                                 {Out: "there"},
		"image-tag.sh":                                 {Out: "0123456789ab"},
	}
}

// used is a cluster in which the demo was.
func used() answers {
	return with(empty(), answers{
		look("namespace vnfbench-demo -o name"):       {Out: "namespace/vnfbench-demo"},
		look("namespace vnfbench-system -o name"):     {Out: "namespace/vnfbench-system"},
		look("namespace vnfbench-demo" + labelOf):     {Out: "vnfbench-demo/"},
		look("namespace vnfbench-system" + labelOf):   {Out: "vnfbench-demo/"},
		look("crd benchmarkruns.vnfbench.io -o json"): {Out: "vnfbench-system/vnfbench"},
		look("crd benchmarkruns.vnfbench.io -o name"): {Out: "there"},
		look("crd testbeds.vnfbench.io"):              {Out: "there"},
		look("deployments"):                           {Out: "vnfbench-system"},
		look("secrets"):                               {Out: "secret/sh.helm.release.v1.vnfbench.v1"},
		look(pending):                                 {},
		look("testbed lab"):                           {Out: "vnfbench-demo/"},
	})
}

func with(base, changes answers) answers {
	for beginning, given := range changes {
		base[beginning] = given
	}
	return base
}

// harmless begin the calls that change no cluster and build nothing.
var harmless = []string{"kubectl get ", "kubectl config ", "kubectl auth can-i ", "go env ", "prerequisites.sh ", "minikube status "}

// TestRefusal checks that a cluster is refused with a remedy before anything is built or changed.
func TestRefusal(t *testing.T) {
	tests := map[string]struct {
		given       answers
		environment []string
		want        []string
	}{
		"no context": {
			given: with(empty(), answers{"kubectl config view": {Code: 1}, "kubectl config view --minify --flatten --raw": {Code: 1}}),
			want:  []string{"use-context"},
		},
		"no answer": {given: with(empty(), answers{"kubectl get --raw /readyz": {Code: 1}}), want: []string{"does not answer", "cluster-info"}},
		"no right to CRDs": {
			given: with(empty(), answers{"kubectl auth can-i create customresourcedefinitions": {Code: 1}}),
			want:  []string{"may not create customresourcedefinitions", "administrator"},
		},
		"no right to namespaces": {given: with(empty(), answers{"kubectl auth can-i create namespaces": {Code: 1}}),
			want: []string{"may not create namespaces"}},
		"an error is not absence": {
			given: with(empty(), answers{look("deployments"): {Code: 1}}),
			want:  []string{"get deployments", "fails in context kind-lab"},
		},
		"an error at the mark": {given: with(empty(), answers{look("namespace vnfbench-demo"): {Code: 1}}), want: []string{"fails in context kind-lab"}},
		"other architecture":   {given: with(empty(), answers{look("nodes"): {Out: "amd64 arm64"}}), want: []string{"arm64", "amd64", "release.md"}},
		"namespace of others": {given: with(empty(), answers{look("namespace vnfbench-demo" + labelOf): {Out: "/"}}),
			want: []string{"Namespace vnfbench-demo is not of this command", "kubectl label namespace vnfbench-demo"}},
		"namespace with another label": {given: with(empty(), answers{look("namespace vnfbench-demo" + labelOf): {Out: "argocd/"}}),
			want: []string{"Namespace vnfbench-demo is not of this command"}},
		"CRDs of another release": {given: with(empty(), answers{look("crd benchmarkruns.vnfbench.io -o json"): {Out: "bench/mine"}}),
			want: []string{"release mine in namespace bench", "remove.md"}},
		"CRDs without Helm": {
			given: with(empty(), answers{look("crd benchmarkruns.vnfbench.io -o json"): {Out: "/"}}),
			want:  []string{"not installed by Helm"},
		},
		"CRDs of another release, after a demo": {given: with(used(), answers{look("crd benchmarkruns.vnfbench.io -o json"): {Out: "bench/vnfbench"}}),
			want: []string{"release vnfbench in namespace bench"}},
		"operator of others": {
			given: with(empty(), answers{look("deployments"): {Out: "vnfbench-system"}}),
			want:  []string{"in namespace vnfbench-system", "remove.md"},
		},
		"operator in another namespace, after a demo": {given: with(used(), answers{look("deployments"): {Out: "vnfbench-system bench"}}),
			want: []string{"The operator is in namespace bench"}},
		"release of others": {given: with(empty(), answers{look("secrets"): {Out: "secret/x"}}), want: []string{"Helm's release vnfbench"}},
		"Testbed of others": {given: with(empty(), answers{look("crd testbeds.vnfbench.io"): {Out: "there"}, look("testbed lab"): {Out: "/"}}),
			want: []string{"Testbed lab", "kubectl delete testbed lab"}},
		"Testbed of others, after a demo": {given: with(used(), answers{look("testbed lab"): {Out: "/"}}), want: []string{"Testbed lab"}},
		"no Multus": {
			given: with(empty(), answers{look(networks): {}}),
			want:  []string{"MULTUS=https://", "/v4.", "multus-daemonset-thick.yml"},
		},
		"LOAD and REGISTRY": {
			given:       empty(),
			environment: []string{"LOAD=kind load", "REGISTRY=registry.example.com"},
			want:        []string{"LOAD and REGISTRY"},
		},
		"unknown context": {given: with(empty(), answers{"kubectl config current-context": {Out: "prod"}, "minikube status": {Code: 85}}),
			want: []string{"context prod", "REGISTRY=", "LOAD="}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			output, calls, err := run(t, "demo.sh", test.given, test.environment...)
			if err == nil {
				t.Errorf("it was not refused:\n%s", output)
			}
			for _, text := range test.want {
				if !strings.Contains(output, text) {
					t.Errorf("the message has no %q:\n%s", text, output)
				}
			}
			for _, made := range calls {
				if !slices.ContainsFunc(harmless, func(beginning string) bool { return strings.HasPrefix(made.Line, beginning) }) {
					t.Errorf("it called %s", made.Line)
				}
			}
		})
	}
}

// TestDemo checks what is called, in this order, in clusters that are not refused.
func TestDemo(t *testing.T) {
	archive := func(command string) []string {
		var lines []string
		for _, name := range []string{"manager", "measurer", "vnf", "endpoint", "neighbor"} {
			lines = append(lines, command+" bin/images/"+name+".tar")
		}
		return lines
	}
	context := func(name string) answers {
		return with(empty(), answers{"kubectl config current-context": {Out: name}})
	}
	created := []string{"kubectl create -f -", "kubectl create -f -"}
	multus := "kubectl get -f multus.yml"
	tests := map[string]struct {
		given       answers
		environment []string
		want, never []string
	}{
		"empty": {
			given: empty(),
			want: slices.Concat(created, []string{"kubectl label namespace vnfbench-demo vnfbench-system pod-security", "make --no-print-directory images plugin "},
				archive("kind load image-archive --name lab"), []string{installed + "--set-string image.tag=0123456789ab --set image.registry=localhost ",
					"kubectl-vnfbench doctor", "kubectl label --local -f - app.kubernetes.io/managed-by=vnfbench-demo",
					"kubectl apply --namespace vnfbench-demo -f -", "kubectl-vnfbench watch router"}),
			never: []string{"helm uninstall", multus},
		},
		"again": {given: used(), want: []string{installed, "kubectl-vnfbench watch router"}, never: []string{"kubectl create", "helm uninstall"}},
		"CRDs kept": {
			given: with(empty(), answers{look("crd benchmarkruns.vnfbench.io -o json"): {Out: "vnfbench-system/vnfbench"}}),
			want:  append(created, installed),
		},
		"pending": {
			given: with(used(), answers{look(pending): {Out: "secret/x"}}),
			want:  []string{"helm uninstall vnfbench --namespace vnfbench-system --wait", installed},
		},
		"Multus": {given: with(empty(), answers{look(networks): {}, multus: {Out: "net/multus other/more "}}), environment: []string{"MULTUS=multus.yml"},
			want: slices.Concat(created, []string{"kubectl annotate namespace vnfbench-demo vnfbench.io/demo-multus=multus.yml", "kubectl apply -f multus.yml",
				"kubectl rollout status daemonset/multus --namespace net ", "kubectl rollout status daemonset/more --namespace other ", installed})},
		"Multus of others": {
			given:       empty(),
			environment: []string{"MULTUS=multus.yml"},
			want:        []string{installed},
			never:       []string{"kubectl apply -f multus.yml", "kubectl annotate"},
		},
		"Multus of the demo": {
			given: with(used(), answers{look("namespace vnfbench-demo" + multusOf): {Out: "multus.yml"}}),
			want:  []string{"kubectl apply -f multus.yml", installed},
		},
		"k3d":      {given: context("k3d-two"), want: archive("k3d image import --cluster two")},
		"minikube": {given: context("minikube"), want: archive("minikube image load --profile minikube")},
		"profile":  {given: context("two"), want: archive("minikube image load --profile two")},
		"registry": {given: context("prod"), environment: []string{"REGISTRY=registry.example.com/lab"}, want: []string{
			"make --no-print-directory push REGISTRY=registry.example.com/lab",
			installed + "--set-string image.tag=0123456789ab --set image.registry=registry.example.com/lab "}},
		"quotes in LOAD": {
			given:       context("prod"),
			environment: []string{`LOAD="load images" --to "a node"`},
			want:        archive("load images --to a node"),
		},
		"NAMESPACE is not the script's": {given: empty(), environment: []string{"NAMESPACE=elsewhere"}, want: []string{installed}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			output, calls, err := run(t, "demo.sh", test.given, test.environment...)
			if err != nil {
				t.Fatalf("%v\n%s", err, output)
			}
			checkCalls(t, calls, test.want, test.never)
			for _, made := range calls {
				if strings.HasPrefix(made.Line, "kubectl create") && !strings.Contains(made.Input, "labels: {app.kubernetes.io/managed-by: vnfbench-demo}") {
					t.Errorf("it created this without the mark: %s", made.Input)
				}
			}
			if !strings.Contains(output, "\n  make demo-down CLUSTER=current\n") {
				t.Errorf("it does not say what removes it:\n%s", output)
			}
		})
	}
}

// TestOneCluster checks that kubectl with flags, Helm and the plugin have the cluster that the flags chose.
func TestOneCluster(t *testing.T) {
	given := answers{}
	for beginning, a := range empty() {
		given[strings.Replace(beginning, "kubectl ", "kubectl --context my lab ", 1)] = a
	}
	given["kubectl --context my lab config current-context"] = answer{Out: "my lab"}
	output, calls, err := run(t, "demo.sh", given, `KUBECTL=kubectl --context "my lab"`, "REGISTRY=registry.example.com")
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	first := at(calls, "kubectl ")
	for _, made := range calls[first+1:] {
		if made.Kubeconfig != "the cluster's kubeconfig\n" || made.Mode != 0o600 {
			t.Errorf("%s had the kubeconfig %q (%s)", made.Line, made.Kubeconfig, made.Mode)
		}
		if strings.HasPrefix(made.Line, "kubectl ") && !strings.HasPrefix(made.Line, "kubectl --context my lab ") {
			t.Errorf("it called %s", made.Line)
		}
	}
	if at(calls, "helm ") < first || at(calls, "kubectl-vnfbench ") < first {
		t.Errorf("Helm or the plugin was not called:\n%s", lines(calls))
	}
	if want := `make demo-down CLUSTER=current KUBECTL=kubectl\ --context\ \"my\ lab\"`; !strings.Contains(output, want) {
		t.Errorf("it does not say %s:\n%s", want, output)
	}
}

// TestFailure checks that a step that fails ends the demo with what failed and a remedy.
func TestFailure(t *testing.T) {
	tests := map[string]struct {
		given       answers
		environment []string
		want        []string
	}{
		"load": {
			given: with(empty(), answers{"kind load image-archive --name lab bin/images/vnf.tar": {Code: 1}}),
			want:  []string{"The image vnf", "kind load image-archive", "REGISTRY"},
		},
		"own load": {given: with(empty(), answers{"load images": {Code: 1}}), environment: []string{`LOAD="load images"`},
			want: []string{"The image manager", `"load images" bin/images/manager.tar`}},
		"push": {given: with(empty(), answers{"make --no-print-directory push": {Code: 2}}), environment: []string{"REGISTRY=registry.example.com/lab"},
			want: []string{"could not be pushed to registry.example.com/lab", "make login"}},
		"Multus is refused": {
			given:       with(empty(), answers{look(networks): {}, "kubectl apply -f multus.yml": {Code: 1}}),
			environment: []string{"MULTUS=multus.yml"},
			want:        []string{"Multus could not be installed"},
		},
		"Multus is not ready": {
			given:       with(empty(), answers{look(networks): {}, "kubectl get -f multus.yml": {Out: "net/multus "}, "kubectl rollout status": {Code: 1}}),
			environment: []string{"MULTUS=multus.yml"},
			want:        []string{"kubectl describe pods --namespace net"},
		},
		"chart": {given: with(empty(), answers{"helm upgrade": {Code: 1}, "kubectl get pods --namespace vnfbench-system": {
			Out: "vnfbench-1 1/1 Running 0 1m\nvnfbench-2 0/1 ImagePullBackOff 0 1m\n"}, "kubectl get events": {Out: "Failed   no such image\n"}}),
			want: []string{"vnfbench-2 0/1 ImagePullBackOff", "no such image", "the nodes lack the image", "make demo-down CLUSTER=current"}},
		"doctor": {given: with(empty(), answers{"kubectl-vnfbench doctor": {Code: 1}}), want: []string{"the last column"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			output, calls, err := run(t, "demo.sh", test.given, test.environment...)
			if err == nil || at(calls, "kubectl-vnfbench watch") >= 0 {
				t.Errorf("it continued:\n%s", output)
			}
			for _, text := range append(test.want, "") {
				if !strings.Contains(output, text) {
					t.Errorf("the message has no %q:\n%s", text, output)
				}
			}
			if strings.Contains(output, "vnfbench-1 1/1") {
				t.Errorf("the message has a pod that is ready:\n%s", output)
			}
		})
	}
}

// TestDown checks that what the demo made is removed, the operator after what it takes down, and nothing of others.
func TestDown(t *testing.T) {
	const uninstalled = "helm uninstall vnfbench --namespace vnfbench-system "
	inOrder := []string{"kubectl delete benchmarksuites,benchmarksuiteruns,benchmarkruns,benchmarkmeasurements --all --namespace vnfbench-demo ",
		"kubectl delete testbeds --selector app.kubernetes.io/managed-by=vnfbench-demo ", uninstalled, "kubectl delete crds ",
		"kubectl delete namespace vnfbench-system ", "kubectl delete namespace vnfbench-demo "}
	tests := map[string]struct {
		given       answers
		fails       bool
		want, never []string
		output      string
	}{
		"all": {given: used(), want: inOrder},
		"after a failed chart": {
			given: with(used(), answers{look("crd benchmarkruns.vnfbench.io -o name"): {}}),
			want:  inOrder[2:],
			never: inOrder[:2],
		},
		"Multus": {
			given:  with(used(), answers{look("namespace vnfbench-demo" + multusOf): {Out: "multus.yml"}}),
			want:   inOrder,
			output: "kubectl delete -f multus.yml",
		},
		"namespace of the operator is of others": {
			given: with(used(), answers{look("namespace vnfbench-system" + labelOf): {Out: "/"}}),
			want:  inOrder[5:],
			never: inOrder[4:5],
		},
		"runs of others": {
			given:  with(used(), answers{look("testbeds,"): {Out: "benchmarkrun.vnfbench.io/mine"}}),
			fails:  true,
			never:  inOrder[2:],
			output: "benchmarkrun.vnfbench.io/mine",
		},
		"a run stays": {
			given:  with(used(), answers{inOrder[0]: {Code: 1}}),
			fails:  true,
			never:  inOrder[1:],
			output: "remove.md",
		},
		"no demo": {given: empty(), fails: true, never: []string{"kubectl delete", "helm"}, output: "nothing of the demo"},
		"namespace of others": {
			given: with(empty(), answers{look("namespace vnfbench-demo" + labelOf): {Out: "/"}}),
			fails: true,
			never: []string{"kubectl delete", "helm"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			output, calls, err := run(t, "demo-down.sh", test.given)
			if (err != nil) != test.fails || !strings.Contains(output, test.output) {
				t.Errorf("it ended with %v, without %q:\n%s", err, test.output, output)
			}
			checkCalls(t, calls, test.want, test.never)
		})
	}
}

// TestUnknownCluster checks that neither script guesses.
func TestUnknownCluster(t *testing.T) {
	for _, script := range []string{"demo.sh", "demo-down.sh"} {
		out, err := exec.Command("env", "CLUSTER=prod", "../../scripts/"+script).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "CLUSTER is prod") {
			t.Errorf("%s ended with %v:\n%s", script, err, out)
		}
	}
}
