package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"vnfbench.io/operator/api/v1alpha1"
	"vnfbench.io/test/e2e/guide"
	"vnfbench.io/test/e2e/repository"
)

const (
	gitopsPage  = "docs/how-to/gitops.md"
	nightlyPage = "docs/how-to/nightly-regression.md"
	// copyHeading is that of the commands that make the repository.
	copyHeading = "Run benchmarks from Git"
	// benchNamespace is that of the runs of config/gitops.
	benchNamespace = "bench"
	// onceLooked is how long a tool takes at most to apply a commit after it was asked to look. It has to be shorter than
	// the trial of the run that a new commit does not wait for.
	onceLooked = 2 * time.Minute
)

// part is a part of a test that the parts after it need.
type part struct {
	name string
	run  func(*testing.T)
}

// inOrder runs parts until one fails, which it diagnoses, and reports whether all were run. Those that -run leaves out are not run.
func inOrder(t *testing.T, diagnose func(*testing.T), parts ...part) bool {
	t.Helper()
	count := 0
	for _, p := range parts {
		began, ran := time.Now(), false
		passed := t.Run(p.name, func(t *testing.T) {
			ran = true
			t.Cleanup(func() {
				if t.Failed() {
					diagnose(t)
				}
			})
			p.run(t)
		})
		if !ran {
			t.Logf("%s: NOT RUN", p.name)
			continue
		}
		count++
		t.Logf("%s: passed %t after %s", p.name, passed, time.Since(began).Round(time.Second))
		if !passed {
			t.Fatalf("what comes after %s needs it", p.name)
		}
	}
	if count == 0 {
		t.Fatal("no part was run: -run names none of them")
	}
	return count == len(parts)
}

// followed is a repository with config/gitops that a tool follows.
type followed struct {
	// tool is the heading of the tool in the page. The second commands there make it look at the repository.
	tool string
	// work is the repository's work tree, in which the commands of the documentation run, remote that to which they push, and router the
	// repository of what is measured.
	work, remote, router string
	gitops               *guide.Guide
	nightly              *guide.Guide
}

// newFollowed makes the files of a repository by the commands of the page, and sets the address at which the cluster gets them once they are
// published. At the test's end nothing of it is left in the cluster, and before it nothing of a test that ended in the middle.
func newFollowed(t *testing.T, tool string) *followed {
	t.Helper()
	tag := os.Getenv("VNFBENCH_IMAGE_TAG")
	if tag == "" {
		t.Fatal("VNFBENCH_IMAGE_TAG is not set: run this test by its target of make, which loads the images")
	}
	removeFollowed(t)
	t.Cleanup(func() { removeFollowed(t) })
	repository.Isolate(t)
	root := t.TempDir()
	f := &followed{tool: tool, work: t.TempDir(), remote: filepath.Join(root, "lab", "vnfbench"), router: t.TempDir()}
	repository.Git(t, root, "init", "--quiet", "--bare", "--initial-branch=main", f.remote)
	source := serve(t, gitServer(t, root))
	const pages = "docs/how-to"
	must(t, os.CopyFS(filepath.Join(f.work, pages), os.DirFS(filepath.Join(guide.Root(t), pages))))
	f.gitops, f.nightly = guide.Open(t, gitopsPage, f.work), guide.Open(t, nightlyPage, f.work)
	f.gitops.Run(t, copyHeading, 0, "~/src/vnfbench", guide.Root(t))
	for _, path := range []string{"flux/source.yaml", "argocd/root.yaml", "argocd/apps/operator.yaml", "argocd/apps/testbed.yaml", "argocd/apps/bench.yaml", "argocd/apps/project.yaml"} {
		f.edit(t, "config/gitops/"+path, "https://git.example.com", source)
	}
	for _, path := range []string{"flux/operator/release.yaml", "argocd/apps/operator.yaml"} {
		f.edit(t, "config/gitops/"+path, "registry.example.com/lab", "localhost", `"0.1.0"`, fmt.Sprintf("%q", tag))
	}
	// The delay that the sample allows takes a machine that does nothing else.
	f.edit(t, "config/gitops/bench/runs/router.yaml", "atMost: 10000000}", "atMost: 1000000000}")
	// No night comes unless the test wants one: it is half a day away.
	away := time.Now().Add(12 * time.Hour).UTC().Hour()
	f.edit(t, nightlyFile, `schedule: "0 1 * * *"`, fmt.Sprintf(`schedule: "0 %d * * *"`, away), "timeZone: Europe/Berlin", "timeZone: UTC")
	repository.Git(t, f.router, "init", "--quiet")
	return f
}

