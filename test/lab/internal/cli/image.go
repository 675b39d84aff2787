package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"vnfbench.io/test/lab/internal/image"
)

func imageCommand() *cobra.Command {
	spec := image.Spec{Architecture: runtime.GOARCH}
	var out, entrypoint string
	c := &cobra.Command{
		Use:   "image --tag TAG --out FILE [--root DIR] [SOURCE:DESTINATION...]",
		Short: "Build an image archive and print the image's digest",
		Example: `  lab image --tag localhost/x:dev --out x.tar --entrypoint '["/manager"]' \
    --user 65532:65532 bin/manager:/manager`,
		RunE: func(_ *cobra.Command, args []string) error {
			if err := parseImage(&spec, entrypoint, args); err != nil {
				return err
			}
			digest, err := image.Build(spec, out)
			if err != nil {
				return err
			}
			fmt.Println(digest)
			return nil
		},
	}
	flags := c.Flags()
	flags.StringVar(&spec.Tag, "tag", "", "name of the image, such as localhost/x:dev")
	flags.StringVar(&out, "out", "", "archive to write")
	flags.StringVar(&entrypoint, "entrypoint", "", "program and arguments, a JSON list")
	flags.StringVar(&spec.User, "user", "", "user and group ids, such as 65532:65532")
	flags.StringVar(&spec.WorkingDir, "workdir", "", "working directory")
	flags.StringVar(&spec.Root, "root", "", "directory whose content becomes the image's")
	flags.StringVar(&spec.Architecture, "architecture", spec.Architecture, "architecture of the programs in it, amd64 or arm64")
	flags.StringToStringVar(&spec.Labels, "label", nil, "label NAME=VALUE; may be repeated")
	flags.BoolVar(&spec.Compress, "compress", false, "compress the layer, for an archive that travels")
	flags.StringArrayVar(&spec.Env, "env", nil, "environment variable NAME=VALUE; may be repeated")
	_ = c.MarkFlagRequired("tag") // the flag exists
	_ = c.MarkFlagRequired("out")
	return c
}

func imagesCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "images ARCHIVE...",
		Short: "Print name, architecture, size, user and digest of image archives",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, archives []string) error {
			table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
			fmt.Fprintln(table, "NAME\tARCHITECTURE\tMB\tUSER\tDIGEST")
			for _, archive := range archives {
				d, err := image.Describe(archive)
				if err != nil {
					return err
				}
				fmt.Fprintf(table, "%s\t%s\t%.1f\t%s\t%s\n", d.Tag, d.Architecture, float64(d.Bytes)/1e6, d.User, d.Digest)
			}
			return table.Flush()
		},
	}
}

func parseImage(spec *image.Spec, entrypoint string, args []string) error {
	if entrypoint != "" {
		if err := json.Unmarshal([]byte(entrypoint), &spec.Entrypoint); err != nil {
			return fmt.Errorf("reading the entrypoint %q, which is to be a JSON list: %w", entrypoint, err)
		}
	}
	for _, arg := range args {
		source, destination, found := strings.Cut(arg, ":")
		if !found || source == "" || !strings.HasPrefix(destination, "/") {
			return fmt.Errorf("%q is not SOURCE:DESTINATION with an absolute destination", arg)
		}
		spec.Files = append(spec.Files, image.File{Source: source, Destination: destination})
	}
	if spec.Root == "" && len(spec.Files) == 0 {
		return fmt.Errorf("the image %q would be empty: give --root or SOURCE:DESTINATION", spec.Tag)
	}
	return nil
}
