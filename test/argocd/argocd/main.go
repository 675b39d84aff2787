// Command argocd is Argo CD's application controller or its repository server, whichever its name says. Argo CD's own program is
// both too, and more: its API server needs the pages of the UI, which the Go module does not have.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"k8s.io/klog/v2"

	controller "github.com/argoproj/argo-cd/v3/cmd/argocd-application-controller/commands"
	reposerver "github.com/argoproj/argo-cd/v3/cmd/argocd-repo-server/commands"
	"github.com/argoproj/argo-cd/v3/util/log"
)

func main() {
	commands := map[string]func() *cobra.Command{
		"argocd-application-controller": controller.NewCommand,
		"argocd-repo-server":            reposerver.NewCommand,
	}
	name := filepath.Base(os.Args[0])
	newCommand, known := commands[name]
	if !known {
		fmt.Fprintf(os.Stderr, "argocd: the name of this program is %q, and has to be argocd-application-controller or argocd-repo-server\n", name)
		os.Exit(2)
	}
	klog.SetLogger(log.NewLogrusLogger(log.NewWithCurrentConfig()))
	if newCommand().Execute() != nil {
		os.Exit(1) // the command has printed the error
	}
}
