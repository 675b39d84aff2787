package baseline

import (
	"strings"
	"testing"

	"vnfbench.io/operator/api/v1alpha1"
)

func TestGeneratorWarning(t *testing.T) {
	one, other := "sha256:"+strings.Repeat("a", 64), "sha256:"+strings.Repeat("b", 64)
	for name, test := range map[string]struct {
		before, now string
		want        bool
	}{
		"the same":                       {"a/measurer@" + one, "a/measurer@" + one, false},
		"the same of another registry":   {"a/measurer@" + one, "b/measurer@" + one, false},
		"another":                        {"a/measurer@" + one, "a/measurer@" + other, true},
		"another, with a long name":      {strings.Repeat("a", 500), "a/measurer@" + other, true},
		"the earlier one is not known":   {"", "a/measurer@" + one, false},
		"this run's is not known so far": {"a/measurer@" + one, "", false},
	} {
		got := GeneratorWarning(v1alpha1.BaselineReport{GeneratorImageID: test.before}, test.now)
		if (len(got) == 1) != test.want {
			t.Errorf("%s: %+v", name, got)
		}
		for _, w := range got {
			if w.Code != v1alpha1.WarningBaselineGeneratorDiffers || len(w.Message) > 512 || !strings.Contains(w.Message, other) || w.Size != "" {
				t.Errorf("%s: %d bytes, %+v", name, len(w.Message), w)
			}
		}
	}
}
