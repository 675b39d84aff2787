package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"vnfbench.io/operator/internal/commandline"
)

// options are the command line.
type options struct {
	archiveURL         string
	namespaces         commandline.List
	metricsBindAddress string
	probeBindAddress   string
	shutdownTimeout    time.Duration
	// pagesBindAddress is where the pages are; "" serves none.
	pagesBindAddress string
	// pagesAuthentication is Token, Proxy or None.
	pagesAuthentication string
	pagesAudiences      commandline.List
	pagesCertificate    string
	index               string
	// indexBytes limits the index; 0: it has no limit.
	indexBytes                        int64
	proxyAuthorities                  string
	proxyNames                        commandline.List
	proxyUserHeader, proxyGroupHeader string
	log                               commandline.Log
}

// Values of -pages-authentication.
const (
	authenticationToken = "Token"
	authenticationProxy = "Proxy"
	authenticationNone  = "None"
)

// minIndexBytes is the least room for an index, which has its tables and a journal.
const minIndexBytes = 8 << 20

func parse(arguments []string, output io.Writer) (*options, error) {
	o := &options{}
	flags := flag.NewFlagSet("results", flag.ContinueOnError)
	flags.SetOutput(output)
	flags.StringVar(&o.archiveURL, "archive", "", "URL of the bucket of the archive: file:///FOLDER, s3://BUCKET?region=REGION, gs://BUCKET or azblob://CONTAINER; prefix=FOLDER/ in the query uses a part of it (required)")
	flags.Var(&o.namespaces, "namespace", "namespace whose runs are archived, may be given several times; absent: all")
	flags.StringVar(&o.metricsBindAddress, "metrics-bind-address", ":8082", "address of the metrics, over plain HTTP to everyone; \"0\" serves none")
	flags.StringVar(&o.probeBindAddress, "health-probe-bind-address", ":8081", "address of /healthz and /readyz; \"0\" serves none")
	flags.DurationVar(&o.shutdownTimeout, "shutdown-timeout", 15*time.Second, "how long a program that is asked to stop may take to end what it has begun")
	flags.StringVar(&o.pagesBindAddress, "pages-bind-address", "", "address of the pages of results, over HTTPS, such as :8443; absent: there are none")
	flags.StringVar(&o.pagesAuthentication, "pages-authentication", authenticationToken, "who sees the pages: Token, each user of the cluster the namespaces in which they may get BenchmarkRuns; Proxy, the same for users whom a proxy with a client certificate names in headers too; None, everyone who can connect sees everything")
	flags.Var(&o.pagesAudiences, "pages-audience", "audience that tokens have to be for, may be given several times; absent: that of the API server")
	flags.StringVar(&o.pagesCertificate, "pages-certificate", "", "folder with tls.crt and tls.key of the pages, which is read again when it changes; absent: a certificate that is made at each start, which no one can verify")
	flags.StringVar(&o.index, "index", "/var/cache/vnfbench/index", "file of the index of the archive, which is made again where it is missing")
	flags.Func("index-size", "room for the index as a quantity of bytes, such as 1Gi: what has no room is not indexed, and the pages say so; absent: there is no limit", func(text string) error {
		size, err := resource.ParseQuantity(text)
		if err == nil && size.Value() < minIndexBytes {
			err = fmt.Errorf("give at least %d MiB", minIndexBytes>>20)
		}
		o.indexBytes = size.Value()
		return err
	})
	flags.StringVar(&o.proxyAuthorities, "proxy-authorities", "", "file with the authorities (PEM) of the proxy's client certificate, for Proxy")
	flags.Var(&o.proxyNames, "proxy-name", "common name that the proxy's client certificate may have, may be given several times, for Proxy")
	flags.StringVar(&o.proxyUserHeader, "proxy-user-header", "X-Forwarded-User", "header in which the proxy names the user")
	flags.StringVar(&o.proxyGroupHeader, "proxy-group-header", "X-Forwarded-Groups", "header in which the proxy names a group of the user, once for each")
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
	switch o.pagesAuthentication {
	case authenticationToken, authenticationNone:
	case authenticationProxy:
		if o.proxyAuthorities == "" || len(o.proxyNames) == 0 || o.proxyUserHeader == "" {
			return nil, errors.New("flag -pages-authentication is Proxy: give -proxy-authorities, -proxy-name and -proxy-user-header too")
		}
	default:
		return nil, fmt.Errorf("flag -pages-authentication is %q, want Token, Proxy or None", o.pagesAuthentication)
	}
	return o, o.log.Check()
}
