package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/test/e2e/guide"
)

// steadyLoads returns eight trials of this many milliseconds.
func steadyLoads(milliseconds int) string {
	return strings.Replace(eightSeconds, "trialMilliseconds: 1000", fmt.Sprint("trialMilliseconds: ", milliseconds), 1)
}

// versions are the two versions of the upgrade.
type versions struct {
	oldTree, oldTag, newTag string
}

// TestUpgrade installs the older version, upgrades it in the middle of a run, goes back and forth,
// removes the operator in the middle of another, installs it again and removes everything, by the
// commands of the documentation.
func TestUpgrade(t *testing.T) {
	if os.Getenv("VNFBENCH_E2E_UPGRADE") != "1" {
		t.Skip("NOT RUN: it replaces the operator of the lab and deletes every run there: make e2e-upgrade")
	}
	v := versions{oldTree: os.Getenv("OLD"), oldTag: os.Getenv("OLD_TAG"), newTag: os.Getenv("NEW_TAG")}
	upgrade, remove := guide.Open(t, "docs/how-to/upgrade.md", guide.Root(t)), guide.Open(t, "docs/how-to/remove.md", guide.Root(t))
	from := []string{"registry.example.com/lab", "localhost", "TAG", v.newTag}

	removeAll(t, remove)
	installOld(t, v)
	ns := namespace(t)
	applyFile(t, ns, filepath.Join(v.oldTree, "config/samples/testbed.yaml"))
	apply(t, ns, shortRun("before", steadyLoads(200)))
	finishedBefore := ends(t, ns, "before", metav1.ConditionTrue, v1alpha1.ReasonSucceeded)
	kept := results(t, ns, "before")

	// The upgrade, in the middle of a run and with another that waits.
	apply(t, ns, shortRun("during", steadyLoads(8000)))
	until(t, ns, "during", waitForStart, "measuring", trials(2))
	apply(t, ns, shortRun("waiting", steadyLoads(200)))
	podsBefore := podsOfRun(t, ns)
	upgrade.Run(t, "Before", 0)
	upgrade.Run(t, "Upgrade", 0, "TAG", v.newTag)
	upgrade.Run(t, "Upgrade", 1)
	if finished(getRun(t, ns, "during")) {
		t.Fatal("the run had ended before the upgrade had: this test says nothing about a run that is active")
	}
	if podsAfter := podsOfRun(t, ns); !reflect.DeepEqual(podsBefore, podsAfter) {
		t.Errorf("the upgrade touched the run's pods: before %v, after %v", podsBefore, podsAfter)
	}
	operatorIs(t, v.newTag)
	crdsAreCurrent(t)

	during := ends(t, ns, "during", metav1.ConditionTrue, v1alpha1.ReasonSucceeded)
	if during.Status.Progress.MeasurerRestarts != 0 {
		t.Errorf("the measurer was restarted %d times", during.Status.Progress.MeasurerRestarts)
	}
	if len(during.Status.Results) == 1 {
		checkResult(t, during.Status.Results[0], 0, 8)
	} else {
		t.Errorf("%d results, want one", len(during.Status.Results))
	}
	ends(t, ns, "waiting", metav1.ConditionTrue, v1alpha1.ReasonSucceeded)
	for run, tag := range map[string]string{"before": v.oldTag, "during": v.oldTag, "waiting": v.newTag} {
		if plan := configMap(t, ns, run, "-plan").Data["plan.json"]; !strings.Contains(plan, "localhost/vnfbench/vnf:"+tag) {
			t.Errorf("the plan of run %s does not name the image with tag %s", run, tag)
		}
	}
	upgrade.Run(t, "Before", 1, "-n bench", "-n "+ns, "NAME", "during", "1h", "10s")
	nothingLeft(t, ns)
	freed(t, ns)
	if now := results(t, ns, "before"); !maps.Equal(kept, now) {
		t.Error("the results of a run that had ended before the upgrade have changed")
	}
	if now := getRun(t, ns, "before"); !reflect.DeepEqual(finishedBefore.Status.Results, now.Status.Results) {
		t.Error("the status of a run that had ended before the upgrade has changed")
	}

	// Back, and forward again.
	upgrade.Run(t, "Back to the version before", 0)
	operatorIs(t, v.oldTag)
	upgrade.Run(t, "Upgrade", 0, "TAG", v.newTag)
	upgrade.Whole(t)

	// Without an operator the measurer continues, and the next operator judges the run.
	apply(t, ns, shortRun("orphaned", eightSeconds))
	until(t, ns, "orphaned", waitForStart, "measuring", trials(3))
	remove.Run(t, "Remove the operator, keep the results", 0)
	onlyTheLeaseIsLeft(t)
	measuredAlone(t, ns, "orphaned")
	file := filepath.Join(t.TempDir(), "report.json")
	remove.Run(t, "Remove everything", 0, "-n bench", "-n "+ns, "> NAME.json", "> "+file, "NAME", "before")
	if text, err := os.ReadFile(file); err != nil || !json.Valid(text) {
		t.Errorf("the report without an operator: %v\n%s", err, text)
	}
	remove.Run(t, "Remove the operator, keep the results", 1, from...)
	ends(t, ns, "orphaned", metav1.ConditionTrue, v1alpha1.ReasonSucceeded)
	nothingLeft(t, ns)
	if now := results(t, ns, "before"); !maps.Equal(kept, now) {
		t.Error("the results of the first run did not outlive the removal")
	}

	letGoWithoutOperator(t, remove, ns)

	// Installed again, for one namespace and with two replicas. In the right order nothing at all
	// is left of it.
	remove.Run(t, "Remove the operator, keep the results", 1, from...)
	if out, code := command(t, "helm", "upgrade", "vnfbench", filepath.Join(guide.Root(t), "charts/vnfbench"), "-n", systemNamespace, "--reset-then-reuse-values",
		"--set", "watchNamespaces={"+ns+"}", "--set", "replicas=2", "--wait", "--timeout", "3m"); code != 0 {
		t.Fatal(out)
	}
	operatorIs(t, v.newTag)
	bridgesBefore := bridges(t)
	testbed(t, ns)
	apply(t, ns, shortRun("last", steadyLoads(200)))
	ends(t, ns, "last", metav1.ConditionTrue, v1alpha1.ReasonSucceeded)
	remove.Run(t, "Remove everything", 1)
	nothingLeft(t, ns)
	if now := bridges(t); now != bridgesBefore {
		t.Errorf("bridges are left on the node: before %q, now %q", bridgesBefore, now)
	}
	if left := installed(t); left != "" {
		t.Errorf("still there:\n%s", left)
	}
	remove.Whole(t)
}

