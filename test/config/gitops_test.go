package config

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	helm "github.com/fluxcd/helm-controller/api/v2"
	kustomize "github.com/fluxcd/kustomize-controller/api/v1"
	notification "github.com/fluxcd/notification-controller/api/v1beta3"
	source "github.com/fluxcd/source-controller/api/v1"
	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// built are the objects of a folder of config/gitops.
func built(t *testing.T, folder string) map[string]object {
	t.Helper()
	return objects(t, output(t, "KUSTOMIZE", "build", filepath.Join(top, "config/gitops", folder)))
}

func ids(found map[string]object) []string { return slices.Sorted(maps.Keys(found)) }

// strict decodes an object into Flux's own type and refuses unknown fields.
func strict(t *testing.T, o object, into any) {
	t.Helper()
	text, err := yaml.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(text, into); err != nil {
		t.Errorf("%v in\n%s", err, text)
	}
}

// exists fails where a path in the repository is not a folder.
func exists(t *testing.T, by, path string) {
	t.Helper()
	if info, err := os.Stat(filepath.Join(top, path)); err != nil || !info.IsDir() {
		t.Errorf("%s: path %q is not a folder of this repository: %v", by, path, err)
	}
}

func TestFlux(t *testing.T) {
	found := built(t, "flux")
	want := []string{
		"GitRepository/flux-system/vnfbench",
		"Kustomization/flux-system/vnfbench-operator",
		"Kustomization/flux-system/vnfbench-runs",
		"Kustomization/flux-system/vnfbench-testbed",
	}
	if diff := cmp.Diff(want, ids(found)); diff != "" {
		t.Fatal(diff)
	}
	strict(t, found[want[0]], &source.GitRepository{})
	after := map[string]string{}
	for _, id := range want[1:] {
		var k kustomize.Kustomization
		strict(t, found[id], &k)
		exists(t, id, k.Spec.Path)
		if k.Spec.SourceRef.Name != "vnfbench" || !k.Spec.Wait || k.Spec.Timeout == nil {
			t.Errorf("%s does not follow the repository, or does not wait for its objects", id)
		}
		for _, one := range k.Spec.DependsOn {
			after[k.Name] = one.Name
		}
	}
	if diff := cmp.Diff(map[string]string{"vnfbench-testbed": "vnfbench-operator", "vnfbench-runs": "vnfbench-testbed"}, after); diff != "" {
		t.Error(diff)
	}
	fluxAccount(t, found)
	found = built(t, "flux/operator")
	var release helm.HelmRelease
	strict(t, found["HelmRelease/flux-system/vnfbench"], &release)
	if found["Namespace//"+release.Spec.TargetNamespace] == nil || release.Spec.StorageNamespace != release.Spec.TargetNamespace {
		t.Errorf("the release goes into namespace %q, which is not made", release.Spec.TargetNamespace)
	}
	exists(t, "HelmRelease", release.Spec.Chart.Spec.Chart)
	takes(t, release.Spec.Values.Raw)
}

// fluxAccount checks that Flux applies the runs by an account that may write runs and suites in their namespace, and nothing else. What makes the
// Testbed makes the account too, so it is there before the runs.
func fluxAccount(t *testing.T, flux map[string]object) {
	t.Helper()
	var runs kustomize.Kustomization
	strict(t, flux["Kustomization/flux-system/vnfbench-runs"], &runs)
	testbed := built(t, "flux/testbed")
	account := runs.Spec.ServiceAccountName
	want := []string{"Namespace//bench", "Role/bench/" + account, "RoleBinding/bench/" + account, "ServiceAccount/flux-system/" + account, "Testbed//lab"}
	if diff := cmp.Diff(want, ids(testbed)); diff != "" {
		t.Fatalf("the account is %q:\n%s", account, diff)
	}
	list := func(texts ...any) []any { return texts }
	rules := list(map[string]any{
		"apiGroups": list("vnfbench.io"), "resources": list("benchmarkruns", "benchmarksuites"),
		"verbs": list("get", "list", "watch", "create", "patch", "update", "delete"),
	})
	if diff := cmp.Diff(any(rules), testbed[want[1]]["rules"]); diff != "" {
		t.Error(diff)
	}
	bound := map[string]any{
		"roleRef":  map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": account},
		"subjects": list(map[string]any{"kind": "ServiceAccount", "name": account, "namespace": "flux-system"}),
	}
	binding := testbed[want[2]]
	if diff := cmp.Diff(bound, map[string]any{"roleRef": binding["roleRef"], "subjects": binding["subjects"]}); diff != "" {
		t.Error(diff)
	}
}

