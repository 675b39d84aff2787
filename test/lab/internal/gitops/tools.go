package gitops

import (
	"vnfbench.io/test/lab/internal/build"
	"vnfbench.io/test/lab/internal/rootfs"
	"vnfbench.io/test/lab/manifests"
)

// Flux is Flux's controllers. A controller's module has its name.
var Flux = Tool{
	Name:   "flux",
	user:   "65532:65532",
	folder: "/",
	programs: []program{
		{"helm-controller", "github.com/fluxcd/helm-controller", build.Flux},
		{"kustomize-controller", "github.com/fluxcd/kustomize-controller", build.Flux},
		{"source-controller", "github.com/fluxcd/source-controller", build.Flux},
		{"notification-controller", "github.com/fluxcd/notification-controller", build.FluxNotification},
	},
	kinds:    "config/crd/bases/*.yaml",
	manifest: manifests.Flux,
}

// ArgoCD is Argo CD's application controller and repository server, one program that looks at its name. The server calls git, and helm
// and kustomize, which Make is given.
var ArgoCD = Tool{
	Name:     "argocd",
	user:     "999:999",
	folder:   "/usr/local/bin",
	programs: []program{{"argocd", "github.com/argoproj/argo-cd/v3", build.ArgoCD}},
	kinds:    "manifests/crds/*-crd.yaml",
	manifest: manifests.ArgoCD,
	tree:     &rootfs.Tree{Kind: "argocd-rootfs", Packages: []string{"ca-certificates", "git", "redis-server"}},
	links:    map[string]string{"argocd-application-controller": "argocd", "argocd-repo-server": "argocd"},
}
