package main

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"strconv"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"vnfbench.io/operator/internal/report"
)

const distributionHelp = `Write percentiles or the whole distribution of delays as CSV.

The document is one that "export" wrote; "-" reads it from the standard input.
Trials of latency, fixed loads and soaks keep the distributions of delay, lateness
and delay variation as far as the results have room. Those of all repeats are
merged. Values are the upper ends of buckets, which are at most 1 % wide.

With --slots it writes the frames and delays of each trial of latency, fixed loads and
soaks over time: those that were due, sent, received and lost in each slot.`

// distributing is what the user asks for.
type distributing struct {
	size, load  string
	percentiles []string
	cdf, slots  bool
	outputFile  string
}

func newDistributionCommand(streams genericiooptions.IOStreams) *cobra.Command {
	var d distributing
	command := &cobra.Command{
		Use:   "distribution DOCUMENT",
		Short: "Write any percentile of the delays",
		Long:  distributionHelp,
		Example: "  kubectl vnfbench distribution router.json.zst --size 64 --load pdr50 --percentiles 75,99.5\n" +
			"  kubectl vnfbench distribution router.json.zst --load idle --cdf --output-file idle.csv\n" +
			"  kubectl vnfbench distribution router.json.zst --load pdr50 --slots",
		Args: documentName,
		RunE: func(_ *cobra.Command, args []string) error {
			selection, err := d.selection()
			if err != nil {
				return err
			}
			doc, err := readDocument(args[0], streams.In)
			if err != nil {
				return err
			}
			var text bytes.Buffer
			write := report.WriteDistributions
			if d.slots {
				write = report.WriteSlots
			}
			if err := write(&text, doc, selection); err != nil {
				return err
			}
			if d.outputFile == "" {
				_, err = streams.Out.Write(text.Bytes())
				return err
			}
			return os.WriteFile(d.outputFile, text.Bytes(), 0o644)
		},
	}
	flags := command.Flags()
	flags.StringVar(&d.size, "size", "", "only this size, by its name: 64, imix, udp-4096")
	flags.StringVar(&d.load, "load", "", "only this load, by its name: pdr50, or a fixed load's profile")
	flags.StringSliceVar(&d.percentiles, "percentiles", []string{"50", "90", "99", "99.9", "99.99"}, "percentiles to write, from 0 to 100 with at most 4 decimals")
	flags.BoolVar(&d.cdf, "cdf", false, "write every step of the cumulative distribution instead of percentiles")
	flags.BoolVar(&d.slots, "slots", false, "write what happened within each trial, in slots of 100 ms or longer, instead of percentiles")
	flags.StringVar(&d.outputFile, "output-file", "", "write to this file instead of the standard output")
	command.MarkFlagsMutuallyExclusive("cdf", "slots")
	command.MarkFlagsMutuallyExclusive("slots", "percentiles")
	return command
}

// selection checks the flags.
func (d distributing) selection() (report.Selection, error) {
	out := report.Selection{Size: d.size, Load: d.load}
	if d.cdf || d.slots {
		return out, nil
	}
	for _, word := range d.percentiles {
		percent, err := strconv.ParseFloat(word, 64)
		if err != nil || !(percent >= 0 && percent <= 100) {
			return out, fmt.Errorf("--percentiles has %q: give numbers from 0 to 100, such as 99.9", word)
		}
		out.PercentilesPartsPerMillion = append(out.PercentilesPartsPerMillion, uint64(math.Round(percent*1e4)))
	}
	if len(out.PercentilesPartsPerMillion) == 0 {
		return out, fmt.Errorf("--percentiles is empty: give numbers from 0 to 100, or --cdf")
	}
	return out, nil
}