// removeAll removes an operator that was installed before.
func removeAll(t *testing.T, remove *guide.Guide) {
	t.Helper()
	if _, code := command(t, "helm", "status", "vnfbench", "-n", systemNamespace); code == 0 {
		remove.Run(t, "Remove everything", 1)
	} else if installed(t) != "" { // by a test that was interrupted
		kubectl(t, "delete", "benchmarkruns,testbeds", "--all", "--all-namespaces", "--wait=false")
		remove.Run(t, "Where the operator went first", 0)
		kubectl(t, "delete", "crds", "benchmarkmeasurements.vnfbench.io", "benchmarkruns.vnfbench.io", "benchmarksuiteruns.vnfbench.io", "benchmarksuites.vnfbench.io", "testbeds.vnfbench.io", "--ignore-not-found")
		kubectl(t, "delete", "namespace", systemNamespace, "--ignore-not-found")
	}
	if left := installed(t); left != "" {
		t.Fatalf("something of an installation is left in the lab; make lab-down removes it:\n%s", left)
	}
}

func installOld(t *testing.T, v versions) {
	t.Helper()
	began := time.Now()
	out, code := command(t, "helm", "install", "vnfbench", filepath.Join(v.oldTree, "charts/vnfbench"), "-n", systemNamespace, "--create-namespace",
		"--set", "image.registry=localhost", "--set-string", "image.tag="+v.oldTag, "--wait", "--timeout", "3m")
	if code != 0 {
		t.Fatalf("installing the older version: %s", out)
	}
	t.Logf("%.1f s: install the older version", time.Since(began).Seconds())
	operatorIs(t, v.oldTag)
}

