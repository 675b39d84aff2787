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
			if err := a.findSource(); err != nil {
				return err
			}
			dir, err := a.lab().Flux(c.Context())
			if err != nil {
				return err
			}
			fmt.Println(dir)
			return nil
		},
	}
}
