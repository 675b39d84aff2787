//go:build linux

package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"vnfbench.io/operator/internal/vnf"
	"vnfbench.io/operator/internal/vnf/kernel"
)

func newLinkCommand() *cobra.Command {
	var config, port, state string
	command := &cobra.Command{
		Use:   "link",
		Short: "Take a port down, or up again with its addresses, neighbors and routes",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			configuration, err := vnf.Load(config)
			if err != nil {
				return err
			}
			function := kernel.New(configuration, vnf.DefaultKeys, newLogger())
			switch state {
			case "down":
				return function.TakeDown(port)
			case "up":
				return function.BringUp(port)
			default:
				return fmt.Errorf("--state: %q is unknown, want \"up\" or \"down\"", state)
			}
		},
	}
	configFlag(command, &config)
	command.Flags().StringVar(&port, "port", "", "the port's name in the configuration")
	command.Flags().StringVar(&state, "state", "", "\"up\" or \"down\"")
	for _, name := range []string{"port", "state"} {
		if err := command.MarkFlagRequired(name); err != nil {
			panic(err) // the flag was defined above
		}
	}
	return command
}
