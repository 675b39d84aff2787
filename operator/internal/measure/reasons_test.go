package measure

import (
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"vnfbench.io/operator/api/v1alpha1"
)

func TestCheckedReasons(t *testing.T) {
	known := FailureState{v1alpha1.ReasonNoPathThroughChain, "no frame came back"}
	if got := known.Checked(); got != known {
		t.Errorf("%+v", got)
	}
	for _, reason := range []string{v1alpha1.ReasonSucceeded, v1alpha1.ReasonSuspended, "bad reason!", "", strings.Repeat("x", 1<<20)} {
		got := FailureState{reason, "NDR is 14880952 frames/s"}.Checked()
		if got.Reason != v1alpha1.ReasonMeasurerFailed || !strings.Contains(got.Message, "which no measurer gives: NDR") || len(got.Message) > 600 {
			t.Errorf("%.20q: %.700s", reason, got)
		}
	}
}

// TestEveryReasonOfTheMeasurerIsKnown reads the packages that run in the measurer's pod.
func TestEveryReasonOfTheMeasurerIsKnown(t *testing.T) {
	use := regexp.MustCompile(`v1alpha1\.(Reason[A-Z][A-Za-z]*)`)
	used := map[string]bool{"ReasonMeasurerFailed": true}
	for _, directory := range []string{"measure", "measurer", "traffic", "procedure", "search", "endpoint", "trialstore", "generator", "evidence"} {
		err := filepath.WalkDir(filepath.Join("..", directory), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || path == filepath.Join("..", "measure", "reasons.go") {
				return err
			}
			content, err := os.ReadFile(path)
			for _, match := range use.FindAllStringSubmatch(string(content), -1) {
				used[match[1]] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	content, err := os.ReadFile("reasons.go")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, match := range use.FindAllStringSubmatch(string(content), -1) {
		listed[match[1]] = true
	}
	if !reflect.DeepEqual(used, listed) {
		t.Errorf("the measurer uses %v, and reasons.go lists %v", used, listed)
	}
}
