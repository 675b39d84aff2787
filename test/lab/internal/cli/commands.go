package cli

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"github.com/spf13/cobra"

	"vnfbench.io/test/lab/internal/doctor"
	"vnfbench.io/test/lab/internal/enter"
)

func (a *app) up() *cobra.Command {
	c := &cobra.Command{
		Use:   "up",
		Short: "Build what is missing and bring the nodes up",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if policy := a.settings.CPUManager; policy != "none" && policy != "static" {
				return fmt.Errorf("the CPU manager policy %q is neither none nor static", policy)
			}
			if n := a.settings.Nodes; n < 0 || n > maxNodes {
				return fmt.Errorf("--nodes is %d: a lab has 1 to %d nodes", n, maxNodes)
			}
			if err := a.findSource(); err != nil {
				return err
			}
			a.settings.WithoutHardware = c.Flags().Changed("hardware") && !a.settings.Hardware
			return a.lab().Up(c.Context())
		},
	}
	c.Flags().StringVar(&a.settings.CPUManager, "cpu-manager", environment("VNFBENCH_LAB_CPU_MANAGER", "none"),
		"the kubelet's CPU manager policy, none or static (VNFBENCH_LAB_CPU_MANAGER)")
	c.Flags().IntVar(&a.settings.Nodes, "nodes", environmentNumber("VNFBENCH_LAB_NODES", 0),
		"number of nodes, 1 or 2 (VNFBENCH_LAB_NODES; default: as many as there are, or 1)")
	a.addKubeVirt(c, "deploy KubeVirt too")
	a.addHardware(c, "add hw1, an emulated machine whose network cards have virtual functions; =false removes it")
	return c
}

// maxNodes is the number of nodes that lab up starts in namespaces.
const maxNodes = 2

func environment(name, otherwise string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return otherwise
}

func (a *app) down() *cobra.Command {
	var purge bool
	c := &cobra.Command{
		Use:   "down",
		Short: "End the nodes and remove all that they left",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return a.lab().Down(c.Context(), purge) },
	}
	c.Flags().BoolVar(&purge, "purge", false, "remove the cache of binaries, images and the node's tree too")
	return c
}

func (a *app) kill() *cobra.Command {
	var node string
	c := &cobra.Command{
		Use:   "kill",
		Short: "End all nodes, or one, at once, as a power failure does, and keep their state",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return a.lab().Kill(c.Context(), node) },
	}
	c.Flags().StringVar(&node, "node", "", "the node that ends, such as node2 (default: all)")
	return c
}

func (a *app) status() *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show the lab; fail unless every node is ready",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			s, err := a.lab().Status(c.Context())
			if err != nil {
				return err
			}
			if err := s.Print(os.Stdout); err != nil {
				return err
			}
			if !s.Ready() {
				return errQuiet
			}
			return nil
		},
	}
}

func (a *app) shell() *cobra.Command {
	var node string
	c := &cobra.Command{
		Use:   "shell [-- program argument...]",
		Short: "Run a shell, or a program, inside of a node",
		RunE: func(_ *cobra.Command, args []string) error {
			err := a.lab().Shell(node, args, enter.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
			if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
				return errors.Join(errProgram, err)
			}
			return err
		},
	}
	c.Flags().StringVar(&node, "node", "", "the node, such as node2 (default: node1)")
	return c
}

func (a *app) kubeconfig() *cobra.Command {
	return &cobra.Command{
		Use:   "kubeconfig",
		Short: "Print the path of the administrator's kubeconfig",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if _, err := a.lab().Running(); err != nil {
				return err
			}
			fmt.Println(a.lab().KubeconfigPath())
			return nil
		},
	}
}

func (a *app) kubectl() *cobra.Command {
	return &cobra.Command{
		Use:   "kubectl -- argument...",
		Short: "Run kubectl on the lab's cluster",
		RunE: func(_ *cobra.Command, args []string) error {
			args, err := a.lab().KubectlArgs(args)
			if err != nil {
				return err
			}
			return fmt.Errorf("starting kubectl: %w", syscall.Exec(args[0], args, os.Environ()))
		},
	}
}

func (a *app) load() *cobra.Command {
	return &cobra.Command{
		Use:   "load FILE...",
		Short: "Import image archives into every node",
		Args:  cobra.MinimumNArgs(1),
		RunE:  func(c *cobra.Command, args []string) error { return a.lab().Load(c.Context(), args) },
	}
}

func (a *app) assets() *cobra.Command {
	return &cobra.Command{
		Use:   "assets",
		Short: "Print a directory for KUBEBUILDER_ASSETS, built when needed",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := a.findSource(); err != nil {
				return err
			}
			dir, err := a.lab().Assets(c.Context())
			if err != nil {
				return err
			}
			fmt.Println(dir)
			return nil
		},
	}
}

func (a *app) doctor() *cobra.Command {
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Print what this machine lacks to run the lab",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			findings := doctor.Examine(c.Context(), doctor.Machine{Dir: a.settings.StateDir, KubeVirt: a.settings.KubeVirt, Hardware: a.settings.Hardware})
			if err := doctor.Print(os.Stdout, findings); err != nil {
				return err
			}
			if doctor.Worst(findings) != nil {
				return errQuiet
			}
			return nil
		},
	}
	a.addKubeVirt(c, "look at what KubeVirt needs too")
	a.addHardware(c, "look at what the emulated machine needs too")
	return c
}

// addKubeVirt adds the flag of the commands that also handle virtual machines.
func (a *app) addKubeVirt(c *cobra.Command, usage string) {
	c.Flags().BoolVar(&a.settings.KubeVirt, "kubevirt", os.Getenv("VNFBENCH_LAB_KUBEVIRT") == "1",
		usage+" (VNFBENCH_LAB_KUBEVIRT=1)")
}

// addHardware adds the flag of the commands that also handle the emulated machine.
func (a *app) addHardware(c *cobra.Command, usage string) {
	c.Flags().BoolVar(&a.settings.Hardware, "hardware", os.Getenv("VNFBENCH_LAB_HARDWARE") == "1",
		usage+" (VNFBENCH_LAB_HARDWARE=1)")
}