// publish makes the first commit of the repository.
func (f *followed) publish(t *testing.T) {
	t.Helper()
	repository.Git(t, f.work, "init", "--quiet", "--initial-branch=main")
	repository.Git(t, f.work, "add", ".")
	repository.Git(t, f.work, "commit", "--quiet", "--message", "The operator, a Testbed and a run")
	repository.Git(t, f.work, "remote", "add", "origin", f.remote)
	repository.Git(t, f.work, "push", "--quiet", "--set-upstream", "origin", "main")
}

// nightlyFile is the suite of the page, in the folder that it puts into Git, and imageSuiteFile where the page has one of an image.
const (
	nightlyFile    = "config/gitops/bench/suites/nightly.yaml"
	imageSuiteFile = "config/gitops/bench/suites/vyos.yaml"
	// machineHeading is that of the commands that put it there and change its image.
	machineHeading = "A vendor's machine"
)

// vendorImage is the image of the page's machine, without its tag. The tests give testpmd's this name: an image that is not the project's.
const vendorImage = "registry.example/vyos:"

// imageSuite measures that image as a container. Its line of the image and its subject are those that the commands of the page change, and its
// chain is that of a sample.
func imageSuite(t *testing.T) string {
	t.Helper()
	sample, err := os.ReadFile(filepath.Join(guide.Root(t), "config/samples/custom-testpmd.yaml"))
	must(t, err)
	_, chain, _ := strings.Cut(string(sample), "    chain:\n")
	chain, _, _ = strings.Cut(chain, "    traffic:\n")
	for _, change := range [][2]string{{"registry.example/dpdk-testpmd:22.11", vendorImage + "1.5"}, {"readiness: {bootSeconds: 5}", "imagePullPolicy: Never\n        readiness: {bootSeconds: 2}"}} {
		if !strings.Contains(chain, change[0]) {
			t.Fatalf("the chain of the sample does not have %q:\n%s", change[0], chain)
		}
		chain = strings.Replace(chain, change[0], change[1], 1)
	}
	// A suite has its experiment two spaces deeper.
	chain = "  " + strings.ReplaceAll(strings.TrimSuffix(chain, "\n"), "\n", "\n  ") + "\n"
	return `apiVersion: vnfbench.io/v1alpha1
kind: BenchmarkSuite
metadata: {name: vyos, namespace: bench}
spec:
  runOn: Revision
  template:
    subject: {name: vyos, version: "1.5", revision: "0a1b2c3d"}
    experiment:
      testbedRef: {name: lab}
      startupSeconds: 120
      traffic: {frameBytes: [128]}
      measurements:
        warmUpMilliseconds: 500
        settleMilliseconds: 2000
        latency: {trialMilliseconds: 2000, loads: [{name: low, framesPerSecond: 100}]}
      chain:
` + chain
}

// putsAnImage puts the suites of the page into Git, and the one of an image next to them.
func (f *followed) putsAnImage(t *testing.T) {
	t.Helper()
	testpmdAs(t, vendorImage+"1.5")
	f.write(t, imageSuiteFile, imageSuite(t))
	f.nightly.Run(t, machineHeading, 0)
	f.look(t)
}

// putsAnotherImage commits the next image and its revision by the commands of the page.
func (f *followed) putsAnotherImage(t *testing.T) {
	t.Helper()
	testpmdAs(t, vendorImage+"1.6")
	repository.Git(t, f.router, "commit", "--quiet", "--allow-empty", "--message", "Another version")
	f.nightly.Run(t, machineHeading, 1, "containerDisk", "image", "~/src/vyos", f.router)
	text, err := os.ReadFile(filepath.Join(f.work, imageSuiteFile))
	must(t, err)
	for _, want := range []string{"image: " + vendorImage + "1.6\n", `version: "1.6", revision: "` + f.revision(t) + `"`} {
		if strings.Count(string(text), want) != 1 {
			t.Errorf("after the commands of the page, the suite has not %q once:\n%s", want, text)
		}
	}
	f.look(t)
}

// imageOf returns the image of the function of an execution that has succeeded.
func (f *followed) imageOf(t *testing.T, execution string) string {
	t.Helper()
	runs := runsOf(t, benchNamespace, execution)
	if len(runs) != 1 || condition(&runs[0], v1alpha1.ConditionSucceeded).Status != metav1.ConditionTrue || len(runs[0].Status.Deployments) != 1 || len(runs[0].Status.Deployments[0].Functions) != 1 {
		t.Fatalf("%s has %d runs, want one that has succeeded with one function: %+v", execution, len(runs), runs)
	}
	return runs[0].Status.Deployments[0].Functions[0].ImageID
}

