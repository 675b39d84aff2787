// Package gitops runs those commands of docs/how-to/gitops.md that need no cluster. `make
// test-chart` runs it, which has kustomize.
package gitops

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"vnfbench.io/test/e2e/guide"
	"vnfbench.io/test/e2e/repository"
)

const page = "docs/how-to/gitops.md"

func TestPage(t *testing.T) {
	kustomize := os.Getenv("KUSTOMIZE")
	if kustomize == "" {
		t.Skip("NOT RUN: KUSTOMIZE is not set: its value is the path of kustomize (make test-chart sets it)")
	}
	bin := t.TempDir()
	if err := os.Symlink(kustomize, filepath.Join(bin, "kustomize")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	repository.Isolate(t)

	// What is measured, and the repository with the runs, which is pushed to another.
	router, runs, remote := t.TempDir(), t.TempDir(), t.TempDir()
	repository.Git(t, router, "init", "--quiet")
	repository.Git(t, router, "commit", "--quiet", "--allow-empty", "--message", "A router")
	repository.Git(t, remote, "init", "--quiet", "--bare")
	for _, path := range []string{"config/gitops", filepath.Dir(page)} {
		if err := os.CopyFS(filepath.Join(runs, path), os.DirFS(filepath.Join(guide.Root(t), path))); err != nil {
			t.Fatal(err)
		}
	}
	repository.Git(t, runs, "init", "--quiet", "--initial-branch=main")
	repository.Git(t, runs, "add", ".")
	repository.Git(t, runs, "commit", "--quiet", "--message", "Runs")
	repository.Git(t, runs, "remote", "add", "origin", remote)
	repository.Git(t, runs, "push", "--quiet", "--set-upstream", "origin", "main")

	commands := guide.Open(t, page, runs)
	commands.Run(t, "Measure again", 0, "~/src/my-router", router)
	name := "name: router-" + repository.Git(t, router, "rev-parse", "--short=8", "HEAD")
	build := exec.CommandContext(t.Context(), "kustomize", "build", "config/gitops/bench")
	build.Dir = runs
	out, err := build.CombinedOutput()
	if err != nil {
		t.Fatalf("kustomize: %v\n%s", err, out)
	}
	built := string(out)
	for _, want := range []string{name, "name: lab\n", "kustomize.toolkit.fluxcd.io/prune: disabled", "argocd.argoproj.io/sync-options: Prune=false"} {
		if !strings.Contains(built, want) {
			t.Errorf("the new commit has no %q:\n%s", want, built)
		}
	}
	if strings.Contains(built, "router-0a1b2c3d") {
		t.Error("the run's old name is still there")
	}
	if pushed, here := repository.Git(t, remote, "rev-parse", "main"), repository.Git(t, runs, "rev-parse", "HEAD"); pushed != here {
		t.Errorf("the commit %s was not pushed; there is %s", here, pushed)
	}
	if message := repository.Git(t, runs, "log", "-1", "--format=%s"); message != "Measure my-router "+strings.TrimPrefix(name, "name: router-") {
		t.Errorf("the commit says %q", message)
	}
	commands.Whole(t,
		"Flux 0: needs Flux: make e2e-flux", "Flux 1: needs Flux: make e2e-flux", "Notifications 0: needs Flux: make e2e-flux",
		"Argo CD 0: needs a cluster with Argo CD; make test-argocd gives the ConfigMap to Argo CD's code, make test-chart builds the folder",
		"Argo CD 1: needs a cluster with Argo CD",
		"What happens to the old run 0: needs a cluster: make e2e-flux")
}
