package cli

import (
	"github.com/spf13/cobra"

	"vnfbench.io/test/lab/internal/node"
)

// nodeCommand runs inside the lab. Only lab up starts it.
func nodeCommand() *cobra.Command {
	c := &cobra.Command{Use: "node", Short: "Be process 1 of the node", Hidden: true}
	// The node uses no settings: it has a description.
	c.PersistentPreRunE = func(*cobra.Command, []string) error { return nil }
	c.AddCommand(
		&cobra.Command{
			Use:  "enter DESCRIPTION",
			Args: cobra.ExactArgs(1),
			RunE: func(_ *cobra.Command, args []string) error { return node.Enter(args[0]) },
		},
		&cobra.Command{
			Use:  "boot",
			Args: cobra.NoArgs,
			RunE: func(*cobra.Command, []string) error { return node.Boot() },
		},
		&cobra.Command{
			Use:  "supervise",
			Args: cobra.NoArgs,
			RunE: func(*cobra.Command, []string) error { return node.Supervise() },
		},
	)
	return c
}
