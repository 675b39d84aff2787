package kubevirt

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"vnfbench.io/test/lab/internal/cache"
)

// edit replaces a text that a file holds exactly once.
type edit struct{ file, before, after string }

// withoutDummy are the edits for a kernel without links of the kind "dummy".
//
// For an interface with bridge binding virt-handler renames the pod's interface and creates another
// under its old name, so that the pod's address has a place. The new one carries no frame, and is a
// dummy link. A bridge without ports works too, and the kernel has those, since the binding itself
// needs one. The second edit makes virt-handler accept the bridge as the link that it asked for.
var withoutDummy = []edit{
	{
		file:   "pkg/network/driver/nmstate/spec.go",
		before: "return initLink(iface.Name, &vishnetlink.Dummy{})",
		after:  "return initLink(iface.Name, &vishnetlink.Bridge{})",
	},
	{
		file:   "pkg/network/driver/nmstate/spec.go",
		before: `iface.TypeName != "" && linkType != iface.TypeName {`,
		after: `iface.TypeName != "" && linkType != iface.TypeName &&
				!(iface.TypeName == TypeDummy && linkType == TypeBridge) {`,
	},
}

// editedSource returns a copy of KubeVirt's module, in the cache, with the
// edits for a kernel without dummy links.
func (m Maker) editedSource(ctx context.Context, source string) (string, error) {
	parts := []string{filepath.Base(source)} // kubevirt@VERSION
	for _, e := range withoutDummy {
		parts = append(parts, e.file, e.before, e.after)
	}
	return m.Cache.Get(ctx, "kubevirt-source", cache.Fingerprint(parts...), func(_ context.Context, dir string) error {
		if err := os.CopyFS(dir, os.DirFS(source)); err != nil {
			return fmt.Errorf("copying KubeVirt's module: %w", err)
		}
		return applyEdits(dir, withoutDummy)
	})
}

func applyEdits(dir string, edits []edit) error {
	for _, e := range edits {
		if err := e.apply(dir); err != nil {
			return fmt.Errorf("editing KubeVirt's %s: %w", e.file, err)
		}
	}
	return nil
}

func (e edit) apply(dir string) error {
	path := filepath.Join(dir, filepath.FromSlash(e.file))
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	edited, err := replaceOnce(string(data), e.before, e.after)
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(edited), 0o644)
}

// replaceOnce replaces a text that must occur exactly once: anything else is an error, and is never
// left unchanged.
func replaceOnce(text, before, after string) (string, error) {
	if n := strings.Count(text, before); n != 1 {
		return "", fmt.Errorf("%q is in it %d times, not once: this version needs another edit", before, n)
	}
	return strings.Replace(text, before, after, 1), nil
}
