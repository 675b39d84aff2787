package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"vnfbench.io/operator/internal/doctor"
	"vnfbench.io/operator/internal/excerpt"
	"vnfbench.io/operator/internal/report"
)

const doctorHelp = `Check a cluster, before anything is installed or run.

It checks the API server, your rights, the operator and its images, Multus, the Pod
Security of the namespace (-n), the nodes with their kernels, CPU manager, huge pages
and device plugins, KubeVirt, the StorageClass, and the Testbeds. It makes nothing in
the cluster: whether the namespace takes the pods of runs is asked by a dry run.

Each check is OK, WARNING (runs are possible, and something is missing for some of
them or for steady figures), FAIL (runs cannot be measured), or UNKNOWN: the API does
not show it, or you may not read it. Then the last column says where to look.

Exit codes: 0 no check is FAIL, 1 one is, 2 the cluster does not answer.`

// formatJSON is for programs. Commands that write a table or JSON have formatTable too.
const formatJSON = "json"

func newDoctorCommand(streams genericiooptions.IOStreams, connect func() (*cluster, error)) *cobra.Command {
	var format string
	command := &cobra.Command{
		Use:   "doctor",
		Short: "Check what a cluster lacks for runs",
		Long:  doctorHelp,
		Example: "  kubectl vnfbench doctor -n bench\n" +
			"  kubectl vnfbench doctor -n bench -o json",
		Args:              noArguments,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(command *cobra.Command, _ []string) error {
			if err := checkFormat(format); err != nil {
				return err
			}
			c, err := connect()
			if err != nil {
				return err
			}
			facts, err := c.survey(command.Context())
			if err != nil {
				return err
			}
			findings := doctor.Examine(facts)
			if err := writeFindings(streams.Out, format, facts, findings); err != nil {
				return err
			}
			if doctor.Failed(findings) {
				return &exit{exitFailed, errRunFailed}
			}
			return nil
		},
	}
	addFormat(command, &format)
	return command
}

// noArguments accepts no argument.
func noArguments(command *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%s takes no argument, and got %q", command.Name(), args[0])
	}
	return nil
}

// addFormat adds the flag of commands that write a table or JSON.
func addFormat(command *cobra.Command, format *string) {
	command.Flags().StringVarP(format, "output", "o", formatTable, "format: "+formatTable+", "+formatJSON)
	// The only error is a flag that does not exist.
	_ = command.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{formatTable, formatJSON}, cobra.ShellCompDirectiveNoFileComp))
}

func checkFormat(format string) error {
	if known := []string{formatTable, formatJSON}; !slices.Contains(known, format) {
		return fmt.Errorf("unknown format %q: use one of %s", format, strings.Join(known, ", "))
	}
	return nil
}

// writeJSON writes a value for programs.
func writeJSON(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

// writeTable writes rows with aligned columns. Objects of the cluster decide what is in cells.
func writeTable(w io.Writer, header []string, rows [][]string) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range append([][]string{header}, rows...) {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = strings.Join(strings.Fields(excerpt.Printable(cell)), " ")
		}
		if _, err := fmt.Fprintln(out, strings.TrimRight(strings.Join(cells, "\t"), "\t")); err != nil {
			return err
		}
	}
	return out.Flush()
}

func writeFindings(w io.Writer, format string, facts doctor.Facts, findings []doctor.Finding) error {
	if format == formatJSON {
		return writeJSON(w, struct {
			APIVersion     string           `json:"apiVersion"`
			Kind           string           `json:"kind"`
			Namespace      string           `json:"namespace"`
			ServerVersion  string           `json:"serverVersion"`
			CommandVersion string           `json:"commandVersion"`
			Checks         []doctor.Finding `json:"checks"`
		}{report.APIVersion, "ClusterCheck", facts.Namespace, facts.Version.Value, version, findings})
	}
	var rows [][]string
	for _, f := range findings {
		rows = append(rows, []string{f.Check, string(f.Result), f.Found, f.Remedy})
	}
	return writeTable(w, []string{"CHECK", "RESULT", "FOUND", "WHAT TO DO"}, rows)
}