// TestFluxImages checks that the right to bring images, which a page adds, is the account's, and is to create pods alone: it may not change or read them.
func TestFluxImages(t *testing.T) {
	var runs kustomize.Kustomization
	strict(t, built(t, "flux")["Kustomization/flux-system/vnfbench-runs"], &runs)
	text, err := os.ReadFile(filepath.Join(top, "config/gitops/flux/testbed/images.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	found := objects(t, text)
	role, binding := found["Role/bench/vnfbench-bench-images"], found["RoleBinding/bench/vnfbench-bench-images"]
	if len(found) != 2 || role == nil || binding == nil {
		t.Fatalf("it has %v", ids(found))
	}
	list := func(texts ...any) []any { return texts }
	want := map[string]any{
		"rules":    list(map[string]any{"apiGroups": list(""), "resources": list("pods"), "verbs": list("create")}),
		"roleRef":  map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "vnfbench-bench-images"},
		"subjects": list(map[string]any{"kind": "ServiceAccount", "name": runs.Spec.ServiceAccountName, "namespace": "flux-system"}),
	}
	if diff := cmp.Diff(want, map[string]any{"rules": role["rules"], "roleRef": binding["roleRef"], "subjects": binding["subjects"]}); diff != "" {
		t.Error(diff)
	}
}

// fluxSuites returns the Kustomization of the suites, which a page adds to the others, and its identity.
func fluxSuites(t *testing.T) (string, kustomize.Kustomization) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(top, "config/gitops/flux/suites.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	found := objects(t, text)
	if len(found) != 1 {
		t.Fatalf("%d objects", len(found))
	}
	id := ids(found)[0]
	var k kustomize.Kustomization
	strict(t, found[id], &k)
	return id, k
}

// TestFluxSuites checks that Flux follows the suites as it follows the runs, after the Testbed, and knows their health by the same expressions.
func TestFluxSuites(t *testing.T) {
	id, suites := fluxSuites(t)
	var runs kustomize.Kustomization
	strict(t, built(t, "flux")["Kustomization/flux-system/vnfbench-runs"], &runs)
	exists(t, id, suites.Spec.Path)
	if suites.Spec.Path == runs.Spec.Path {
		t.Errorf("both follow %s", runs.Spec.Path)
	}
	suites.Spec.Path = runs.Spec.Path
	// Runs may have suites next to them.
	checks := runs.Spec.HealthCheckExprs
	runs.Spec.HealthCheckExprs = nil
	for _, check := range checks {
		if check.Kind == "BenchmarkSuite" {
			runs.Spec.HealthCheckExprs = append(runs.Spec.HealthCheckExprs, check)
		}
	}
	if len(runs.Spec.HealthCheckExprs) != 1 {
		t.Fatalf("the runs have %d expressions for suites, want 1", len(runs.Spec.HealthCheckExprs))
	}
	if diff := cmp.Diff(runs.Spec, suites.Spec); diff != "" {
		t.Errorf("suites (+) and runs (-):\n%s", diff)
	}
}

// TestNightlyRegression checks that the folder has the whole of a nightly regression: a schedule alone that measures, limits of history, a gate,
// and a level that was not moved.
func TestNightlyRegression(t *testing.T) {
	suite := built(t, "bench/suites")["BenchmarkSuite/bench/nightly"]
	spec := at(suite, "spec")
	for _, field := range []string{"schedule", "timeZone", "succeededHistoryLimit", "failedHistoryLimit"} {
		if spec[field] == nil {
			t.Errorf("it has no %s", field)
		}
	}
	if spec["runOn"] != "Never" {
		t.Errorf("runOn is %v", spec["runOn"])
	}
	if gate, _ := at(spec, "regression")["gate"].([]any); len(gate) != 1 {
		t.Errorf("the gate is %v", gate)
	}
	if moved, isThere := at(spec, "regression")["acknowledgements"].([]any); !isThere || len(moved) != 0 {
		t.Errorf("the acknowledgements are %v", moved)
	}
	if testbed := at(spec, "template", "experiment", "testbedRef")["name"]; testbed != "lab" {
		t.Errorf("it is on testbed %v", testbed)
	}
}

// TestFluxNotification checks that the alert is about every Kustomization that config/gitops or its pages make, and goes to a provider that is there.
func TestFluxNotification(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(top, "config/gitops/flux/notification.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	found := objects(t, text)
	var provider notification.Provider
	strict(t, found["Provider/flux-system/vnfbench"], &provider)
	var alert notification.Alert
	strict(t, found["Alert/flux-system/vnfbench"], &alert)
	if len(found) != 2 || alert.Spec.ProviderRef.Name != provider.Name || alert.Spec.EventSeverity != "error" {
		t.Errorf("%d objects, and the alert %+v", len(found), alert.Spec)
	}
	watched := map[string]bool{}
	for _, source := range alert.Spec.EventSources {
		watched[source.Kind+"/flux-system/"+source.Name] = true
	}
	// The page of the nightly regression adds the Kustomization of the suites.
	suites, _ := fluxSuites(t)
	want := []string{suites}
	for id := range built(t, "flux") {
		if strings.HasPrefix(id, "Kustomization/") {
			want = append(want, id)
		}
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(watched))); diff != "" {
		t.Error(diff)
	}
}

func TestArgoCD(t *testing.T) {
	type application struct {
		Metadata struct{ Annotations map[string]string }
		Spec     struct {
			Source struct {
				Path string
				Helm struct {
					ReleaseName  string
					ValuesObject map[string]any
				}
			}
			Destination struct{ Namespace string }
			SyncPolicy  struct {
				Automated map[string]any
				Retry     struct {
					Limit   int
					Refresh bool
				}
			}
		}
	}
	found := built(t, "argocd")
	maps.Copy(found, built(t, "argocd/apps"))
	const project = "AppProject/argocd/vnfbench-bench"
	want := []string{project, "Application/argocd/vnfbench", "Application/argocd/vnfbench-bench", "Application/argocd/vnfbench-operator", "Application/argocd/vnfbench-testbed"}
	if diff := cmp.Diff(want, ids(found)); diff != "" {
		t.Fatal(diff)
	}
	argoCDProject(t, found[project], found[want[2]])
	delete(found, project)
	want = want[1:]
	waves := map[string]string{}
	for id, o := range found {
		text, err := yaml.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		var a application
		if err := yaml.Unmarshal(text, &a); err != nil {
			t.Fatal(err)
		}
		exists(t, id, a.Spec.Source.Path)
		waves[id] = a.Metadata.Annotations["argocd.argoproj.io/sync-wave"]
		// Argo CD drops fields that are false from its Applications, and calls them out of sync then.
		if prune, written := a.Spec.SyncPolicy.Automated["prune"]; written && prune != true {
			t.Errorf("%s says prune: %v, want no such field", id, prune)
		}
		// What comes before the runs may have to wait for nodes, and a refused commit is mended by the next one.
		if retry := a.Spec.SyncPolicy.Retry; a.Spec.Source.Helm.ReleaseName == "" && (!retry.Refresh || waves[id] == "" && retry.Limit != -1) {
			t.Errorf("%s retries a sync by %+v", id, retry)
		}
		if option := a.Metadata.Annotations["argocd.argoproj.io/compare-options"]; waves[id] != "" && option != "ServerSideDiff=true" {
			t.Errorf("%s is compared by %q: defaults of the API server would be differences", id, option)
		}
		if a.Spec.Source.Helm.ReleaseName != "" {
			values, err := yaml.Marshal(a.Spec.Source.Helm.ValuesObject)
			if err != nil {
				t.Fatal(err)
			}
			takes(t, values)
		}
	}
	if diff := cmp.Diff(map[string]string{want[0]: "", want[1]: "2", want[2]: "0", want[3]: "1"}, waves); diff != "" {
		t.Error(diff)
	}
}

// argoCDProject checks that the Application of the bench is in a project that permits what its folders have, and nothing else, and is there first.
func argoCDProject(t *testing.T, project, bench object) {
	t.Helper()
	kinds := map[bool][]string{}
	for _, o := range built(t, "bench") {
		group, _, found := strings.Cut(o["apiVersion"].(string), "/")
		if !found {
			group = ""
		}
		namespaced := at(o, "metadata")["namespace"] != nil
		kinds[namespaced] = append(kinds[namespaced], group+"/"+o["kind"].(string))
	}
	// The page of the nightly regression adds the suites, and Argo CD shows their executions.
	kinds[true] = append(kinds[true], "vnfbench.io/BenchmarkSuite", "vnfbench.io/BenchmarkSuiteRun")
	for namespaced, field := range map[bool]string{false: "clusterResourceWhitelist", true: "namespaceResourceWhitelist"} {
		var permitted []string
		allowed, _ := at(project, "spec")[field].([]any)
		for _, one := range allowed {
			kind := one.(map[string]any)
			permitted = append(permitted, kind["group"].(string)+"/"+kind["kind"].(string))
		}
		slices.Sort(permitted)
		slices.Sort(kinds[namespaced])
		if diff := cmp.Diff(slices.Compact(kinds[namespaced]), permitted); diff != "" {
			t.Errorf("%s (+) and the folders (-):\n%s", field, diff)
		}
	}
	spec := at(bench, "spec")
	if name := at(project, "metadata")["name"]; spec["project"] != name {
		t.Errorf("the bench is in project %v, want %v", spec["project"], name)
	}
	if diff := cmp.Diff([]any{at(spec, "source")["repoURL"]}, at(project, "spec")["sourceRepos"]); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]any{any(at(spec, "destination"))}, at(project, "spec")["destinations"]); diff != "" {
		t.Error(diff)
	}
	if wave := at(project, "metadata", "annotations")["argocd.argoproj.io/sync-wave"]; wave != "0" {
		t.Errorf("the project is in wave %v, and the bench in 2", wave)
	}
}

