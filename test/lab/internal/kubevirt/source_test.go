package kubevirt

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// spec contains what the edits look for in KubeVirt's file, and similar text.
const spec = `
			if linkType := normalizeLinkTypeName(link); iface.TypeName != "" && linkType != iface.TypeName {
				return fmt.Errorf("type collision")
			}
		return initLink(iface.Name, &vishnetlink.Bridge{})
		return initLink(iface.Name, &vishnetlink.Dummy{})
`

func writeSpec(t *testing.T, text string) (dir, file string) {
	t.Helper()
	dir = t.TempDir()
	file = filepath.Join(dir, withoutDummy[0].file)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir, file
}

func TestEditsTakeADummyLinkOut(t *testing.T) {
	dir, file := writeSpec(t, spec)
	if err := applyEdits(dir, withoutDummy); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	got := string(data)
	if strings.Contains(got, "vishnetlink.Dummy") {
		t.Errorf("a dummy link is still made:\n%s", got)
	}
	if strings.Count(got, "vishnetlink.Bridge{}") != 2 || !strings.Contains(got, "linkType == TypeBridge") {
		t.Errorf("unexpected text:\n%s", got)
	}
}

// TestEditsFailLoudly checks that a file of another version is refused: a KubeVirt that still wants
// dummy links would fail only at a guest's start.
func TestEditsFailLoudly(t *testing.T) {
	for name, text := range map[string]string{
		"another text":   strings.ReplaceAll(spec, "vishnetlink.Dummy{}", "netlink.Dummy{}"),
		"twice":          spec + spec,
		"edited already": strings.ReplaceAll(spec, "Dummy", "Bridge"),
	} {
		t.Run(name, func(t *testing.T) {
			dir, _ := writeSpec(t, text)
			err := applyEdits(dir, withoutDummy)
			if err == nil || !strings.Contains(err.Error(), "needs another edit") {
				t.Errorf("got the error %v", err)
			}
		})
	}
	if err := applyEdits(t.TempDir(), withoutDummy); err == nil {
		t.Error("a file that is not there was edited")
	}
}
