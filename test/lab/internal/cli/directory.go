package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"vnfbench.io/test/lab/internal/lab"
)

func (a *app) flux() *cobra.Command {
	return a.directory("flux", "Print a directory with the images and the manifest of Flux's controllers, built when needed", lab.Lab.Flux)
}

func (a *app) kubeVirt() *cobra.Command {
	return a.directory("kubevirt", "Print a directory with the images of KubeVirt and the manifest of its operator, built when needed", lab.Lab.KubeVirtImages)
}

// directory is a command that makes a directory and prints its path.
func (a *app) directory(use, short string, build func(lab.Lab, context.Context) (string, error)) *cobra.Command {
	return &cobra.Command{
		Use:   use,
		Short: short,
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := a.findSource(); err != nil {
				return err
			}
			dir, err := build(a.lab(), c.Context())
			if err != nil {
				return err
			}
			fmt.Println(dir)
			return nil
		},
	}
}
