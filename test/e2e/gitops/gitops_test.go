// Package gitops runs those commands of docs/how-to/gitops.md and docs/how-to/nightly-regression.md that need no cluster. `make
// test-chart` runs it, which has kustomize.
package gitops

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"vnfbench.io/test/e2e/guide"
	"vnfbench.io/test/e2e/repository"
)

const (
	page    = "docs/how-to/gitops.md"
	nightly = "docs/how-to/nightly-regression.md"
)

// repositories makes those of what is measured, of the runs by the commands of the page, and the one to which that is pushed. It returns the page too.
func repositories(t *testing.T) (router, runs, remote string, commands *guide.Guide) {
	t.Helper()
	bin := t.TempDir()
	for name, variable := range map[string]string{"kustomize": "KUSTOMIZE", "kubectl-vnfbench": "PLUGIN"} {
		program := os.Getenv(variable)
		if program == "" {
			t.Skipf("NOT RUN: %s is not set: its value is the path of %s (make test-chart sets it)", variable, name)
		}
		if err := os.Symlink(program, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	// Without a cluster, kubectl calls the plugin, and says only whether a path that it is given is there.
	const kubectl = "#!/bin/sh\nif [ \"$1\" = vnfbench ]; then shift; exec kubectl-vnfbench \"$@\"; fi\nfor path; do case $path in config/*) test -e \"$path\" || { echo \"no $path\"; exit 1; };; esac; done\n"
	if err := os.WriteFile(filepath.Join(bin, "kubectl"), []byte(kubectl), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	repository.Isolate(t)

	router, runs, remote = t.TempDir(), t.TempDir(), t.TempDir()
	repository.Git(t, router, "init", "--quiet")
	repository.Git(t, router, "commit", "--quiet", "--allow-empty", "--message", "A router")
	repository.Git(t, remote, "init", "--quiet", "--bare")
	pages := filepath.Dir(page)
	if err := os.CopyFS(filepath.Join(runs, pages), os.DirFS(filepath.Join(guide.Root(t), pages))); err != nil {
		t.Fatal(err)
	}
	commands = guide.Open(t, page, runs)
	commands.Run(t, "Run benchmarks from Git", 0, "~/src/vnfbench", guide.Root(t))
	repository.Git(t, runs, "init", "--quiet", "--initial-branch=main")
	repository.Git(t, runs, "add", ".")
	repository.Git(t, runs, "commit", "--quiet", "--message", "Runs")
	repository.Git(t, runs, "remote", "add", "origin", remote)
	repository.Git(t, runs, "push", "--quiet", "--set-upstream", "origin", "main")
	return router, runs, remote, commands
}

// build returns the objects of a folder of a repository.
func build(t *testing.T, repository, folder string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "kustomize", "build", folder)
	command.Dir = repository
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("kustomize: %v\n%s", err, out)
	}
	return string(out)
}

// TestNightlyPage runs the commands in one shell, in a repository with config/gitops and nothing else of the project.
func TestNightlyPage(t *testing.T) {
	firewall, runs, remote, _ := repositories(t)
	text, err := os.ReadFile(filepath.Join(runs, nightly))
	if err != nil {
		t.Fatal(err)
	}
	const path = "config/gitops/bench/suites/vyos.yaml"
	_, manifest, _ := strings.Cut(string(text), "```yaml\n# "+path+"\n")
	manifest, _, found := strings.Cut(manifest, "```\n")
	if !found {
		t.Fatalf("%s has no manifest %s", nightly, path)
	}
	if err := os.WriteFile(filepath.Join(runs, path), []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	commands := guide.Open(t, nightly, runs)
	const put, machine = "Put it into Git", "A vendor's machine"
	const images = "With Flux, who may bring an image"
	commands.Together(t, []guide.Block{{Heading: put}, {Heading: put, Index: 1}, {Heading: images}, {Heading: machine}, {Heading: machine, Index: 1}, {Heading: "Keep and notify"}},
		"~/src/my-firewall", firewall, "~/src/vyos", firewall)
	const flux = "needs a cluster: make e2e-flux"
	commands.Whole(t, "What you see 0: "+flux, "What you see 1: "+flux, "How to read it 0: "+flux)

	revision := repository.Git(t, firewall, "rev-parse", "--short=8", "HEAD")
	suites := build(t, runs, "config/gitops/bench")
	for _, want := range []string{"  name: nightly\n", "  name: vyos\n", "containerDisk: registry.example/vyos:1.6", `version: "1.6"`} {
		if !strings.Contains(suites, want) {
			t.Errorf("%q is not in Git:\n%s", want, suites)
		}
	}
	if got := strings.Count(suites, "revision: "+revision) + strings.Count(suites, fmt.Sprintf("revision: %q", revision)); got != 2 {
		t.Errorf("%d suites have the revision %s, want 2:\n%s", got, revision, suites)
	}
	if follows := build(t, runs, "config/gitops/flux"); !strings.Contains(follows, "name: vnfbench-suites") {
		t.Errorf("Flux does not follow the suites:\n%s", follows)
	}
	if rights := build(t, runs, "config/gitops/flux/testbed"); strings.Count(rights, "name: vnfbench-bench-images") != 3 {
		t.Errorf("the right to bring images is not there:\n%s", rights)
	}
	if release := build(t, runs, "config/gitops/flux/operator"); !strings.Contains(release, "results:\n      enabled: true") {
		t.Errorf("the archive is not there:\n%s", release)
	}
	if pushed, here := repository.Git(t, remote, "rev-parse", "main"), repository.Git(t, runs, "rev-parse", "HEAD"); pushed != here {
		t.Errorf("the commit %s was not pushed; there is %s", here, pushed)
	}
}

func TestPage(t *testing.T) {
	router, runs, remote, commands := repositories(t)
	commands.Run(t, "Measure again", 0, "~/src/my-router", router)
	name := "name: router-" + repository.Git(t, router, "rev-parse", "--short=8", "HEAD")
	built := build(t, runs, "config/gitops/bench")
	for _, want := range []string{name, "kustomize.toolkit.fluxcd.io/prune: disabled", "argocd.argoproj.io/sync-options: Prune=false"} {
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
		"Argo CD 0: needs Argo CD: make e2e-argocd", "Argo CD 1: needs Argo CD: make e2e-argocd",
		"What happens to the old run 0: needs a cluster: make e2e-flux",
		"Remove it 0: needs Flux: make e2e-flux", "Remove it 1: needs Argo CD: make e2e-argocd")
}
