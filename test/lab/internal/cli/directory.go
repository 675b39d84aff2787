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

func (a *app) argoCD() *cobra.Command {
	var helm, kustomize string
	c := a.directory("argocd --helm FILE --kustomize FILE",
		"Print a directory with the image and the manifest of Argo CD's controller and repository server, built when needed",
		func(l lab.Lab, ctx context.Context) (string, error) { return l.ArgoCD(ctx, helm, kustomize) })
	c.Flags().StringVar(&helm, "helm", "", "program Helm 3, which the repository server calls")
	c.Flags().StringVar(&kustomize, "kustomize", "", "program kustomize, which the repository server calls")
	_ = c.MarkFlagRequired("helm") // the flag exists
	_ = c.MarkFlagRequired("kustomize")
	return c
}

func (a *app) kubeVirt() *cobra.Command {
	return a.directory("kubevirt", "Print a directory with the images of KubeVirt and the manifest of its operator, built when needed", lab.Lab.KubeVirtImages)
}

// directory is a command that makes a directory from the lab's sources and prints its path.
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
