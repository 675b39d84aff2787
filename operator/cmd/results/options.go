package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"time"

	"vnfbench.io/operator/internal/commandline"
)

// options are the command line.
type options struct {
	archiveURL         string
	namespaces         commandline.List
	metricsBindAddress string
	probeBindAddress   string
	shutdownTimeout    time.Duration
	log                commandline.Log
}

func parse(arguments []string, output io.Writer) (*options, error) {
	o := &options{}
	flags := flag.NewFlagSet("results", flag.ContinueOnError)
	flags.SetOutput(output)
	flags.StringVar(&o.archiveURL, "archive", "", "URL of the bucket of the archive: file:///FOLDER, s3://BUCKET?region=REGION, gs://BUCKET or azblob://CONTAINER; prefix=FOLDER/ in the query uses a part of it (required)")
	flags.Var(&o.namespaces, "namespace", "namespace whose runs are archived, may be given several times; absent: all")
	flags.StringVar(&o.metricsBindAddress, "metrics-bind-address", ":8082", "address of the metrics, over plain HTTP to everyone; \"0\" serves none")
	flags.StringVar(&o.probeBindAddress, "health-probe-bind-address", ":8081", "address of /healthz and /readyz; \"0\" serves none")
	flags.DurationVar(&o.shutdownTimeout, "shutdown-timeout", 15*time.Second, "how long a program that is asked to stop may take to end what it has begun")
	o.log.Add(flags)
	if err := flags.Parse(arguments); err != nil {
		return nil, err
	}
	switch {
	case flags.NArg() > 0:
		return nil, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case o.archiveURL == "":
		return nil, errors.New("flag -archive is required")
	case o.shutdownTimeout <= 0:
		return nil, fmt.Errorf("flag -shutdown-timeout: %s is not above 0", o.shutdownTimeout)
	}
	return o, o.log.Check()
}
