package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"

	"vnfbench.io/test/lab/internal/cache"
	"vnfbench.io/test/lab/internal/guest"
	"vnfbench.io/test/lab/internal/image"
	"vnfbench.io/test/lab/internal/progress"
)

func (a *app) guest() *cobra.Command {
	spec := image.Spec{Architecture: runtime.GOARCH}
	var program, out, dir string
	c := &cobra.Command{
		Use:   "guest --tag TAG --out FILE [--init PROGRAM] [--dir DIR] SOURCE:DESTINATION...",
		Short: "Build the image of a guest from the files of a function's or a neighbor's image, and print its digest",
		Example: `  lab guest --tag localhost/vnf-guest:dev --out vnf-guest.tar \
    bin/vnf:/usr/local/bin/vnf`,
		RunE: func(c *cobra.Command, args []string) error {
			if err := parseImage(&spec, "", args); err != nil {
				return err
			}
			builder := guest.Builder{Cache: cache.Cache{Dir: a.settings.CacheDir}, Log: progress.New(os.Stderr)}
			g := guest.Guest{Program: program, Files: spec.Files}
			made, err := builder.Build(c.Context(), g)
			if err != nil {
				return err
			}
			if dir != "" {
				if err := link(made, dir); err != nil {
					return err
				}
			}
			spec.Files = g.ImageFiles(made)
			digest, err := image.Build(spec, out)
			if err != nil {
				return err
			}
			fmt.Println(digest)
			return nil
		},
	}
	flags := c.Flags()
	flags.StringVar(&spec.Tag, "tag", "", "name of the image, such as localhost/vnf-guest:dev")
	flags.StringVar(&program, "init", "vnf", "program in /usr/local/bin that is the first process, vnf or neighbor")
	flags.StringVar(&out, "out", "", "archive to write")
	flags.StringVar(&dir, "dir", "", "a link to make, to the directory of the guest's kernel, initial file system and, of a function's, disk")
	_ = c.MarkFlagRequired("tag") // the flag exists
	_ = c.MarkFlagRequired("out")
	return c
}

// link makes or replaces a symbolic link.
func link(target, path string) error {
	if info, err := os.Lstat(path); err == nil && info.Mode().Type() != os.ModeSymlink {
		return fmt.Errorf("%q is there and is not a symbolic link", path)
	}
	temp := filepath.Join(filepath.Dir(path), "."+filepath.Base(path))
	if err := os.RemoveAll(temp); err != nil {
		return err
	}
	if err := os.Symlink(target, temp); err != nil {
		return err
	}
	return os.Rename(temp, path)
}
