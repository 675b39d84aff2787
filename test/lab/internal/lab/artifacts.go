package lab

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sync/errgroup"

	"vnfbench.io/test/lab/internal/build"
	"vnfbench.io/test/lab/internal/cache"
	"vnfbench.io/test/lab/internal/command"
	"vnfbench.io/test/lab/internal/config"
	"vnfbench.io/test/lab/internal/image"
	"vnfbench.io/test/lab/internal/kubevirt"
	"vnfbench.io/test/lab/internal/machine"
	"vnfbench.io/test/lab/internal/rootfs"
)

// artifacts are the directories of what a node is made from.
type artifacts struct {
	kube, cni, rootfs, images string
	// kubeVirt is empty when it is not wanted.
	kubeVirt kubevirt.Made
	// machine is empty when it is not wanted.
	machine madeMachine
}

// Assets returns a directory with etcd, kube-apiserver and kubectl.
func (l Lab) Assets(ctx context.Context) (string, error) {
	return l.builder().Build(ctx, build.Kube)
}

// make makes whatever is not in the cache. The compiler uses the processors and the Debian tree
// mostly the network and the disk, so they run together.
func (l Lab) make(ctx context.Context) (artifacts, error) {
	var a artifacts
	var pause, coreDNS, kubeVirtTree string
	var plugins sriovPlugins
	withMachine, err := l.wantsMachine()
	if err != nil {
		return a, err
	}
	var compiled kubevirt.Compiled
	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		if a.rootfs, err = l.rootfs().Build(groupCtx, rootfs.Node); err == nil && l.KubeVirt {
			kubeVirtTree, err = l.rootfs().Build(groupCtx, kubevirt.Tree)
		}
		if err == nil && withMachine {
			a.machine.tree, err = l.rootfs().Build(groupCtx, machine.Tree)
		}
		return err
	})
	group.Go(func() (err error) {
		for _, t := range []struct {
			target build.Target
			dir    *string
		}{{build.Kube, &a.kube}, {build.CNI, &a.cni}, {build.CoreDNS, &coreDNS}, {build.Pause, &pause}} {
			dir, err := l.builder().Build(groupCtx, t.target)
			if err != nil {
				return err
			}
			*t.dir = dir
		}
		if l.KubeVirt {
			if compiled, err = l.kubeVirt().Compile(groupCtx); err != nil {
				return err
			}
		}
		if withMachine {
			plugins, err = l.compileSRIOV(groupCtx)
		}
		return err
	})
	if err := group.Wait(); err != nil {
		return artifacts{}, err
	}
	if a.images, err = l.images(ctx, pause, coreDNS, a.rootfs); err == nil && l.KubeVirt {
		a.kubeVirt, err = l.kubeVirt().Pack(ctx, kubeVirtTree, compiled)
	}
	if err == nil && withMachine {
		err = l.completeMachine(ctx, &a, plugins)
	}
	return a, err
}

// images makes the archives of the images that every lab has.
func (l Lab) images(ctx context.Context, pause, coreDNS, rootfs string) (string, error) {
	fingerprint := cache.Fingerprint(pause, coreDNS, rootfs, "busybox with /tmp")
	return l.cache().Get(ctx, "images", fingerprint, func(ctx context.Context, dir string) error {
		root, err := os.MkdirTemp(dir, "busybox-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(root)
		busybox, err := busyboxImage(ctx, rootfs, root)
		if err != nil {
			return err
		}
		for name, spec := range map[string]image.Spec{
			"pause.tar":   binaryImage(config.PauseImage, pause, "pause"),
			"coredns.tar": binaryImage(config.CoreDNSImage, coreDNS, "coredns"),
			"busybox.tar": busybox,
		} {
			if _, err := image.Build(spec, filepath.Join(dir, name)); err != nil {
				return err
			}
		}
		return nil
	})
}

// binaryImage describes an image with a single program.
func binaryImage(tag, dir, name string) image.Spec {
	return image.Spec{
		Tag:          tag,
		Files:        []image.File{{Source: filepath.Join(dir, name), Destination: "/" + name}},
		Entrypoint:   []string{"/" + name},
		Architecture: runtime.GOARCH,
	}
}

// busyboxImage describes an image with Debian's static busybox under all of its names, for tests
// that want a shell. It fills root, an empty directory.
func busyboxImage(ctx context.Context, tree, root string) (image.Spec, error) {
	binary := filepath.Join(tree, "bin/busybox")
	names, err := command.Command{Args: []string{binary, "--list"}}.Output(ctx)
	if err != nil {
		return image.Spec{}, fmt.Errorf("listing busybox's programs: %w", err)
	}
	if err := fillRoot(root); err != nil {
		return image.Spec{}, fmt.Errorf("filling busybox's image: %w", err)
	}
	spec := image.Spec{
		Tag:          config.BusyboxImage,
		Root:         root,
		Files:        []image.File{{Source: binary, Destination: "/bin/busybox"}},
		Links:        map[string]string{},
		Architecture: runtime.GOARCH,
	}
	for name := range strings.FieldsSeq(names) {
		if name != "busybox" {
			spec.Links["/bin/"+name] = "/bin/busybox"
		}
	}
	return spec, nil
}

// fillRoot makes what programs expect of any system.
func fillRoot(root string) error {
	for _, dir := range []string{"tmp", "etc", "root"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o755); err != nil {
			return err
		}
	}
	if err := os.Chmod(filepath.Join(root, "tmp"), 0o777|fs.ModeSticky); err != nil {
		return err
	}
	users := "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/tmp:/bin/sh\n"
	return os.WriteFile(filepath.Join(root, "etc/passwd"), []byte(users), 0o644)
}