// takes fails where the chart refuses values.
func takes(t *testing.T, values []byte) {
	t.Helper()
	if !bytes.Contains(values, []byte("registry")) {
		t.Fatalf("values without a registry: %s", values)
	}
	file := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(file, values, 0o600); err != nil {
		t.Fatal(err)
	}
	if len(chart(t, "--values", file)) < 15 {
		t.Error("the chart gives too few objects")
	}
}

// TestRunsInGit checks that runs keep their results when they leave Git, come after their Testbed, and
// never delete themselves, for they would be made again.
func TestRunsInGit(t *testing.T) {
	runs := 0
	for id, o := range built(t, "bench") {
		if o["kind"] != "BenchmarkRun" {
			continue
		}
		runs++
		annotations := at(o, "metadata", "annotations")
		for key, want := range map[string]string{
			"kustomize.toolkit.fluxcd.io/prune":  "disabled",
			"argocd.argoproj.io/sync-options":    "Prune=false",
			"argocd.argoproj.io/compare-options": "IgnoreExtraneous",
		} {
			if annotations[key] != want {
				t.Errorf("%s has %s: %v, want %s", id, key, annotations[key], want)
			}
		}
		if spec := at(o, "spec"); spec["ttlSecondsAfterFinished"] != nil {
			t.Errorf("%s would be measured again and again: it has ttlSecondsAfterFinished", id)
		} else if testbed := at(spec, "experiment", "testbedRef")["name"]; testbed != "lab" {
			t.Errorf("%s is on testbed %v: the suffix of names has changed its reference", id, testbed)
		}
	}
	if runs == 0 {
		t.Error("there are no runs")
	}
	// They would be deleted with their namespace.
	namespace := at(built(t, "bench/testbed")["Namespace//bench"], "metadata", "annotations")
	for key, want := range map[string]string{
		"kustomize.toolkit.fluxcd.io/prune": "disabled", "argocd.argoproj.io/sync-options": "Prune=false,Delete=false", "argocd.argoproj.io/compare-options": "IgnoreExtraneous",
	} {
		if namespace[key] != want {
			t.Errorf("the namespace of the runs has %s: %v, want %s", key, namespace[key], want)
		}
	}
}