func operatorIs(t *testing.T, tag string) {
	t.Helper()
	list := &appsv1.DeploymentList{}
	must(t, retry(t, func() error { return cluster.List(t.Context(), list, client.InNamespace(systemNamespace)) }))
	if len(list.Items) != 1 {
		t.Fatalf("%d deployments in %s, want one", len(list.Items), systemNamespace)
	}
	d := &list.Items[0]
	if image := d.Spec.Template.Spec.Containers[0].Image; image != "localhost/vnfbench/manager:"+tag {
		t.Errorf("the operator's image is %s, want tag %s", image, tag)
	}
	if d.Status.UpdatedReplicas != *d.Spec.Replicas || d.Status.AvailableReplicas != *d.Spec.Replicas {
		t.Errorf("the operator is not rolled out: %+v", d.Status)
	}
}

// crdsAreCurrent compares the cluster's CRDs with the chart's.
func crdsAreCurrent(t *testing.T) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(guide.Root(t), "charts/vnfbench/files/crds/*.yaml"))
	must(t, err)
	if len(files) == 0 {
		t.Fatal("the chart has no CRDs")
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		must(t, err)
		var want, got struct {
			Metadata struct {
				Name        string            `json:"name"`
				Annotations map[string]string `json:"annotations"`
			} `json:"metadata"`
			Spec struct {
				Versions []struct {
					Schema any `json:"schema"`
				} `json:"versions"`
			} `json:"spec"`
		}
		must(t, yaml.Unmarshal(text, &want))
		out, code := kubectl(t, "get", "crd", want.Metadata.Name, "-o", "json")
		if code != 0 {
			t.Fatal(out)
		}
		must(t, json.Unmarshal([]byte(out), &got))
		if !reflect.DeepEqual(want.Spec, got.Spec) {
			t.Errorf("the cluster's CRD %s is not the chart's", want.Metadata.Name)
		}
		if got.Metadata.Annotations["helm.sh/resource-policy"] != "keep" {
			t.Errorf("the CRD %s is not kept", want.Metadata.Name)
		}
	}
}

// podsOfRun returns the pods of the namespace with their restarts, by name.
func podsOfRun(t *testing.T, ns string) map[string]string {
	t.Helper()
	list := &corev1.PodList{}
	must(t, retry(t, func() error { return cluster.List(t.Context(), list, client.InNamespace(ns)) }))
	found := map[string]string{}
	for _, pod := range list.Items {
		restarts := int32(0)
		for _, status := range pod.Status.ContainerStatuses {
			restarts += status.RestartCount
		}
		found[pod.Name] = fmt.Sprint(pod.UID, " restarts ", restarts)
	}
	if len(found) < 2 {
		t.Errorf("pods are %v, want the measurer and the chain", found)
	}
	return found
}

// configMap returns the ConfigMap of a run whose name has the suffix.
func configMap(t *testing.T, ns, run, suffix string) *corev1.ConfigMap {
	t.Helper()
	owner := getRun(t, ns, run).UID
	list := &corev1.ConfigMapList{}
	must(t, retry(t, func() error { return cluster.List(t.Context(), list, client.InNamespace(ns)) }))
	i := slices.IndexFunc(list.Items, func(c corev1.ConfigMap) bool {
		return strings.HasSuffix(c.Name, suffix) && slices.ContainsFunc(c.OwnerReferences, func(o metav1.OwnerReference) bool { return o.UID == owner })
	})
	if i < 0 {
		t.Fatalf("run %s has no ConfigMap ...%s", run, suffix)
	}
	return &list.Items[i]
}

// results returns what a run has stored, with the records of its chunks.
func results(t *testing.T, ns, run string) map[string]string {
	t.Helper()
	head := configMap(t, ns, run, "-results")
	list := &corev1.ConfigMapList{}
	must(t, retry(t, func() error { return cluster.List(t.Context(), list, client.InNamespace(ns)) }))
	all := maps.Clone(head.Data)
	for _, chunk := range list.Items {
		if strings.HasPrefix(chunk.Name, head.Name+"-") {
			maps.Copy(all, chunk.Data)
		}
	}
	return all
}

// installed lists the objects of an installation and what it makes, including namespace and CRDs.
func installed(t *testing.T) string {
	t.Helper()
	out, code := kubectl(t, "get", "--ignore-not-found", "-o", "name", "-A", "-l", "app.kubernetes.io/name=vnfbench,app.kubernetes.io/instance=vnfbench",
		"deployments,pods,services,secrets,serviceaccounts,networkpolicies,roles,rolebindings,clusterroles,clusterrolebindings,configmaps,poddisruptionbudgets")
	if code != 0 {
		t.Fatal(out)
	}
	for _, args := range [][]string{{"crds", "-o", "name"}, {"namespace", systemNamespace, "--ignore-not-found", "-o", "name"}} {
		more, code := kubectl(t, append([]string{"get"}, args...)...)
		if code != 0 {
			t.Fatal(more)
		}
		for line := range strings.Lines(more) {
			if strings.Contains(line, "vnfbench") {
				out += line
			}
		}
	}
	return strings.TrimSpace(out)
}