// measuredAnother checks that the suite measured again, by another image of its function, and of which revision.
func (f *followed) measuredAnother(t *testing.T, before string) {
	t.Helper()
	now := f.imageOf(t, "vyos-2")
	if now == before {
		t.Errorf("both executions measured the image %s", now)
	}
	suite := &v1alpha1.BenchmarkSuite{}
	must(t, cluster.Get(t.Context(), client.ObjectKey{Namespace: benchNamespace, Name: "vyos"}, suite))
	if last := suite.Status.LastExecution; last == nil || last.Name != "vyos-2" || last.Revision != f.revision(t) {
		t.Errorf("the last execution is %+v, want vyos-2 of the new revision", last)
	}
	t.Logf("vyos-1 measured %s, vyos-2 %s", before, now)
}

// measureAgain runs the commands of the page after a commit of what is measured, and returns the name of the new run.
func (f *followed) measureAgain(t *testing.T) string {
	t.Helper()
	repository.Git(t, f.router, "commit", "--quiet", "--allow-empty", "--message", "A router")
	f.gitops.Run(t, "Measure again", 0, "~/src/my-router", f.router)
	f.look(t)
	return "router-" + f.revision(t)
}

// revision returns that of what is measured.
func (f *followed) revision(t *testing.T) string {
	t.Helper()
	return repository.Git(t, f.router, "rev-parse", "--short=8", "HEAD")
}

// look makes the tool look at the repository.
func (f *followed) look(t *testing.T) {
	t.Helper()
	f.gitops.Run(t, f.tool, 1)
}

// bindingName is how the name of the binding begins that putsABinding commits, and that no tool may apply.
const bindingName = "not-a-run"

// putsABinding commits what is no run into the folder of the runs: an object that would give rights in the whole cluster. removesIt removes it again.
func (f *followed) putsABinding(t *testing.T) (removesIt func()) {
	t.Helper()
	const folder = "config/gitops/bench/runs/"
	f.write(t, folder+"binding.yaml", `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: `+bindingName+`}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}
subjects:
- {kind: ServiceAccount, name: default, namespace: bench}
`)
	f.edit(t, folder+"kustomization.yaml", "- router.yaml\n", "- router.yaml\n- binding.yaml\n")
	f.push(t, "What is no run")
	f.look(t)
	return func() {
		if out, code := kubectl(t, "get", "clusterrolebindings", "-o", "name"); code != 0 || strings.Contains(out, bindingName) {
			t.Errorf("a commit to the runs has made a ClusterRoleBinding, or kubectl fails with code %d:\n%s", code, out)
		}
		f.edit(t, folder+"kustomization.yaml", "- binding.yaml\n", "")
		must(t, os.Remove(filepath.Join(f.work, folder, "binding.yaml")))
		f.push(t, "Runs alone")
		f.look(t)
	}
}

// removeBindings removes the bindings of putsABinding, which a tool may have applied in spite of the limits: they would stay when they leave Git.
func removeBindings(t *testing.T) {
	t.Helper()
	found := &rbacv1.ClusterRoleBindingList{}
	ctx := context.Background() // also after the test's end
	if err := cluster.List(ctx, found); err != nil {
		t.Errorf("looking for bindings: %v", err)
	}
	for i := range found.Items {
		if strings.HasPrefix(found.Items[i].Name, bindingName) {
			if err := client.IgnoreNotFound(cluster.Delete(ctx, &found.Items[i])); err != nil {
				t.Errorf("deleting a binding: %v", err)
			}
		}
	}
}

// isRemoved removes everything by the page's commands for the tool, which are the block of that number, and checks that the namespace is left,
// without an operator, a Testbed or a run, and nothing that would make them again.
func (f *followed) isRemoved(t *testing.T, block int) {
	t.Helper()
	f.gitops.Run(t, "Remove it", block)
	for _, list := range []client.ObjectList{
		&v1alpha1.TestbedList{}, &v1alpha1.BenchmarkRunList{}, &v1alpha1.BenchmarkSuiteList{}, &v1alpha1.BenchmarkSuiteRunList{},
	} {
		must(t, retry(t, func() error { return cluster.List(t.Context(), list) }))
		if n := meta.LenList(list); n > 0 {
			t.Errorf("%d objects are left of %T", n, list)
		}
	}
	untilGone(t, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "vnfbench-system", Name: "vnfbench"}})
	ns := &corev1.Namespace{}
	must(t, cluster.Get(t.Context(), client.ObjectKey{Name: benchNamespace}, ns))
	if ns.DeletionTimestamp != nil {
		t.Errorf("the namespace %s is being deleted", benchNamespace)
	}
	for _, kind := range []schema.GroupVersionKind{fluxKustomization, argoCDApplication} {
		if !served(t, kind) {
			continue
		}
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind)
		must(t, retry(t, func() error { return cluster.List(t.Context(), list) }))
		for _, o := range list.Items {
			t.Errorf("the %s %s is left, and makes again what is deleted", kind.Kind, o.GetName())
		}
	}
}

