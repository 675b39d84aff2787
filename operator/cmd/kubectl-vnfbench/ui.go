package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/cli/browser"
	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"vnfbench.io/operator/internal/excerpt"
	"vnfbench.io/operator/internal/results/index"
	"vnfbench.io/operator/internal/results/local"
	"vnfbench.io/operator/internal/results/web"
)

const uiHelp = `Open the pages of results in a browser, until you press Ctrl-C.

Without an argument, they are those of the results service of the cluster: the
plugin forwards a port to the service, and adds your token to each request. You see
the namespaces in which you may get BenchmarkRuns. Forwarding takes the right to
create pods/portforward in the service's namespace.

Credentials without a token, such as a client certificate, do not say to the service
who you are. Then name a service account of your namespace whose rights you want to
have there: --service-account makes a token of it that is valid for an hour, and
takes the right to create serviceaccounts/token.

With FOLDER, they are pages over the documents in a folder, such as a copy of an
archive, and no cluster is asked.

The address has a secret, because other accounts of your machine can connect to it
too. Do not pass it on.`

// showingUI is what the user asks for.
type showingUI struct {
	port             int
	noBrowser        bool
	serviceNamespace string
	serviceName      string
	serviceAccount   string
}

func newUICommand(streams genericiooptions.IOStreams, flags *genericclioptions.ConfigFlags) *cobra.Command {
	var u showingUI
	command := &cobra.Command{
		Use:   "ui [FOLDER]",
		Short: "Open the pages of results in a browser",
		Long:  uiHelp,
		Example: "  kubectl vnfbench ui\n" +
			"  kubectl vnfbench ui --no-browser --port 8090\n" +
			"  kubectl vnfbench ui --service-account results-reader\n" +
			"  kubectl vnfbench ui ./archive-2025",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 || len(args) == 1 && args[0] == "" {
				return fmt.Errorf("give one folder of documents at most, not %d", len(args))
			}
			return nil
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
		RunE: func(command *cobra.Command, args []string) error {
			if u.port < 0 || u.port > 65535 {
				return fmt.Errorf("--port is %d: give 1 to 65535, or 0 for any free one", u.port)
			}
			if len(args) == 1 {
				if u.serviceAccount != "" {
					return errors.New("--service-account is for the results service of a cluster: leave it out with a folder")
				}
				return u.serveFolder(command.Context(), args[0], streams)
			}
			return u.serveCluster(command.Context(), flags, streams)
		},
	}
	f := command.Flags()
	f.IntVar(&u.port, "port", 0, "port of 127.0.0.1 on which the pages are; 0: any free one")
	f.BoolVar(&u.noBrowser, "no-browser", false, "print the address, and open no browser")
	f.StringVar(&u.serviceNamespace, "results-namespace", "vnfbench-system", "namespace of the results service")
	f.StringVar(&u.serviceName, "results-service", "vnfbench-results", "name of the results service")
	f.StringVar(&u.serviceAccount, "service-account", "", "service account of your namespace whose token is used instead of yours")
	return command
}

// open serves a handler, prints where it is, and opens a browser there.
func (u showingUI) open(ctx context.Context, handler http.Handler, streams genericiooptions.IOStreams) error {
	site, err := local.Listen(ctx, u.port)
	if err != nil {
		return err
	}
	fmt.Fprintf(streams.Out, "%s\n", site.URL())
	fmt.Fprintln(streams.ErrOut, "note: the pages are there until you press Ctrl-C")
	if !u.noBrowser {
		browser.Stdout, browser.Stderr = streams.ErrOut, streams.ErrOut
		if err := browser.OpenURL(site.URL()); err != nil {
			fmt.Fprintf(streams.ErrOut, "note: no browser could be opened (%s): open the address yourself\n", excerpt.Printable(err.Error()))
		}
	}
	return site.Serve(ctx, handler)
}

// folderInterval is how often a folder is listed.
const folderInterval = 10 * time.Second

// serveFolder serves the documents of a folder. Their index is a file that is deleted at the end.
func (u showingUI) serveFolder(ctx context.Context, folder string, streams genericiooptions.IOStreams) (err error) {
	// What a link in the folder names outside of it is not read.
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	cache, err := os.MkdirTemp("", "kubectl-vnfbench-ui-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(cache)) }()
	x, err := index.Open(ctx, filepath.Join(cache, "index"), 0, logr.Discard())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, x.Close()) }()
	archive := index.Files{FS: root.FS()}
	ctx, stop := context.WithCancel(ctx)
	followed := make(chan error, 1)
	go func() { followed <- x.Follow(ctx, archive, folderInterval) }()
	// The index is closed when nothing follows it any more.
	defer func() {
		stop()
		err = errors.Join(err, <-followed)
	}()
	return u.open(ctx, web.NewHandler(web.Options{Index: x, Archive: archive, Access: web.Everyone{}, Log: logr.Discard(), Version: version}), streams)
}

// serveCluster serves the pages of the results service.
func (u showingUI) serveCluster(ctx context.Context, flags *genericclioptions.ConfigFlags, streams genericiooptions.IOStreams) error {
	config, err := flags.ToRESTConfig()
	if err != nil {
		return fmt.Errorf("reading the kubeconfig: %w", err)
	}
	namespace, _, err := flags.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return fmt.Errorf("reading the namespace from the kubeconfig: %w", err)
	}
	through, err := u.transport(ctx, config, namespace)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	port, ended, err := u.forward(ctx, config, streams)
	if err != nil {
		return err
	}
	served := make(chan error, 1)
	to := &url.URL{Scheme: "https", Host: fmt.Sprintf("127.0.0.1:%d", port)}
	go func() { served <- u.open(ctx, local.Proxy(to, through), streams) }()
	select {
	case err := <-served:
		return err
	case err := <-ended:
		if ctx.Err() != nil {
			return nil
		}
		return errors.Join(errors.New("the connection to the results service has ended: run the command again"), err)
	}
}