// onlyTheLeaseIsLeft checks what an uninstallation leaves in addition to CRDs and runs.
func onlyTheLeaseIsLeft(t *testing.T) {
	t.Helper()
	want := "customresourcedefinition.apiextensions.k8s.io/benchmarkmeasurements.vnfbench.io\ncustomresourcedefinition.apiextensions.k8s.io/benchmarkruns.vnfbench.io\ncustomresourcedefinition.apiextensions.k8s.io/benchmarksuiteruns.vnfbench.io\ncustomresourcedefinition.apiextensions.k8s.io/benchmarksuites.vnfbench.io\ncustomresourcedefinition.apiextensions.k8s.io/testbeds.vnfbench.io\nnamespace/" + systemNamespace
	deadline := time.Now().Add(time.Minute)
	for installed(t) != want { // the pod is being deleted
		if time.Now().After(deadline) {
			t.Errorf("still there:\n%s", installed(t))
			break
		}
		time.Sleep(500 * time.Millisecond)
	}
	out, code := kubectl(t, "-n", systemNamespace, "get", "leases,secrets,configmaps,serviceaccounts,persistentvolumeclaims", "-o", "name")
	if code != 0 {
		t.Fatal(out)
	}
	for line := range strings.Lines(out) {
		switch strings.TrimSpace(line) {
		case "lease.coordination.k8s.io/manager.vnfbench.io", "configmap/kube-root-ca.crt", "serviceaccount/default":
		default:
			t.Errorf("still there in %s: %s", systemNamespace, line)
		}
	}
}

// measuredAlone waits until the measurer of a run has stored that it is done.
func measuredAlone(t *testing.T, ns, run string) {
	t.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	for results(t, ns, run)["done.json"] == "" {
		if time.Now().After(deadline) {
			t.Fatalf("without an operator run %s is not measured to its end", run)
		}
		time.Sleep(500 * time.Millisecond)
	}
	if finished(getRun(t, ns, run)) {
		t.Errorf("run %s has a verdict, and there is no operator", run)
	}
}

// letGoWithoutOperator removes the operator first and then everything, which hangs until the
// finalizers are removed, as the page says.
func letGoWithoutOperator(t *testing.T, remove *guide.Guide, ns string) {
	t.Helper()
	remove.Run(t, "Remove the operator, keep the results", 0)
	if out, code := kubectl(t, "-n", ns, "delete", "benchmarkruns,testbeds", "--all", "--wait=false"); code != 0 {
		t.Fatal(out)
	}
	if run := getRun(t, ns, "before"); run.DeletionTimestamp.IsZero() {
		t.Error("the run is not being deleted")
	}
	remove.Run(t, "Where the operator went first", 0)
	deadline := time.Now().Add(time.Minute)
	for {
		runs, maps := &v1alpha1.BenchmarkRunList{}, &corev1.ConfigMapList{}
		must(t, cluster.List(t.Context(), runs, client.InNamespace(ns)))
		must(t, cluster.List(t.Context(), maps, client.InNamespace(ns)))
		tb := &v1alpha1.Testbed{}
		err := cluster.Get(t.Context(), client.ObjectKey{Name: testbedName(ns, "lab")}, tb)
		if len(runs.Items) == 0 && len(maps.Items) <= 1 && apierrors.IsNotFound(err) { // kube-root-ca.crt
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d runs and %d ConfigMaps are left", len(runs.Items), len(maps.Items))
		}
		time.Sleep(500 * time.Millisecond)
	}
}

// bridges returns the names of the node's bridges that testbeds have made.
func bridges(t *testing.T) string {
	t.Helper()
	out, code := command(t, os.Getenv("LAB"), "shell", "--", "ip", "-brief", "link", "show", "type", "bridge")
	if code != 0 {
		t.Fatal(out)
	}
	var names []string
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, "vb") {
			names = append(names, strings.Fields(line)[0])
		}
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}
