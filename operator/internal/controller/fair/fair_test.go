package fair

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestShare(t *testing.T) {
	namespaceOf := func(name string) string { return name[:1] }
	for name, test := range map[string]struct {
		ordered []string
		most    int
		want    []string
	}{
		"none":                          {nil, 3, []string{}},
		"all fit, the first come first": {[]string{"a1", "a2", "b1", "a3", "b2"}, 9, []string{"a1", "b1", "a2", "b2", "a3"}},
		"a namespace with many":         {[]string{"a1", "a2", "a3", "a4", "b1", "c1"}, 4, []string{"a1", "b1", "c1", "a2"}},
		"one namespace alone":           {[]string{"a1", "a2", "a3"}, 2, []string{"a1", "a2"}},
	} {
		if diff := cmp.Diff(test.want, Share(test.ordered, test.most, namespaceOf)); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}