// edit replaces texts that a file of the work tree must have.
func (f *followed) edit(t *testing.T, path string, pairs ...string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(f.work, path))
	must(t, err)
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(string(text), pairs[i]) {
			t.Fatalf("%s does not contain %q:\n%s", path, pairs[i], text)
		}
	}
	f.write(t, path, strings.NewReplacer(pairs...).Replace(string(text)))
}

func (f *followed) write(t *testing.T, path, text string) {
	t.Helper()
	path = filepath.Join(f.work, path)
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.WriteFile(path, []byte(text), 0o644))
}

func (f *followed) push(t *testing.T, message string) {
	t.Helper()
	repository.Git(t, f.work, "add", ".")
	repository.Git(t, f.work, "commit", "--quiet", "--message", message)
	repository.Git(t, f.work, "push", "--quiet")
}

// commit returns the last commit of the repository.
func (f *followed) commit(t *testing.T) string {
	t.Helper()
	return repository.Git(t, f.work, "rev-parse", "HEAD")
}

// lookUp reads an object whose Go type is not at hand into what the test looks at of it, which stays empty where there is no object.
func lookUp(t *testing.T, kind schema.GroupVersionKind, namespace, name string, into any) {
	t.Helper()
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(kind)
	must(t, client.IgnoreNotFound(retry(t, func() error {
		return cluster.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, o)
	})))
	text, err := json.Marshal(o.Object)
	must(t, err)
	must(t, json.Unmarshal(text, into))
}

// showAll prints what kubectl answers to each of the arguments.
func showAll(t *testing.T, all ...[]string) {
	for _, args := range all {
		cmd := exec.Command(os.Getenv("LAB"), append([]string{"kubectl", "--"}, args...)...)
		out, _ := cmd.CombinedOutput()
		t.Logf("kubectl %s\n%s", strings.Join(args, " "), out)
	}
}

// remove deletes objects, and waits until they are gone. It works after the test's end too.
func remove(t *testing.T, namespace string, args ...string) {
	t.Helper()
	cmd := exec.Command(os.Getenv("LAB"), append([]string{"kubectl", "--", "-n", namespace, "delete", "--ignore-not-found", "--timeout=5m"}, args...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("deleting %v: %v\n%s", args, err, out)
	}
}

// served reports whether the cluster has a kind.
func served(t *testing.T, kind schema.GroupVersionKind) bool {
	t.Helper()
	_, err := cluster.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil && !meta.IsNoMatchError(err) {
		t.Errorf("looking for the kind %s: %v", kind.Kind, err)
	}
	return err == nil
}

// removeFollowed removes what a repository has brought into the cluster by either tool, whose kinds stay: first what makes the runs and the suites,
// then these, the Testbed, which takes an operator, and at last the operator.
func removeFollowed(t *testing.T) {
	t.Helper()
	isFlux, isArgoCD := served(t, fluxKustomization), served(t, argoCDApplication)
	if isFlux {
		stopFlux(t)
	}
	if isArgoCD {
		stopArgoCD(t)
	}
	removeBindings(t)
	remove(t, benchNamespace, "namespace", benchNamespace)
	if isFlux {
		remove(t, fluxNamespace, fluxKustomizations, "vnfbench-testbed")
	}
	testbed := &v1alpha1.Testbed{ObjectMeta: metav1.ObjectMeta{Name: "lab"}}
	// Also after the test's end.
	if err := client.IgnoreNotFound(cluster.Delete(context.Background(), testbed)); err != nil && !meta.IsNoMatchError(err) {
		t.Errorf("deleting the Testbed: %v", err)
	}
	awaitTestbedGone(t)
	if isFlux {
		removeFluxOperator(t)
	}
	if isArgoCD {
		removeArgoCDOperator(t)
	}
}

// awaitTestbedGone waits until the Testbed of config/gitops is gone, which takes an operator.
func awaitTestbedGone(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), stepTimeout)
	defer cancel()
	for {
		err := cluster.Get(ctx, client.ObjectKey{Name: "lab"}, &v1alpha1.Testbed{})
		if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
			return
		}
		if ctx.Err() != nil {
			t.Errorf("the Testbed is still there: %v", err)
			return
		}
		time.Sleep(time.Second)
	}
}
