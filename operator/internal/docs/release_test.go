package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// read returns the text of a file, by its path from the root.
func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(top, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestContainerfile checks that each image of an installation is a target of the Containerfile, by the user that the page of
// releases says, and is packed by the script of a release with the same user.
func TestContainerfile(t *testing.T) {
	_, list, _ := strings.Cut(read(t, "Makefile"), "\nIMAGES := ")
	list, _, _ = strings.Cut(list, "\n")
	want := strings.Fields(list)
	slices.Sort(want)
	users := map[string]map[string]string{}
	for path, pattern := range map[string]string{
		"operator/images/Containerfile":  `(?s)FROM scratch AS ([a-z]+)\n[^\n]*\nLABEL.*?\nUSER (\d+:\d+)\nENTRYPOINT \["/usr/local/bin/`,
		"test/scripts/release-images.sh": `(?m)^image ([a-z]+) (\d+:\d+)$`,
		"docs/how-to/release.md":         `(?m)^\| ([a-z]+) \| (\d+:\d+) \| \d+ \|`,
	} {
		users[path] = map[string]string{}
		for _, match := range regexp.MustCompile(pattern).FindAllStringSubmatch(read(t, path), -1) {
			users[path][match[1]] = match[2]
		}
		var got []string
		for name := range users[path] {
			got = append(got, name)
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s has the images %q, and the Makefile %q", path, got, want)
		}
	}
	for name, user := range users["docs/how-to/release.md"] {
		for path := range users {
			if users[path][name] != user {
				t.Errorf("%s says user %q of %s, and docs/how-to/release.md %q", path, users[path][name], name, user)
			}
		}
	}
}

var (
	usesAction = regexp.MustCompile(`(?m)uses: (\S+)`)
	pinned     = regexp.MustCompile(`@[0-9a-f]{40}$`)
	makeInCI   = regexp.MustCompile(`\bmake (?:--no-print-directory )?((?:[a-z][-a-z0-9]* ?)+)`)
	targetsIn  = regexp.MustCompile(`targets: ((?:[a-z][-a-z0-9]* ?)+)`)
)

// TestCI checks that the files of CI call targets that exist, the same in both, and pin actions by commit.
func TestCI(t *testing.T) {
	targets := map[string]bool{}
	for _, match := range makeTarget.FindAllStringSubmatch(read(t, "Makefile"), -1) {
		targets[match[1]] = true
	}
	called := map[string]map[string]bool{}
	for system, paths := range map[string][]string{"GitHub": {".github/workflows/ci.yml", ".github/workflows/release.yml"}, "GitLab": {".gitlab-ci.yml"}} {
		called[system] = map[string]bool{}
		for _, path := range paths {
			text := regexp.MustCompile(`(?m)^ *#.*$|name: make.*$`).ReplaceAllString(read(t, path), "")
			for _, action := range usesAction.FindAllStringSubmatch(text, -1) {
				if !pinned.MatchString(action[1]) {
					t.Errorf("%s: the action %s is not pinned by a commit", path, action[1])
				}
			}
			for _, match := range slices.Concat(makeInCI.FindAllStringSubmatch(text, -1), targetsIn.FindAllStringSubmatch(text, -1)) {
				for word := range strings.FieldsSeq(match[1]) {
					if !targets[word] {
						t.Errorf("%s calls make %s, which is no target", path, word)
					}
					called[system][word] = true
				}
			}
		}
	}
	for _, name := range []string{"lint", "verify", "test", "e2e", "e2e-kubevirt", "e2e-nodes", "e2e-hardware", "fuzz", "test-chart", "test-release", "test-containerfile", "test-arm64", "release", "release-notes", "login", "publish"} {
		for system := range called {
			if !called[system][name] {
				t.Errorf("the files of %s do not call make %s", system, name)
			}
		}
	}
}

var (
	eachTimeout  = regexp.MustCompile(`-timeout (\d+)m\b`)
	oneTimeout   = regexp.MustCompile(`\btimeout=(\d+)m\b`)
	gitHubLimit  = regexp.MustCompile(`timeout-minutes: (\d+)`)
	gitLabLimit  = regexp.MustCompile(`(?m)^  timeout: (\d+) hours$`)
	buildMinutes = 60
)

// TestJobsOutlastTheirTests checks that a job of CI has time to build, and for all that Go gives the tests of a lab.
func TestJobsOutlastTheirTests(t *testing.T) {
	number := func(text string) int {
		t.Helper()
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	gitHub := gitHubLimit.FindStringSubmatch(read(t, ".github/workflows/ci.yml"))
	gitLab := gitLabLimit.FindStringSubmatch(read(t, ".gitlab-ci.yml"))
	if gitHub == nil || gitLab == nil {
		t.Fatal("the files of CI have no limit that this test finds")
	}
	limits := map[string]int{"GitHub": number(gitHub[1]), "GitLab": 60 * number(gitLab[1])}
	for _, script := range []string{"test/scripts/e2e-extended.sh", "test/scripts/e2e-nodes.sh"} {
		text, minutes, longest := read(t, script), buildMinutes, 0
		for _, match := range eachTimeout.FindAllStringSubmatch(text, -1) {
			minutes += number(match[1])
		}
		for _, match := range oneTimeout.FindAllStringSubmatch(text, -1) {
			longest = max(longest, number(match[1]))
		}
		if minutes += longest; minutes <= buildMinutes+20 {
			t.Errorf("%s: this test finds no limits of test/e2e", script)
		}
		for system, limit := range limits {
			if limit < minutes {
				t.Errorf("a job of %s ends after %d minutes, and %s may take %d", system, limit, script, minutes)
			}
		}
	}
}

// TestChartNamesItsCRDs checks that Artifact Hub gets every kind of the chart.
func TestChartNamesItsCRDs(t *testing.T) {
	chart := read(t, "charts/vnfbench/Chart.yaml")
	files, err := filepath.Glob(filepath.Join(top, "charts/vnfbench/files/crds/*.yaml"))
	if err != nil || len(files) < 5 {
		t.Fatalf("%d CRDs: %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), "vnfbench.io_"), ".yaml") + ".vnfbench.io"
		if !strings.Contains(chart, "name: "+name+",") {
			t.Errorf("Chart.yaml does not name %s", name)
		}
	}
	if got := strings.Count(chart, "{kind: "); got != len(files) {
		t.Errorf("Chart.yaml names %d kinds, and the chart has %d", got, len(files))
	}
}

// TestChangelog checks that the changelog has the chart's version, and a part for what is not released.
func TestChangelog(t *testing.T) {
	version := regexp.MustCompile(`(?m)^version: (\S+)$`).FindStringSubmatch(read(t, "charts/vnfbench/Chart.yaml"))
	if version == nil {
		t.Fatal("Chart.yaml has no version")
	}
	log := read(t, "CHANGELOG.md")
	for _, heading := range []string{"Unreleased", version[1]} {
		if !strings.Contains(log, "\n## "+heading+"\n") {
			t.Errorf("CHANGELOG.md has no heading %q", heading)
		}
	}
}
