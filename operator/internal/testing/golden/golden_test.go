package golden

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// documents returns one example of each change that a document can have.
func documents() (old, new map[string]string) {
	old = map[string]string{
		"Pod/a": "kind: Pod\nspec:\n  containers:\n  - name: one\n    image: x\n  - name: two\n    image: x\n",
		"Pod/c": "kind: Pod\nspec: {}\n",
		"Job/j": "kind: Job\n",
	}
	new = map[string]string{
		"Pod/a":    "kind: Pod\nspec:\n  containers:\n  - name: one\n    image: x\n  - name: two\n    image: y\n",
		"Pod/b":    "kind: Pod\nspec:\n  containers:\n  - name: one\n    image: x\n  - name: two\n    image: y\n    args: []\n",
		"Job/j":    "kind: Job\n",
		"Secret/s": "kind: Secret\n",
	}
	return old, new
}

// TestDiff checks what a reviewer sees.
func TestDiff(t *testing.T) {
	old, new := documents()
	want := `changed Pod/a
@@ spec.containers
   - name: two
-    image: x
+    image: y
added Pod/b, like Pod/a
@@ spec.containers
     image: y
+    args: []
removed Pod/c
added Secret/s
@@
+kind: Secret
`
	if different := cmp.Diff(want, diff(old, new)); different != "" {
		t.Errorf("-want +got:\n%s", different)
	}
	if same := diff(new, new); same != "" {
		t.Errorf("equal documents differ:\n%s", same)
	}
}

// TestPatch checks that a difference fits documents that changed elsewhere.
func TestPatch(t *testing.T) {
	old, new := documents()
	text := diff(old, new)
	for _, documents := range []map[string]string{old, new} {
		documents["Pod/a"] = strings.Replace(documents["Pod/a"], "kind: Pod\n", "kind: Pod\nmetadata: {}\n", 1)
	}
	new["Pod/b"] = strings.Replace(new["Pod/b"], "kind: Pod\n", "kind: Pod\nmetadata: {}\n", 1)
	got, err := patch(old, "# A comment.\n"+text)
	if err != nil {
		t.Fatal(err)
	}
	if different := cmp.Diff(new, got); different != "" {
		t.Errorf("-want +got:\n%s", different)
	}
}

// TestPatchRefuses checks the error of a difference that does not fit.
func TestPatchRefuses(t *testing.T) {
	old, new := documents()
	text := diff(old, new)
	old["Pod/a"] = strings.ReplaceAll(old["Pod/a"], "image: x", "image: z")
	for name, test := range map[string]struct{ text, want string }{
		"other lines": {text, "Pod/a: @@ spec.containers: no such lines"},
		"no document": {"moved Pod/a\n", `"moved Pod/a" begins no document`},
	} {
		if _, err := patch(old, test.text); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got error %v, want one with %q", name, err, test.want)
		}
	}
}

// TestRoundTrip makes documents of few different lines, so that a hunk's lines are in many places.
func TestRoundTrip(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	draw := func() map[string]string {
		documents := map[string]string{}
		for i := range 1 + random.IntN(4) {
			var text strings.Builder
			for range 1 + random.IntN(12) {
				fmt.Fprintf(&text, "%s%c:\n", strings.Repeat(" ", random.IntN(3)), 'a'+rune(random.IntN(2)))
			}
			if random.IntN(3) > 0 {
				documents[fmt.Sprintf("Pod/%d", i)] = text.String()
			}
		}
		return documents
	}
	for range 2000 {
		old, new := draw(), draw()
		text := diff(old, new)
		got, err := patch(old, text)
		if err != nil {
			t.Fatalf("%v, of:\n%s", err, text)
		}
		if !maps.Equal(new, got) {
			t.Fatalf("got %q, want %q, from %q by:\n%s", got, new, old, text)
		}
		if again := split(full(new)); !maps.Equal(new, again) {
			t.Fatalf("got %q, want %q", again, new)
		}
	}
}
