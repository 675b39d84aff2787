package cli

import (
	"fmt"

	"github.com/spf13/cobra"
)

func (a *app) flux() *cobra.Command {
	return &cobra.Command{
		Use:   "flux",
		Short: "Print a directory with the images and the manifest of Flux's controllers, built when needed",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.printMade(func() (string, error) { return a.lab().Flux(c.Context()) })
		},
	}
}

func (a *app) argoCD() *cobra.Command {
	var helm, kustomize string
	c := &cobra.Command{
		Use:   "argocd --helm FILE --kustomize FILE",
		Short: "Print a directory with the image and the manifest of Argo CD's controller and repository server, built when needed",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.printMade(func() (string, error) { return a.lab().ArgoCD(c.Context(), helm, kustomize) })
		},
	}
	c.Flags().StringVar(&helm, "helm", "", "program Helm 3, which the repository server calls")
	c.Flags().StringVar(&kustomize, "kustomize", "", "program kustomize, which the repository server calls")
	_ = c.MarkFlagRequired("helm") // the flag exists
	_ = c.MarkFlagRequired("kustomize")
	return c
}

// printMade prints the directory that is made from the lab's sources.
func (a *app) printMade(make func() (string, error)) error {
	if err := a.findSource(); err != nil {
		return err
	}
	dir, err := make()
	if err != nil {
		return err
	}
	fmt.Println(dir)
	return nil
}
